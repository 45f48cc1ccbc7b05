// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {

void Sgd(void* queue, size_t count, float lr, const float* g, float* w) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) w[i] -= lr * g[i];
  });
}

void Momentum(void* queue, size_t count, float lr, float mu, int nesterov, const float* g, float* v,
              float* w) {
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      v[i] = mu * v[i] + g[i];
      w[i] -= lr * (nesterov != 0 ? g[i] + mu * v[i] : v[i]);
    }
  });
}

void Adam(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon, uint64_t t,
          const float* g, float* m, float* v, float* w) {
  const double steps = static_cast<double>(t);
  const auto step = static_cast<float>(lr / (1 - std::pow(double{beta1}, steps)));
  const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(double{beta2}, steps)));
  ForBlocks(queue, count, kWorthwhile, [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * (g[i] * g[i]);
      w[i] -= step * m[i] / (std::sqrt(v[i]) * spread + epsilon);
    }
  });
}

}  // namespace motley::cpu
