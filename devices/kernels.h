/* SPDX-License-Identifier: Apache-2.0 */
/* The versioned C table of operations that a kernel module or device driver has. Plain C, so that
 * modules built with other compilers or flags fit. Matrices are dense, row-major, float32; pointers
 * are in the device's memory (a motley_csr itself is the host's) and need no alignment beyond their
 * type's; operations on one `queue` run in order. Sizes may be 0. Nothing keeps pointers. On the
 * host nothing allocates from the heap or fails; elsewhere the queue tells of failures
 * (devices/drivers/driver.h). Products accumulate in float32: up to 65,536 terms the error stays
 * below 1e-5 of the sum of magnitudes; column and row sums, sums of squares, means and losses in
 * float64. `queue` is the device's own. On the CPU it is NULL (serial) or a motley_cpu_queue
 * (devices/cpu/cpu_queue.h) that lends threads; one module gives the same bits on every machine,
 * for any number of threads, wherever in memory the operands lie. NaN in an input reaches the
 * output. */
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
 * in steps of `stride`, from `padding` above and left of them to as far below and right, where
 * values count as 0: out_height = (height + 2 padding - kernel_height) / stride + 1, rounded down,
 * and out_width alike. The stride is 1 or more. */
typedef struct motley_window {
  uint32_t height, width, channels;
  uint32_t kernel_height, kernel_width;
  uint32_t stride, padding;
  uint32_t out_height, out_width;
} motley_window;

/* Numbers of 16 bits: IEEE 754's binary16; the upper half of a float (bfloat16). */
enum { MOTLEY_FP16 = 1, MOTLEY_BF16 = 2 };

typedef struct motley_kernels {
  uint32_t version;     /* MOTLEY_KERNELS_VERSION */
  uint32_t struct_size; /* sizeof(motley_kernels) of the module */
  const char* name;     /* "avx2" */

  /* c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c; op transposes when its flag is not 0, the
   * stored matrix is then [k,m] or [n,k]. beta 0 does not read c. */
  void (*gemm)(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
               float alpha, const float* a, const float* b, float beta, float* c);
  /* c[a.rows,n] = alpha * a * b[a.columns,n] + beta * c. Of one-hot rows this is an embedding: it
   * gathers rows of b, and the transposed product adds gradients to them. */
  void (*csr_times_dense)(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                          float beta, float* c);
  /* c[a.columns,n] += alpha * transpose(a) * b[a.rows,n]. Adds only where a has entries. */
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

  /* Convolution is a product of matrices: patches[r, oy, ox, ky, kx, c], that is [rows * out_height
   * * out_width, kernel_height * kernel_width * channels], are what each window sees of
   * images[rows, height, width, channels]; times a weight [kernel_height * kernel_width * channels,
   * n] they are images of n channels. */
  void (*im2col)(void* queue, const motley_window* window, size_t rows, const float* images,
                 float* patches);
  /* images += what patches say of each of their values, in float32; nothing of the padding. */
  void (*col2im)(void* queue, const motley_window* window, size_t rows, const float* patches,
                 float* images);
  /* out[rows, out_height, out_width, channels] = the largest value in each window, of each channel.
   * Windows must not overlap and have no padding: kernel_height = kernel_width = stride,
   * padding = 0. Rows and columns behind the last whole window are left out. */
  void (*max_pool)(void* queue, const motley_window* window, size_t rows, const float* images,
                   float* out);
  /* images_delta = out_delta where the first of the window's largest values was (the first NaN, if
   * there is one), 0 elsewhere. */
  void (*max_pool_backward)(void* queue, const motley_window* window, size_t rows,
                            const float* images, const float* out_delta, float* images_delta);

  /* Layer normalisation (Ba, Kiros, Hinton 2016) of each row: x = (x - mean) * inverse[r], where
   * inverse[r] = 1 / sqrt(variance + epsilon), and out = gain[c] * x + bias[c]. */
  void (*layer_norm)(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
                     const float* bias, float* x, float* inverse, float* out);
  /* delta = d(loss)/d(out) becomes d(loss)/d(x before). `normal`, the x that layer_norm left,
   * becomes delta * normal: its column sums are the gradient of gain, those of delta (taken before)
   * that of bias. */
  void (*layer_norm_backward)(void* queue, size_t rows, size_t columns, const float* gain,
                              const float* inverse, float* normal, float* delta);

  /* Losses take the model's outputs in x[rows,columns], leave d(loss)/d(x) of each row there, and
   * add the sum of the rows' losses to *loss (double, device memory). Those of classes multiply a
   * row's loss and derivative by weight[class of its label]; NULL: by 1. */
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
  /* The same of complex numbers, x[2t] + i x[2t+1] *= re + i im; count is even. */
  void (*scale_pairs)(void* queue, size_t count, float re, float im, float* x);
  /* y = the numbers of `format` (MOTLEY_FP16, MOTLEY_BF16) whose bits are x, exactly. */
  void (*widen)(void* queue, size_t count, int format, const uint16_t* x, float* y);
  /* *sum = sum of squares (double, device memory); not finite when any value is not. */
  void (*sum_of_squares)(void* queue, size_t count, const float* x, double* sum);
  /* sums[0] = that, and in the same pass sums[1] = sum of s_i x_i, with the random signs s_i of
   * `seed` that base/signs.h draws, the same on every device (Alon, Matias, Szegedy 1996): of two
   * vectors with the same seed the difference of these has the mean square |x - y|^2. */
  void (*sketch)(void* queue, size_t count, uint64_t seed, const float* x, double* sums);

  /* Optimizer updates of w for the mean gradient g; state arrays have `count` floats, zero at
   * first. SGD: w -= lr g. */
  void (*sgd)(void* queue, size_t count, float lr, const float* g, float* w);
  /* Heavy ball (Polyak): v = mu v + g; w -= lr v. Nesterov: w -= lr (g + mu v) with the new v. */
  void (*momentum)(void* queue, size_t count, float lr, float mu, int nesterov, const float* g,
                   float* v, float* w);
  /* Adam (Kingma, Ba 2015): m, v exponential means, corrected by 1 - beta^t for step t >= 1. */
  void (*adam)(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon,
               uint64_t t, const float* g, float* m, float* v, float* w);
} motley_kernels;

/* The one symbol of a module: its table, or NULL when it cannot speak `version` or the processor
 * lacks what it needs. The table is valid as long as the module is loaded. */
typedef const motley_kernels* (*motley_kernels_entry)(uint32_t version);
#define MOTLEY_KERNELS_SYMBOL "motley_kernels_get"

#ifdef __cplusplus
}
#endif
