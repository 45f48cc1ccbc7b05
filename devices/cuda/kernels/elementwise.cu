// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels. Comparisons are written so that NaN stays NaN.
#include "base/unit_masks.h"
#include "devices/cuda/kernels/pointwise.cuh"
#include "devices/cuda/operations.h"
#include "devices/half.h"

namespace motley::cuda {

void AddBias(void* queue, size_t rows, size_t columns, const float* bias, float* x) {
  Pointwise(
      queue, "add_bias", rows * columns,
      [=] MOTLEY_DEVICE(size_t i, float& value) { value += bias[Modulo(i, columns)]; }, x);
}

void Relu(void* queue, size_t count, float* x) {
  Pointwise(
      queue, "relu", count,
      [] MOTLEY_DEVICE(size_t, float& value) { value = value < 0 ? 0.0f : value; }, x);
}

void ReluBackward(void* queue, size_t count, const float* activation, float* delta) {
  Pointwise(
      queue, "relu_backward", count,
      [] MOTLEY_DEVICE(size_t, float active, float& value) { value = active <= 0 ? 0.0f : value; },
      activation, delta);
}

// Each thread has the units of one call of the generator.
void Dropout(void* queue, size_t rows, size_t columns, const uint32_t* sample, uint64_t key,
             uint32_t dropped, float scale, float* x) {
  const size_t blocks = Pieces(columns, kMaskUnits);
  Pointwise(queue, "dropout", rows * blocks, [=] MOTLEY_DEVICE(size_t i) {
    size_t row = i;
    const size_t block = TakeLast(row, blocks);
    const MaskWords words = MaskWordsOf(key, sample[row], static_cast<uint32_t>(block));
    for (unsigned j = 0; j < kMaskUnits; ++j) {
      const size_t c = block * kMaskUnits + j;
      if (c >= columns) continue;
      float& value = x[row * columns + c];
      value = words.word[j] < dropped ? 0.0f : scale * value;
    }
  });
}

void Axpy(void* queue, size_t count, float alpha, const float* x, float* y) {
  Pointwise(
      queue, "axpy", count,
      [=] MOTLEY_DEVICE(size_t, float from, float& to) { to += alpha * from; }, x, y);
}

void Multiply(void* queue, size_t count, const float* a, const float* b, float* y) {
  Pointwise(queue, "multiply", count, [=] MOTLEY_DEVICE(size_t i) { y[i] = a[i] * b[i]; });
}

// Writes x directly, because Pointwise would read it first.
void Fill(void* queue, size_t count, float value, float* x) {
  Pointwise(queue, "fill", count, [=] MOTLEY_DEVICE(size_t i) { x[i] = value; });
}

void Scale(void* queue, size_t count, float alpha, float* x) {
  Pointwise(
      queue, "scale", count, [=] MOTLEY_DEVICE(size_t, float& value) { value *= alpha; }, x);
}

void ScalePairs(void* queue, size_t count, float re, float im, float* x) {
  Pointwise(queue, "scale_pairs", count / 2, [=] MOTLEY_DEVICE(size_t t) {
    const float first = x[2 * t], second = x[2 * t + 1];
    x[2 * t] = re * first - im * second;
    x[2 * t + 1] = re * second + im * first;
  });
}

void Widen(void* queue, size_t count, int format, const uint16_t* x, float* y) {
  if (format == MOTLEY_FP16) {
    return Pointwise(
        queue, "widen", count,
        [=] MOTLEY_DEVICE(size_t i, uint16_t half) { y[i] = FloatOfFp16(half); }, x);
  }
  Pointwise(
      queue, "widen", count,
      [=] MOTLEY_DEVICE(size_t i, uint16_t half) { y[i] = FloatOfBf16(half); }, x);
}

}  // namespace motley::cuda
