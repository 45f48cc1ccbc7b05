// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of devices/kernels.h, which says what each one does. Compiled once
// per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/kernels.h"

namespace motley::cpu {

void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c);
// c[m] = alpha * op(a)[m,k] * x[k] + beta * c; stored as [k,m] when `transpose`.
void MatrixTimesVector(void* queue, bool transpose, size_t m, size_t k, float alpha, const float* a,
                       const float* x, float beta, float* c);

void CsrTimesDense(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                   float beta, float* c);
void CsrTransposedTimesDense(void* queue, const motley_csr* a, size_t n, float alpha,
                             const float* b, float* c);

void AddBias(void* queue, size_t rows, size_t columns, const float* bias, float* x);
void AddColumnSums(void* queue, size_t rows, size_t columns, float alpha, const float* x,
                   float* sum);
void AddRowSums(void* queue, size_t rows, size_t columns, float alpha, const float* x, float* sum);
void ScaleRows(void* queue, size_t rows, size_t columns, const float* factor, const float* x,
               float* y);
void Relu(void* queue, size_t count, float* x);
void ReluBackward(void* queue, size_t count, const float* activation, float* delta);

void Im2col(void* queue, const motley_window* window, size_t rows, const float* images,
            float* patches);
void Col2im(void* queue, const motley_window* window, size_t rows, const float* patches,
            float* images);
void MaxPool(void* queue, const motley_window* window, size_t rows, const float* images,
             float* out);
void MaxPoolBackward(void* queue, const motley_window* window, size_t rows, const float* images,
                     const float* out_delta, float* images_delta);

void LayerNorm(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
               const float* bias, float* x, float* inverse, float* out);
void LayerNormBackward(void* queue, size_t rows, size_t columns, const float* gain,
                       const float* inverse, float* normal, float* delta);

void SoftmaxCrossEntropy(void* queue, size_t rows, size_t columns, const float* label, float* x,
                         double* loss);
void LogisticLoss(void* queue, size_t rows, const float* label, float* x, double* loss);
void HingeLoss(void* queue, size_t rows, const float* label, float* x, double* loss);
void SquaredLoss(void* queue, size_t rows, const float* label, float* x, double* loss);

void Axpy(void* queue, size_t count, float alpha, const float* x, float* y);
void Multiply(void* queue, size_t count, const float* a, const float* b, float* y);
void Fill(void* queue, size_t count, float value, float* x);
void Scale(void* queue, size_t count, float alpha, float* x);
void SumOfSquares(void* queue, size_t count, const float* x, double* sum);

void Sgd(void* queue, size_t count, float lr, const float* g, float* w);
void Momentum(void* queue, size_t count, float lr, float mu, int nesterov, const float* g, float* v,
              float* w);
void Adam(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon, uint64_t t,
          const float* g, float* m, float* v, float* w);

}  // namespace motley::cpu
