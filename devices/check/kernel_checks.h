// SPDX-License-Identifier: Apache-2.0
// Checks every kernel of a table against a straightforward float64 reference. Shapes are empty, of
// one element, odd, random, and larger than one launch. The conformance suite and `motley devices
// --check` use the same list.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/check/error_meter.h"
#include "devices/check/kernel_rig.h"

namespace motley::check {

// More than any driver does in one launch.
inline constexpr size_t kMoreThanOneLaunch = (size_t{1} << 22) + 3;

// The state of a check: its random numbers, and where operands go.
struct CheckRun {
  KernelRig& rig;
  Random random;
  bool large = false;  // Also use shapes of more than one launch.
  ErrorMeter meter{};

  const motley_kernels& table() const { return rig.table(); }
  void* queue() const { return rig.queue(); }
  // Uniform values. They repeat after 100,003, since drawing would take most of the time.
  std::vector<float> Values(size_t count, double low = -1, double high = 1);
  Operand<float> Store(const std::vector<float>& values) const { return {rig, values}; }
  // The counts for kernels that process values one by one.
  std::vector<size_t> Counts() const;
};

struct KernelCheck {
  std::string_view kernel;  // As in motley_kernels.
  std::string_view result;  // One of its results; empty: the only one.
  double tolerance;         // For the error in ErrorMeter.
  void (*run)(CheckRun& run);
};
// The list has at least one check for each kernel in the table, in its order.
std::span<const KernelCheck> KernelChecks();

struct CheckedKernel {
  std::string kernel;  // "softmax_cross_entropy: loss"
  double worst = 0;
  double tolerance = 0;
  std::string where;  // The place of the worst error.
  size_t count = 0;   // Number of compared results.
  bool ok() const { return count > 0 && worst <= tolerance; }
};
// Runs a check with random shapes and values that follow from `seed`.
CheckedKernel RunCheck(const KernelCheck& check, KernelRig& rig, uint64_t seed, bool large);

}  // namespace motley::check
