// SPDX-License-Identifier: Apache-2.0
// The one list of all-reduce algorithms. An algorithm is a pure function: for each chunk of the
// vector, it lists the transfers of one member, in order. Chunks do not wait for each other, which
// makes every algorithm a pipeline.
//
// To add an algorithm: a file pair in collective/algorithms/ and one entry in algorithm.cc. The
// suite in tests/collective/ then tests it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

using Rank = uint32_t;  // Members are numbered from 0.

enum class Verb : uint8_t {
  kSend,  // Sends the chunk as it now is.
  kAdd,   // Waits for the peer's chunk and adds it.
  kCopy,  // Waits for the peer's chunk and takes it instead of the own one.
};

// `peer` sends at most one chunk to add and one to copy, for the same chunk.
struct Step {
  Verb verb;
  Rank peer;
  friend bool operator==(const Step&, const Step&) = default;
};

using Groups = std::vector<std::vector<Rank>>;  // Every member is in one group.

// One member's view of one chunk.
struct Place {
  Rank rank = 0;
  uint32_t members = 1;
  uint32_t segment = 0;  // The vector has as many equal segments as members; each has its chunks.
  size_t chunk = 0;
  const Groups* groups = nullptr;  // Null: there are none.
};

struct CollectiveAlgorithm {
  const char* name;
  const char* summary;
  std::vector<Step> (*steps)(const Place& place);
  bool uses_groups;
};

std::span<const CollectiveAlgorithm> CollectiveAlgorithms();

// kNotFound lists the names.
Result<const CollectiveAlgorithm*> FindCollective(std::string_view name);

}  // namespace motley
