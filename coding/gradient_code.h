// SPDX-License-Identifier: Apache-2.0
// Builds the gradient codes of the list in schemes.h by name. Pure arithmetic; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "coding/code_form.h"
#include "coding/schemes.h"

namespace motley {

// Checks the request (speeds, 0 <= s < n, k >= n, k copies <= 2^28) and builds. kNotFound for an
// unknown name, with the names there are.
Result<CodeForm> BuildCode(std::string_view name, const CodeRequest& request);

// The conditioning of a code over straggler sets of size s. All sets are checked if there are at
// most `samples`, otherwise that many drawn at random from `seed`.
struct CodeQuality {
  double worst_amplification = 0;  // max over sets of ||a||_inf * max|B|; 1 is perfect.
  double worst_residual = 0;       // max over sets of |a B - 1|.
  // How much larger than with plain sums the variance of the sum is if each answer has an error in
  // proportion to its norm: max over sets of sum_i |a_i|^2 ||b_i||^2 / k. With m parts it is the
  // mean over the parts. 1: no larger. This counts partial gradients as equally long and unrelated.
  double worst_noise = 0;
  uint64_t sets_checked = 0;
  bool exhaustive = false;
};
CodeQuality AssessCode(const CodeForm& form, uint64_t samples, uint64_t seed);

}  // namespace motley
