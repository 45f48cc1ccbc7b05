// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/update_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "coding/kernels/combine.h"
#include "devices/cpu/cpu_device.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr double kWeight = 64;

std::vector<float> Draw(size_t count, uint64_t seed) {
  Random random(seed, Stream::kTest);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.NextDouble() - 1);
  return values;
}

// The parameters of two versions, and the sum that leads from one to the other.
struct Vectors {
  explicit Vectors(size_t count)
      : before(Draw(count, 1)), sum(Draw(count, 2)), gradient(sum), next(count) {}

  std::vector<float> before, sum, gradient, next;
};

class InPasses {
 public:
  InPasses(Device& device, const OptimizerRule& rule, size_t count)
      : device_(device),
        rule_(rule),
        options_(UsualOptions(rule.name)),
        state_(rule.state_arrays * count) {}

  bool Advance(Vectors& v) {
    const motley_kernels& kernels = device_.kernels();
    std::copy(v.before.begin(), v.before.end(), v.next.begin());
    kernels.scale(device_.queue(), v.next.size(), static_cast<float>(1 / kWeight),
                  v.gradient.data());
    rule_.update({kernels, device_.queue(), options_, options_.learning_rate, ++steps_,
                  v.next.size(), v.gradient.data(), state_.data(), v.next.size(), v.next.data(),
                  kWeight});
    return std::isfinite(SumOfSquares(v.next));
  }

 private:
  Device& device_;
  const OptimizerRule& rule_;
  const OptimizerOptions options_;
  uint64_t steps_ = 0;
  std::vector<float> state_;
};

Status BenchRule(const BenchOptions& options, const OptimizerRule& rule, Device& device,
                 std::vector<BenchLine>& lines) {
  const size_t count = options.full ? size_t{25} << 20 : kUpdateBlock * 3 + 7;
  Vectors ours(count), theirs(count);
  MOTLEY_ASSIGN_OR_RETURN(const auto optimizer, Optimizer::Create(UsualOptions(rule.name), count));
  InPasses passes(device, rule, count);
  const auto in_blocks = [&] {
    return optimizer->Advance(device, ours.gradient, ours.before, ours.next, {.weight = kWeight})
        .value();
  };
  const auto in_passes = [&] { return passes.Advance(theirs); };
  if (!in_blocks() || !in_passes() || ours.next != theirs.next ||
      ours.gradient != theirs.gradient) {
    return Status::Internal(
        fmt::format("{} in blocks is not what it is in whole passes", rule.name));
  }
  // They alternate, so that other load on the machine affects both.
  BenchOptions turn = options;
  turn.full = false;
  double best[2] = {HUGE_VAL, HUGE_VAL};
  for (int round = 0; round < (options.full ? 5 : 1); ++round) {
    ours.gradient = theirs.gradient = ours.sum;  // Many means would be too small for a float.
    best[0] = std::min(best[0], MedianSeconds(turn, in_blocks));
    best[1] = std::min(best[1], MedianSeconds(turn, in_passes));
  }
  const double values = 1e-6 * static_cast<double>(count);
  lines.push_back({fmt::format("{}, {:.2g} million, {} threads", rule.name, values,
                               device.parallel().threads()),
                   "M values/s", values / best[0], "whole passes", values / best[1]});
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchUpdates(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  VirtualLoop loop;
  for (const uint32_t threads : {1U, std::max(2U, options.threads)}) {
    MOTLEY_ASSIGN_OR_RETURN(const auto device, MakeCpuDevice(loop, {.threads = threads}));
    for (const OptimizerRule* rule : OptimizerRules()) {
      MOTLEY_RETURN_IF_ERROR(BenchRule(options, *rule, *device, lines));
    }
  }
  return lines;
}

}  // namespace motley
