// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/assert.h"
#include "profiles/profile.h"
#include "runtime/checkpoint/shard_format.h"
#include "runtime/fault_plan.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {

// What was read can be written and read again.
void Profile(std::string_view input) {
  const auto profile = ParseClusterProfile(std::string(input), "input");
  if (!profile.ok()) return;
  const std::string text = FormatClusterProfile(*profile);
  const auto again = ParseClusterProfile(text, "again");
  MOTLEY_ASSERT(again.ok());
  MOTLEY_ASSERT(again->workers.size() == profile->workers.size());
  MOTLEY_ASSERT(FormatClusterProfile(*again) == text);
}

void FaultPlan(std::string_view input) {
  const auto fault = ParseFault(input);
  if (!fault.ok()) return;
  const auto again = ParseFault(FormatFault(*fault));
  MOTLEY_ASSERT(again.ok());
  MOTLEY_ASSERT(again->worker == fault->worker && again->step == fault->step);
  MOTLEY_ASSERT(FormatFault(*again) == FormatFault(*fault));
}

// The header, and whether everything that it announces has its place.
void ShardFile(std::string_view input) {
  const auto header = ParseHeader(std::as_bytes(std::span(input)));
  if (!header.ok()) return;
  MOTLEY_ASSERT(header->shard < header->shards() && header->shards() <= kMostShards);
  const ShardLayout layout(*header);
  for (uint64_t stripe = 0; stripe < layout.stripes(); stripe += 1 + layout.stripes() / 7) {
    MOTLEY_ASSERT(layout.BlockBytes(stripe) <= kMostBlockBytes);
    MOTLEY_ASSERT(layout.BlockOffset(stripe) < layout.file_bytes());
  }
  HeaderBytes packed = PackHeader(*header);
  MOTLEY_ASSERT(ParseHeader(packed).ok());
}

}  // namespace motley::fuzz
