// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/opencl_bench.h"

#include <clblast.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "devices/opencl/operations/operations.h"
#include "devices/opencl/operations/products.h"
#include "devices/opencl/queue.h"

namespace motley {
namespace {

using opencl::Place;
using opencl::Product;
using opencl::Queue;

// A dense layer's product with factors and result on a device.
class Operands {
 public:
  Operands(Queue& queue, const Product& shape) : queue_(queue), product_(shape) {
    Random random(1, Stream::kTest);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t left = Count(i); left > 0; --left) {
        values_[i].push_back(static_cast<float>(2 * random.NextDouble() - 1));
      }
      data_[i] = static_cast<float*>(queue.memory().Allocate(Count(i) * sizeof(float)));
    }
    product_.a = Put(0);
    product_.b = Put(1);
    product_.c = Put(2);
  }
  Operands(const Operands&) = delete;
  ~Operands() {
    for (float* data : data_) queue_.memory().Free(data);
  }

  const Product& product() const { return product_; }
  float* data(size_t i) const { return data_[i]; }
  double operations() const {
    return 2.0 * static_cast<double>(product_.m) * static_cast<double>(product_.n) *
           static_cast<double>(product_.k);
  }
  void Restore() { Put(2); }
  // The largest error relative to the sum of magnitudes, in some elements.
  double Error() {
    std::vector<float> got(Count(2));
    queue_.CopyOut(got.data(), data_[2], got.size() * sizeof(float));
    double worst = 0;
    for (size_t i = 0; i < got.size(); i += std::max<size_t>(1, got.size() / 501)) {
      worst = std::max(worst, ErrorAt(i / product_.n, i % product_.n, got[i]));
    }
    return worst;
  }

 private:
  size_t Count(size_t i) const {
    const size_t counts[] = {product_.m * product_.k, product_.k * product_.n,
                             product_.m * product_.n};
    return counts[i];
  }
  Place Put(size_t i) {
    queue_.CopyIn(data_[i], values_[i].data(), Count(i) * sizeof(float));
    return queue_.Find(data_[i], Count(i));
  }
  double ErrorAt(size_t i, size_t j, float got) const {
    const Product& p = product_;
    double want = p.beta * double{values_[2][i * p.n + j]};
    double magnitude = std::abs(want);
    for (size_t l = 0; l < p.k; ++l) {
      const double term = double{values_[0][p.transpose_a ? l * p.m + i : i * p.k + l]} *
                          values_[1][p.transpose_b ? j * p.k + l : l * p.n + j];
      want += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(got - want) / magnitude;
    return error >= 0 ? error : 1;  // NaN becomes 1.
  }

  Queue& queue_;
  Product product_;
  std::vector<float> values_[3];
  float* data_[3] = {};
};

using Multiply = void (*)(Queue&, const Operands&);

void Ours(Queue& queue, const Operands& o) {
  const Product& p = o.product();
  opencl::Gemm(&queue, p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, o.data(0), o.data(1),
               p.beta, o.data(2));
}

void OursThroughClBlast(Queue& queue, const Operands& o) {
  opencl::MultiplyWithClBlast(queue, o.product());
}

// The call in CLBlast's documentation.
void PlainClBlast(Queue& queue, const Operands& o) {
  const Product& p = o.product();
  const auto transpose = [](bool yes) {
    return yes ? clblast::Transpose::kYes : clblast::Transpose::kNo;
  };
  cl_command_queue commands = queue.commands();
  const auto code = clblast::Gemm<float>(
      clblast::Layout::kRowMajor, transpose(p.transpose_a), transpose(p.transpose_b), p.m, p.n, p.k,
      p.alpha, p.a.buffer, p.a.first, p.transpose_a ? p.m : p.k, p.b.buffer, p.b.first,
      p.transpose_b ? p.k : p.n, p.beta, p.c.buffer, p.c.first, p.n, &commands);
  queue.Enqueued("clblast::Gemm", static_cast<cl_int>(code), nullptr);
}

Status Check(Queue& queue, const char* who, Operands& operands, Multiply multiply) {
  operands.Restore();
  multiply(queue, operands);
  const double error = operands.Error();
  std::string text;
  if (queue.Finish(text) != 0) return Status::Internal(fmt::format("{}: {}", who, text));
  if (error <= 1e-5) return Status::Ok();
  return Status::Internal(fmt::format("{} is off by {:.2g}", who, error));
}

// The best of a few medians. The contenders alternate, so that other load on the machine affects
// both.
std::pair<double, double> SecondsInTurns(const BenchOptions& options, Queue& queue,
                                         const Operands& operands, Multiply ours, Multiply theirs) {
  BenchOptions turn = options;
  turn.full = false;
  std::pair<double, double> best{HUGE_VAL, HUGE_VAL};
  const auto median = [&](Multiply multiply) {
    return MedianSeconds(turn, [&] {
      multiply(queue, operands);
      clFinish(queue.commands());
    });
  };
  for (int round = 0; round < (options.full ? 7 : 1); ++round) {
    best.first = std::min(best.first, median(ours));
    best.second = std::min(best.second, median(theirs));
  }
  return best;
}

Status BenchDevice(const BenchOptions& options, Queue& queue, std::vector<BenchLine>& lines) {
  // Layer 2 of mlp:1024,1024 at batch 512, or a small one like it: forward, gradients of weights
  // (added to a sum) and of inputs.
  const size_t batch = options.full ? 512 : 24;
  const size_t width = options.full ? 1024 : 40;
  const std::pair<const char*, Product> shapes[] = {
      {"forward", {false, false, batch, width, width, 1, {}, {}, 0, {}}},
      {"weights", {true, false, width, width, batch, 1, {}, {}, 1, {}}},
      {"inputs", {false, true, batch, width, width, 1, {}, {}, 0, {}}}};
  for (const auto& [name, shape] : shapes) {
    Operands operands(queue, shape);
    MOTLEY_RETURN_IF_ERROR(Check(queue, "CLBlast", operands, PlainClBlast));
    const std::pair<const char*, Multiply> contenders[] = {{"the driver's choice", Ours},
                                                           {"through CLBlast", OursThroughClBlast}};
    for (const auto& [who, multiply] : contenders) {
      MOTLEY_RETURN_IF_ERROR(Check(queue, who, operands, multiply));
      const auto [mine, other] = SecondsInTurns(options, queue, operands, multiply, PlainClBlast);
      const double giga = 1e-9 * operands.operations();
      lines.push_back({fmt::format("{}, batch {}, width {}, {}: {}", queue.device().name, batch,
                                   width, name, who),
                       "GFLOP/s", giga / mine, "CLBlast", giga / other});
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchOpenCl(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  std::string reason;
  for (const opencl::FoundDevice& device : opencl::FindDevices(reason)) {
    if (!device.reason.empty()) continue;
    MOTLEY_ASSIGN_OR_RETURN(const auto queue, Queue::Open(device, ""));
    MOTLEY_RETURN_IF_ERROR(BenchDevice(options, *queue, lines));
  }
  return lines;
}

}  // namespace motley
