// SPDX-License-Identifier: Apache-2.0
// Every kernel of a table against a straightforward float64 reference, on shapes that are empty, of
// one element, odd, random, and larger than one launch: one list for the conformance suite and for
// `motley devices --check`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/check/error_meter.h"
#include "devices/check/kernel_rig.h"

namespace motley::check {

// Above what any driver does in one launch.
inline constexpr size_t kMoreThanOneLaunch = (size_t{1} << 22) + 3;

// What a check draws and where it puts it.
struct CheckRun {
  KernelRig& rig;
  Random random;
  bool large = false;  // With shapes of more than one launch, too.
  ErrorMeter meter{};

  const motley_kernels& table() const { return rig.table(); }
  void* queue() const { return rig.queue(); }
  // Uniform; beyond 100,003 they repeat, since drawing would take most of the time.
  std::vector<float> Values(size_t count, double low = -1, double high = 1);
  Operand<float> Store(const std::vector<float>& values) const { return {rig, values}; }
  // Of kernels that go over values one by one.
  std::vector<size_t> Counts() const;
};

struct KernelCheck {
  std::string_view kernel;  // As in motley_kernels,
  std::string_view result;  // and which of its results; empty: the only one.
  double tolerance;         // Of the error as ErrorMeter has it.
  void (*run)(CheckRun& run);
};
// At least one of each kernel in the table, in its order.
std::span<const KernelCheck> KernelChecks();

struct CheckedKernel {
  std::string kernel;  // "softmax_cross_entropy: loss"
  double worst = 0;
  double tolerance = 0;
  std::string where;  // Of the worst.
  size_t count = 0;   // Of results that were compared.
  bool ok() const { return count > 0 && worst <= tolerance; }
};
// Runs a check on random shapes and values that follow from `seed`.
CheckedKernel RunCheck(const KernelCheck& check, KernelRig& rig, uint64_t seed, bool large);

}  // namespace motley::check
