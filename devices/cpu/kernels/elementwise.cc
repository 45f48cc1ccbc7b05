// SPDX-License-Identifier: Apache-2.0
// Kernels with one pass over memory; the compiler vectorises the loops. Comparisons are written so
// that NaN stays NaN.
#include <algorithm>
#include <cstring>

#include "base/signs.h"
#include "base/unit_masks.h"
#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"
#include "devices/half.h"

namespace motley::cpu {
namespace {

typedef double Pair __attribute__((vector_size(2 * sizeof(double))));

// The sums of squares and of signed values; `begin` is a multiple of kSignBlock.
Pair SketchOfPart(SignKey key, size_t begin, size_t end, const float* x) {
  constexpr size_t kLanes = 4, kSums = kSignLanes / kLanes;
  typedef uint32_t Words __attribute__((vector_size(kLanes * sizeof(uint32_t))));
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
  typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
  Doubles squares[kSums] = {}, values[kSums] = {};
  Words signs[kSums] = {};
  size_t i = begin;
  for (; i + kSignLanes <= end; i += kSignLanes) {
    for (size_t j = 0; i % kSignBlock == 0 && j < kSignLanes; ++j) {
      const size_t number = i / kSignRows + j;
      signs[j / kLanes][j % kLanes] = SignWord(key, static_cast<uint32_t>(number));
    }
    for (size_t j = 0; j < kSums; ++j) {
      Words bits;
      std::memcpy(&bits, x + i + j * kLanes, sizeof bits);
      bits ^= signs[j] & kSignBit;
      signs[j] += signs[j];
      Floats floats;
      std::memcpy(&floats, &bits, sizeof floats);
      const Doubles wide = __builtin_convertvector(floats, Doubles);
      squares[j] += wide * wide;
      values[j] += wide;
    }
  }
  const Doubles all = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  const Doubles signed_sum = (values[0] + values[1]) + (values[2] + values[3]);
  Pair total = {(all[0] + all[1]) + (all[2] + all[3]),
                (signed_sum[0] + signed_sum[1]) + (signed_sum[2] + signed_sum[3])};
  for (; i < end; ++i) {
    const double value = x[i];
    total += Pair{value * value, SignOf(key, i) != 0 ? -value : value};
  }
  return total;
}

}  // namespace

void AddBias(void* queue, size_t rows, size_t columns, const float* bias, float* x) {
  ForBlocks(queue, rows, WorthwhileGrain(1, columns), [=](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* to = x + row * columns;
      for (size_t c = 0; c < columns; ++c) to[c] += bias[c];
    }
  });
}

void AddColumnSums(void* queue, size_t rows, size_t columns, float alpha, const float* x,
                   float* sum) {
  constexpr size_t kWidth = 128;
  ForBlocks(queue, columns, WorthwhileGrain(kWidth, rows), [=](size_t begin, size_t end) {
    for (size_t first = begin; first < end; first += kWidth) {
      const size_t width = std::min(kWidth, end - first);
      double part[kWidth] = {};
      for (size_t row = 0; row < rows; ++row) {
        const float* from = x + row * columns + first;
        for (size_t c = 0; c < width; ++c) part[c] += from[c];
      }
      for (size_t c = 0; c < width; ++c) {
        sum[first + c] = static_cast<float>(sum[first + c] + alpha * part[c]);
      }
    }
  });
}

void Relu(void* queue, size_t count, float* x) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) x[i] = x[i] < 0 ? 0.0f : x[i];
  });
}

void ReluBackward(void* queue, size_t count, const float* activation, float* delta) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) delta[i] = activation[i] <= 0 ? 0.0f : delta[i];
  });
}

void Dropout(void* queue, size_t rows, size_t columns, const uint32_t* sample, uint64_t key,
             uint32_t dropped, float scale, float* x) {
  constexpr size_t kCost = 16;  // For each value.
  ForBlocks(queue, rows, WorthwhileGrain(1, kCost * columns), [=](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* const values = x + row * columns;
      for (size_t first = 0; first < columns; first += kMaskUnits) {
        const auto block = static_cast<uint32_t>(first / kMaskUnits);
        const MaskWords words = MaskWordsOf(key, sample[row], block);
        for (size_t c = first; c < std::min<size_t>(first + kMaskUnits, columns); ++c) {
          values[c] = words.word[c - first] < dropped ? 0.0f : scale * values[c];
        }
      }
    }
  });
}

void Axpy(void* queue, size_t count, float alpha, const float* x, float* y) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] += alpha * x[i];
  });
}

void Multiply(void* queue, size_t count, const float* a, const float* b, float* y) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = a[i] * b[i];
  });
}

void Fill(void* queue, size_t count, float value, float* x) {
  ForBlocks(queue, count, kWorthwhile,
            [=](size_t begin, size_t end) { std::fill(x + begin, x + end, value); });
}

void Scale(void* queue, size_t count, float alpha, float* x) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) x[i] *= alpha;
  });
}

void ScalePairs(void* queue, size_t count, float re, float im, float* x) {
  ForBlocks(queue, count / 2, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const float first = x[2 * t], second = x[2 * t + 1];
      x[2 * t] = re * first - im * second;
      x[2 * t + 1] = re * second + im * first;
    }
  });
}

void Widen(void* queue, size_t count, int format, const uint16_t* x, float* y) {
  if (format == MOTLEY_FP16) {
    return ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) y[i] = FloatOfFp16(x[i]);
    });
  }
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = FloatOfBf16(x[i]);
  });
}

void SumOfSquares(void* queue, size_t count, const float* x, double* sum) {
  *sum = SumOverBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    constexpr size_t kLanes = 4, kSums = 4;  // Independent, so that the loop is not one long chain.
    typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
    typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
    Doubles sums[kSums] = {};
    size_t i = begin;
    for (; i + kSums * kLanes <= end; i += kSums * kLanes) {
      for (size_t j = 0; j < kSums; ++j) {
        Floats values;
        std::memcpy(&values, x + i + j * kLanes, sizeof values);
        const Doubles wide = __builtin_convertvector(values, Doubles);
        sums[j] += wide * wide;
      }
    }
    const Doubles all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = (all[0] + all[1]) + (all[2] + all[3]);
    for (; i < end; ++i) total += double{x[i]} * x[i];
    return total;
  });
}

void Sketch(void* queue, size_t count, uint64_t seed, const float* x, double* sums) {
  const SignKey key = SignKeyOf(seed);
  const auto sum = [=](size_t begin, size_t end) { return SketchOfPart(key, begin, end, x); };
  const Pair all = SumOverBlocks(queue, count, kWorthwhile, sum, kSignBlock);
  sums[0] = all[0];
  sums[1] = all[1];
}

}  // namespace motley::cpu
