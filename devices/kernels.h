/* SPDX-License-Identifier: Apache-2.0 */
/* The versioned C table of operations that a kernel module or device driver has. Plain C, so that
 * modules built with other compilers or flags fit. Matrices are dense, row-major, float32; pointers
 * are in the device's memory (a motley_csr itself is the host's) and need no alignment beyond their
 * type's; operations on one `queue` run in order. Sizes may be 0. Nothing keeps pointers. On the
 * host nothing allocates from the heap or fails; elsewhere the queue tells of failures
 * (devices/driver.h). Products accumulate in float32: up to 65,536 terms the error stays below 1e-5
 * of the sum of magnitudes; column sums, sums of squares and losses in float64.
 * `queue` is the device's own. On the CPU it is NULL (serial) or a motley_cpu_queue
 * (devices/cpu/cpu_queue.h) that lends threads; one module gives the same bits on every machine,
 * for any number of threads, wherever in memory the operands lie. NaN in an input reaches the
 * output. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_KERNELS_VERSION 2

/* A sparse matrix: row r has entries [row_begin[r], row_begin[r+1]); columns ascend within a row.
 */
typedef struct motley_csr {
  size_t rows;
  size_t columns;
  const uint64_t* row_begin;
  const uint32_t* column;
  const float* value;
} motley_csr;

typedef struct motley_kernels {
  uint32_t version;     /* MOTLEY_KERNELS_VERSION */
  uint32_t struct_size; /* sizeof(motley_kernels) of the module */
  const char* name;     /* "avx2" */

  /* c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c; op transposes when its flag is not 0, the
   * stored matrix is then [k,m] or [n,k]. beta 0 does not read c. */
  void (*gemm)(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
               float alpha, const float* a, const float* b, float beta, float* c);
  /* c[a.rows,n] = alpha * a * b[a.columns,n] + beta * c. */
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
  /* x = max(x, 0). */
  void (*relu)(void* queue, size_t count, float* x);
  /* delta = 0 where activation (after relu) <= 0. */
  void (*relu_backward)(void* queue, size_t count, const float* activation, float* delta);

  /* Losses take the model's outputs in x[rows,columns], leave d(loss)/d(x) of each row there, and
   * add the sum of the rows' losses to *loss (double, device memory). */
  /* Softmax and cross-entropy; label[r] is a class index in [0, columns). */
  void (*softmax_cross_entropy)(void* queue, size_t rows, size_t columns, const float* label,
                                float* x, double* loss);
  /* log(1 + exp(-y x)) with y = +1 where label > 0.5, else -1; columns is 1. */
  void (*logistic_loss)(void* queue, size_t rows, const float* label, float* x, double* loss);
  /* (x - label)^2 / 2; columns is 1. */
  void (*squared_loss)(void* queue, size_t rows, const float* label, float* x, double* loss);

  /* y += alpha * x;  x = value;  x *= alpha. */
  void (*axpy)(void* queue, size_t count, float alpha, const float* x, float* y);
  void (*fill)(void* queue, size_t count, float value, float* x);
  void (*scale)(void* queue, size_t count, float alpha, float* x);
  /* *sum = sum of squares (double, device memory); not finite when any value is not. */
  void (*sum_of_squares)(void* queue, size_t count, const float* x, double* sum);

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
