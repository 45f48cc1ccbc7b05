// SPDX-License-Identifier: Apache-2.0
// How the learning rate changes while a job trains: a function of the step, and, with plateau, of
// the losses that were judged before it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace motley {

struct RateSchedule {
  enum class Kind { kConstant, kCosine, kStep, kPlateau };
  Kind kind = Kind::kConstant;
  uint64_t warmup = 0;    // In the first so many steps the rate grows in proportion to them.
  uint64_t every = 0;     // kStep: after each so many steps
  double factor = 0.1;    // it is multiplied by this; kPlateau: where the loss no longer falls,
  uint32_t patience = 3;  // for so many judgements in a row,
  uint32_t times = 3;     // but not more often than this.

  // Of the rate at step `step` of `steps`, without what plateau makes of it.
  double Factor(uint64_t step, uint64_t steps) const;
};

// "constant", "cosine", "step:every=1000,factor=0.1", "plateau:patience=3,factor=0.1,times=3"; each
// with ",warmup=N" as well. kInvalidArgument names what is wrong with it.
Result<RateSchedule> ParseSchedule(std::string_view text);

}  // namespace motley
