/* SPDX-License-Identifier: Apache-2.0 */
/* The versioned C table of operations of a kernel module or device driver. It is plain C, so that
 * modules built with other compilers or flags fit.
 *
 * Matrices are dense, row-major, float32. Pointers are in the device's memory (a motley_csr itself
 * is in the host's) and need no more alignment than their type. Operations on one `queue` run in
 * order. Sizes may be 0. No operation keeps pointers. On the host, operations neither allocate from
 * the heap nor fail; elsewhere the queue reports failures (devices/drivers/driver.h).
 *
 * Products accumulate in float32: up to 65,536 terms the error stays below 1e-5 of the sum of
 * magnitudes. Column and row sums, sums of squares, means and losses accumulate in float64. NaN in
 * an input reaches the output.
 *
 * `queue` is the device's own. On the CPU it is NULL (serial) or a motley_cpu_queue
 * (devices/cpu/cpu_queue.h) that lends threads. A CPU module gives the same bits on every machine,
 * for any number of threads and any addresses of the operands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_KERNELS_VERSION 7

/* A sparse matrix: row r has entries [row_begin[r], row_begin[r+1]); columns ascend within a row.
 */
typedef struct motley_csr {
  size_t rows;
  size_t columns;
  const uint64_t* row_begin;
  const uint32_t* column;
  const float* value;
} motley_csr;

/* A window of kernel_height x kernel_width that moves over images [rows, height, width, channels]
 * in steps of `stride` (>= 1). It starts `padding` above and left of the images and ends as far
 * below and right; values there count as 0. Rounded down,
 * out_height = (height + 2 padding - kernel_height) / stride + 1, and out_width likewise. */
typedef struct motley_window {
  uint32_t height, width, channels;
  uint32_t kernel_height, kernel_width;
  uint32_t stride, padding;
  uint32_t out_height, out_width;
} motley_window;

/* Formats of 16 bits: IEEE 754's binary16, and the upper half of a float (bfloat16). */
enum { MOTLEY_FP16 = 1, MOTLEY_BF16 = 2 };

