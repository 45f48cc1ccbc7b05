// SPDX-License-Identifier: Apache-2.0
// Slices that travel in another format than float32 (base/wire_format.h, docs/decisions/0050). Loop
// thread only.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/status.h"
#include "transport/wire/header.h"

namespace motley {

// The draws for rounding a slice of an answer to this step. `answer` names the answer within the
// step: equal names get equal draws.
Random::Philox DrawsOfAnswer(uint64_t seed, StepId step, uint64_t answer, uint64_t offset);
// The draws for rounding a slice of a version of the parameters.
Random::Philox DrawsOfParameters(uint64_t seed, uint64_t version, uint64_t offset);

// A slice that is arriving: its bytes, until they are complete.
class PackedSlice {
 public:
  // kResource: there is no memory for the payload that the header announces.
  Status Begin(const Header& header);
  // The room for the payload. Floats that travel as they are go to `values` themselves.
  std::span<std::byte> Room(std::span<float> values);
  // The payload is complete: writes the values. kDataError: the bytes are those of no such slice.
  // The values are then NaN, which no check of an answer lets pass.
  Status Finish(std::span<float> values) const;

 private:
  WireFormat format_ = WireFormat::kFloat32;
  Bytes packed_;
};

}  // namespace motley
