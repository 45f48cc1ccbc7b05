// SPDX-License-Identifier: Apache-2.0
// Damage to answers that no checksum and no norm shows: bits of a memory, slices in the wrong
// places. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "base/ids.h"
#include "transport/wire/header.h"

namespace motley {

class Garbler {
 public:
  // One slice of the next answer for this step is to be damaged; `draw` says which, and how.
  void Add(StepId step, uint64_t draw) { steps_[step] = draw; }
  // A frame that leaves; its payload is damaged if it is that one, and not all zeros.
  void Pass(const Header& header, Bytes& payload);
  uint64_t garbled() const { return garbled_; }

 private:
  std::map<StepId, uint64_t> steps_;  // And the draws.
  uint64_t garbled_ = 0;
};

}  // namespace motley