typedef struct motley_kernels {
  uint32_t version;     /* MOTLEY_KERNELS_VERSION */
  uint32_t struct_size; /* sizeof(motley_kernels) of the module */
  const char* name;     /* "avx2" */

  /* c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c. op transposes if its flag is not 0; the
   * stored matrix is then [k,m] or [n,k]. With beta 0, c is not read. */
  void (*gemm)(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
               float alpha, const float* a, const float* b, float beta, float* c);
  /* c[a.rows,n] = alpha * a * b[a.columns,n] + beta * c. With one-hot rows this is an embedding: it
   * gathers rows of b, and the transposed product adds gradients to them. */
  void (*csr_times_dense)(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                          float beta, float* c);
  /* c[a.columns,n] += alpha * transpose(a) * b[a.rows,n]. Writes only rows in which a has entries.
   */
  void (*csr_transposed_times_dense)(void* queue, const motley_csr* a, size_t n, float alpha,
                                     const float* b, float* c);

  /* x[r,c] += bias[c]. */
  void (*add_bias)(void* queue, size_t rows, size_t columns, const float* bias, float* x);
  /* sum[c] += alpha * sum over rows of x[r,c]. */
  void (*add_column_sums)(void* queue, size_t rows, size_t columns, float alpha, const float* x,
                          float* sum);
  /* sum[r] += alpha * sum over columns of x[r,c]. */
  void (*add_row_sums)(void* queue, size_t rows, size_t columns, float alpha, const float* x,
                       float* sum);
  /* y[r,c] = factor[r] * x[r,c]; y may be x. */
  void (*scale_rows)(void* queue, size_t rows, size_t columns, const float* factor, const float* x,
                     float* y);
  /* x = max(x, 0). */
  void (*relu)(void* queue, size_t count, float* x);
  /* delta = 0 where activation (after relu) <= 0. */
  void (*relu_backward)(void* queue, size_t count, const float* activation, float* delta);

  /* Dropout: x[r,c] = 0 where the word of `key`, sample[r] and unit c (base/unit_masks.h) is below
   * `dropped`, else scale * x[r,c]. */
  void (*dropout)(void* queue, size_t rows, size_t columns, const uint32_t* sample, uint64_t key,
                  uint32_t dropped, float scale, float* x);

  /* Convolution is a product of matrices. patches[r, oy, ox, ky, kx, c], a matrix
   * [rows * out_height * out_width, kernel_height * kernel_width * channels], holds what each
   * window sees of images[rows, height, width, channels]. Times a weight [kernel_height *
   * kernel_width * channels, n] it gives images of n channels. */
  void (*im2col)(void* queue, const motley_window* window, size_t rows, const float* images,
                 float* patches);
  /* The transpose: adds each value of patches to its place in images, in float32, and drops values
   * in the padding. */
  void (*col2im)(void* queue, const motley_window* window, size_t rows, const float* patches,
                 float* images);
  /* out[rows, out_height, out_width, channels] = the largest value in each window, per channel.
   * Windows must not overlap and have no padding: kernel_height = kernel_width = stride,
   * padding = 0. Rows and columns behind the last whole window are ignored. */
  void (*max_pool)(void* queue, const motley_window* window, size_t rows, const float* images,
                   float* out);
  /* images_delta = out_delta at the first of the window's largest values (at the first NaN, if
   * there is one), 0 elsewhere. */
  void (*max_pool_backward)(void* queue, const motley_window* window, size_t rows,
                            const float* images, const float* out_delta, float* images_delta);

  /* Layer normalisation (Ba, Kiros, Hinton 2016) of each row: x = (x - mean) * inverse[r], where
   * inverse[r] = 1 / sqrt(variance + epsilon), and out = gain[c] * x + bias[c]. */
  void (*layer_norm)(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
                     const float* bias, float* x, float* inverse, float* out);
  /* On entry delta is d(loss)/d(out), on return d(loss)/d(x before layer_norm). `normal` is the x
   * that layer_norm left, and becomes delta * normal. Its column sums are the gradient of gain; the
   * column sums of delta on entry are the gradient of bias. */
  void (*layer_norm_backward)(void* queue, size_t rows, size_t columns, const float* gain,
                              const float* inverse, float* normal, float* delta);

  /* Losses take the model's outputs in x[rows,columns], replace them by each row's d(loss)/d(x),
   * and add the sum of the rows' losses to *loss (double, device memory). Losses of classes
   * multiply a row's loss and derivative by weight[class of its label]; NULL: by 1. */
  /* Softmax and cross-entropy; label[r] is a class index in [0, columns). */
  void (*softmax_cross_entropy)(void* queue, size_t rows, size_t columns, const float* label,
                                const float* weight, float* x, double* loss);
  /* log(1 + exp(-y x)) with y = +1 where label > 0.5 (class 1), else -1 (class 0); columns is 1. */
  void (*logistic_loss)(void* queue, size_t rows, const float* label, const float* weight, float* x,
                        double* loss);
  /* max(0, 1 - y x) with the same y; columns is 1. */
  void (*hinge_loss)(void* queue, size_t rows, const float* label, const float* weight, float* x,
                     double* loss);
  /* (x - label)^2 / 2; columns is 1. */
  void (*squared_loss)(void* queue, size_t rows, const float* label, float* x, double* loss);

  /* y += alpha * x;  y = a * b (y may be a or b);  x = value;  x *= alpha. */
  void (*axpy)(void* queue, size_t count, float alpha, const float* x, float* y);
  void (*multiply)(void* queue, size_t count, const float* a, const float* b, float* y);
  void (*fill)(void* queue, size_t count, float value, float* x);
  void (*scale)(void* queue, size_t count, float alpha, float* x);
  /* The same for complex numbers: x[2t] + i x[2t+1] *= re + i im; count is even. */
  void (*scale_pairs)(void* queue, size_t count, float re, float im, float* x);
  /* y = the values of the `format` (MOTLEY_FP16, MOTLEY_BF16) numbers with bits x, exactly. */
  void (*widen)(void* queue, size_t count, int format, const uint16_t* x, float* y);
  /* *sum = sum of squares (double, device memory); not finite if any value is not. */
  void (*sum_of_squares)(void* queue, size_t count, const float* x, double* sum);
  /* sums[0] = the sum of squares, and in the same pass sums[1] = sum of s_i x_i. The random signs
   * s_i of `seed` are those of base/signs.h, the same on every device (Alon, Matias, Szegedy 1996).
   * For two vectors x and y with the same seed, the difference of their sums[1] has the mean square
   * |x - y|^2. */
  void (*sketch)(void* queue, size_t count, uint64_t seed, const float* x, double* sums);

  /* Optimizer updates of w for the mean gradient g. State arrays have `count` floats and start as
   * zeros. SGD: w -= lr g. */
  void (*sgd)(void* queue, size_t count, float lr, const float* g, float* w);
  /* Heavy ball (Polyak): v = mu v + g; w -= lr v. Nesterov: w -= lr (g + mu v) with the new v. */
  void (*momentum)(void* queue, size_t count, float lr, float mu, int nesterov, const float* g,
                   float* v, float* w);
  /* Adam (Kingma, Ba 2015): m, v are exponential means, corrected by 1 - beta^t, for step t >= 1.
   */
  void (*adam)(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon,
               uint64_t t, const float* g, float* m, float* v, float* w);
} motley_kernels;

/* The one symbol of a module: returns its table, or NULL when it does not support `version` or the
 * processor lacks what it needs. The table is valid as long as the module is loaded. */
typedef const motley_kernels* (*motley_kernels_entry)(uint32_t version);
#define MOTLEY_KERNELS_SYMBOL "motley_kernels_get"

#ifdef __cplusplus
}
#endif
