// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "devices/cuda/kernels/pointwise.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {

void Sgd(void* queue, size_t count, float lr, const float* g, float* w) {
  Pointwise(
      queue, "sgd", count,
      [=] MOTLEY_DEVICE(size_t, float slope, float& weight) { weight -= lr * slope; }, g, w);
}

void Momentum(void* queue, size_t count, float lr, float mu, int nesterov, const float* g, float* v,
              float* w) {
  Pointwise(
      queue, "momentum", count,
      [=] MOTLEY_DEVICE(size_t, float slope, float& velocity, float& weight) {
        velocity = mu * velocity + slope;
        weight -= lr * (nesterov != 0 ? slope + mu * velocity : velocity);
      },
      g, v, w);
}

void Adam(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon, uint64_t t,
          const float* g, float* m, float* v, float* w) {
  const double steps = static_cast<double>(t);
  const auto step = static_cast<float>(lr / (1 - std::pow(double{beta1}, steps)));
  const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(double{beta2}, steps)));
  Pointwise(
      queue, "adam", count,
      [=] MOTLEY_DEVICE(size_t, float slope, float& mean, float& square, float& weight) {
        mean = beta1 * mean + (1 - beta1) * slope;
        square = beta2 * square + (1 - beta2) * (slope * slope);
        weight -= step * mean / (sqrtf(square) * spread + epsilon);
      },
      g, m, v, w);
}

}  // namespace motley::cuda
