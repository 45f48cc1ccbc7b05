// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/unit_masks.h"
#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"

namespace motley::opencl {

void AddBias(void* queue, size_t rows, size_t columns, const float* bias, float* x) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * columns;
  if (count == 0) return;
  LaunchItems(q, KernelName::kAddBias, count, cl_ulong{columns}, q.Find(bias, columns),
              q.Find(x, count));
}

void ScaleRows(void* queue, size_t rows, size_t columns, const float* factor, const float* x,
               float* y) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * columns;
  if (count == 0) return;
  LaunchItems(q, KernelName::kScaleRows, count, cl_ulong{columns}, q.Find(factor, rows),
              q.Find(x, count), q.Find(y, count));
}

void Relu(void* queue, size_t count, float* x) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kRelu, count, q.Find(x, count));
}

void ReluBackward(void* queue, size_t count, const float* activation, float* delta) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kReluBackward, count, q.Find(activation, count), q.Find(delta, count));
}

void Dropout(void* queue, size_t rows, size_t columns, const uint32_t* sample, uint64_t key,
             uint32_t dropped, float scale, float* x) {
  Queue& q = QueueOf(queue);
  const size_t blocks = (columns + kMaskUnits - 1) / kMaskUnits;
  if (rows * columns == 0) return;
  LaunchItems(q, KernelName::kDropout, rows * blocks, cl_ulong{columns}, cl_ulong{blocks},
              q.Find(sample, rows), static_cast<cl_uint>(key), static_cast<cl_uint>(key >> 32),
              cl_uint{dropped}, scale, q.Find(x, rows * columns));
}

void Axpy(void* queue, size_t count, float alpha, const float* x, float* y) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kAxpy, count, alpha, q.Find(x, count), q.Find(y, count));
}

void Multiply(void* queue, size_t count, const float* a, const float* b, float* y) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kMultiply, count, q.Find(a, count), q.Find(b, count),
              q.Find(y, count));
}

void Fill(void* queue, size_t count, float value, float* x) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kFill, count, value, q.Find(x, count));
}

void Scale(void* queue, size_t count, float alpha, float* x) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kScale, count, alpha, q.Find(x, count));
}

void ScalePairs(void* queue, size_t count, float re, float im, float* x) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kScalePairs, count / 2, re, im, q.Find(x, count));
}

void Widen(void* queue, size_t count, int format, const uint16_t* x, float* y) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kWiden, count, cl_int{format == MOTLEY_FP16}, q.Find(x, count),
              q.Find(y, count));
}

void Sgd(void* queue, size_t count, float lr, const float* g, float* w) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kSgd, count, lr, q.Find(g, count), q.Find(w, count));
}

void Momentum(void* queue, size_t count, float lr, float mu, int nesterov, const float* g, float* v,
              float* w) {
  Queue& q = QueueOf(queue);
  LaunchItems(q, KernelName::kMomentum, count, lr, mu, cl_int{nesterov}, q.Find(g, count),
              q.Find(v, count), q.Find(w, count));
}

void Adam(void* queue, size_t count, float lr, float beta1, float beta2, float epsilon, uint64_t t,
          const float* g, float* m, float* v, float* w) {
  Queue& q = QueueOf(queue);
  const double steps = static_cast<double>(t);
  const auto step = static_cast<float>(lr / (1 - std::pow(double{beta1}, steps)));
  const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(double{beta2}, steps)));
  LaunchItems(q, KernelName::kAdam, count, step, spread, beta1, beta2, epsilon, q.Find(g, count),
              q.Find(m, count), q.Find(v, count), q.Find(w, count));
}

}  // namespace motley::opencl
