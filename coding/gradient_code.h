// SPDX-License-Identifier: Apache-2.0
// Builds gradient codes by name. Pure arithmetic; any thread. A new code needs a pair of files with
// a Build function like those in codes/, and a line in the list in codes.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

struct CodeRequest {
  std::vector<double> speeds;  // One per worker, > 0; only ratios count. All 1: equal shares.
  uint32_t stragglers = 0;     // s
  uint32_t partitions = 0;     // k, fixed by the job; at least one per worker.
  uint64_t seed = 0;           // For codes that draw coefficients at random.
  uint32_t messages = 0;       // Per worker and step, if a code sends several; 0: its choice.
  uint32_t parts = 2;          // m of codes with parts: answers are 1/m of a gradient.
  bool draft = false;          // Make a CodeForm::draft if coefficients take long to find.
};

struct GradientCode {
  const char* name;
  const char* summary;  // One line for --help.
  // kInvalidArgument, with what to change, when the code cannot serve n, s, k or the speeds.
  Result<CodeForm> (*build)(const CodeRequest& request);
  bool follows_speeds;  // False: loads are equal, whatever the speeds.
};

// Every code, in the order of --help.
const std::vector<GradientCode>& GradientCodes();

// True if the code's answers are parts of gradients, so that CodeRequest::parts counts.
bool HasParts(std::string_view code);

// How often each partition is computed if nothing fails: 1 without a code, s + m for codes with
// parts, s + 1 for the others. With lists of rows this is the maximum.
uint32_t CopiesOf(std::string_view code, uint32_t stragglers, uint32_t parts);

// Checks the request (speeds, 0 <= s < n, k >= n, k copies <= 2^28) and builds the code. kNotFound
// for an unknown name; the error lists the known ones.
Result<CodeForm> BuildCode(std::string_view name, const CodeRequest& request);

// The conditioning of a code over straggler sets of size s. All sets are checked if there are at
// most `samples`, otherwise that many drawn at random from `seed`.
struct CodeQuality {
  double worst_amplification = 0;  // max over sets of ||a||_inf * max|B|; 1 is perfect.
  double worst_residual = 0;       // max over sets of |a B - 1|.
  uint64_t sets_checked = 0;
  bool exhaustive = false;
};
CodeQuality AssessCode(const CodeForm& form, uint64_t samples, uint64_t seed);

}  // namespace motley
