// SPDX-License-Identifier: Apache-2.0
// Damages answers so that neither a checksum nor the norm shows it, as flipped bits of memory or
// misplaced slices would. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "base/ids.h"
#include "transport/wire/header.h"

namespace motley {

class Garbler {
 public:
  // Damages one slice of the next answer for this step. `draw` decides which slice, and how.
  void Add(StepId step, uint64_t draw) { steps_[step] = draw; }
  // Call for each frame that leaves. Damages its payload if it is the chosen slice and not all
  // zeros.
  void Pass(const Header& header, Bytes& payload);
  uint64_t garbled() const { return garbled_; }

 private:
  std::map<StepId, uint64_t> steps_;  // The draws, by step.
  uint64_t garbled_ = 0;
};

}  // namespace motley
