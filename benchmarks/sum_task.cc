// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_task.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "fmt/core.h"

namespace motley {
namespace {

// Float32 arithmetic between the two roundings adds about 1e-5 of the tolerance.
constexpr double kSlack = 1 + 1e-4;

struct Expected {
  double workers;
  double indices;  // The sum of the workers' numbers, by which their values differ.

  double Of(double value) const { return workers * value + indices; }
};

// How far the sum of a block may be off if the first worker has `largest` as its largest value.
double Tolerance(const Expected& expected, double largest, double error) {
  const double answers = expected.Of(largest) * error;
  const double sum = (expected.Of(largest) + answers) * error;
  return (answers + sum) * kSlack;
}

}  // namespace

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "motley-sum: {}\n", why);
  _exit(1);
}

std::optional<size_t> FirstWrong(const SumTask& task, const std::vector<float>& sum, uint64_t step,
                                 const Slicing& cut) {
  const WireForm& form = FormOf(cut.format());
  const Expected expected{static_cast<double>(task.workers),
                          task.workers * (task.workers - 1) / 2.0};
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    const size_t slice_end = cut.begin(slice) + cut.size(slice);
    size_t end = 0;
    for (size_t begin = cut.begin(slice); begin < slice_end; begin = end) {
      end = std::min(begin + form.block, slice_end);
      float largest = 0;
      for (size_t i = begin; i < end; ++i) largest = std::max(largest, ValueOf(i, 0, step));
      const double tolerance = Tolerance(expected, largest, form.error);
      for (size_t i = begin; i < end; ++i) {
        // NaN is wrong, too.
        if (!(std::abs(sum[i] - expected.Of(ValueOf(i, 0, step))) <= tolerance)) return i;
      }
    }
  }
  return std::nullopt;
}

void CheckSum(const SumTask& task, const std::vector<float>& sum, uint64_t step,
              const Slicing& cut) {
  const auto wrong = FirstWrong(task, sum, step, cut);
  if (!wrong) return;
  float expected = 0;
  for (uint32_t worker = 0; worker < task.workers; ++worker) {
    expected += ValueOf(*wrong, worker, step);
  }
  Die(fmt::format("{} instead of {} at {}, with {} on the wire", sum[*wrong], expected, *wrong,
                  NameOf(cut.format())));
}

void PrintTimes(const SumTask& task, std::vector<double> seconds, const std::string& more) {
  std::sort(seconds.begin(), seconds.end());
  fmt::print(
      "{{\"workers\": {}, \"megabytes\": {}, \"median_ms\": {:.3f}, \"best_ms\": {:.3f}{}}}\n",
      task.workers, static_cast<double>(task.length) * sizeof(float) * 1e-6,
      seconds[seconds.size() / 2] * 1e3, seconds.front() * 1e3, more);
  std::fflush(stdout);
}

}  // namespace motley
