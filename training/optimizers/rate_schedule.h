// SPDX-License-Identifier: Apache-2.0
// How the learning rate changes in a job: a function of the step, for plateau of the losses judged
// before it, and, if it follows batches, of the samples of the update.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace motley {

struct RateSchedule {
  enum class Kind { kConstant, kCosine, kStep, kPlateau };
  Kind kind = Kind::kConstant;
  uint64_t warmup = 0;    // The rate grows linearly for so many steps.
  uint64_t every = 0;     // kStep: the rate is lowered after each so many steps.
  double factor = 0.1;    // Factor of each reduction.
  uint32_t patience = 3;  // kPlateau: judgements in a row without progress before a reduction.
  uint32_t times = 3;     // kPlateau: most reductions.
  // The rate is right for updates of so many samples. For others it changes with their number:
  // linearly (Goyal et al., arXiv 1706.02677) or with its square root. 0: it does not.
  uint64_t linear = 0, root = 0;
  bool follows_batches() const { return linear > 0 || root > 0; }

  // Factor of the rate at step `step` of `steps`, without reductions of plateau.
  double Factor(uint64_t step, uint64_t steps) const;
  // Factor of the rate of an update of so many samples. With linear=256, 64 samples have 1/4.
  double BatchFactor(double samples) const;
};

// Parses "constant", "cosine", "step:every=1000,factor=0.1" or
// "plateau:patience=3,factor=0.1,times=3"; each may add "warmup=N" and one of "linear=N" and
// "sqrt=N". kInvalidArgument names the wrong part.
Result<RateSchedule> ParseSchedule(std::string_view text);

}  // namespace motley
