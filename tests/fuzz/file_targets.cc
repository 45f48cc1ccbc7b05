// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/assert.h"
#include "checkpoint/shard_format.h"
#include "profiles/profile.h"
#include "runtime/fault_plan.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {

// A profile that was read can be written and read again.
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

// Parses the header as it is, and with a right checksum, which few mutations would have. Everything
// that it announces must fit into the layout.
void ShardFile(std::string_view input) {
  const BytesView raw = std::as_bytes(std::span(input));
  HeaderBytes bytes{};
  std::copy_n(raw.begin(), std::min(raw.size(), bytes.size()), bytes.begin());
  constexpr size_t kSumOffset = kHeaderBytes - kChecksumBytes;
  const uint64_t sum = Hash64(BytesView(bytes).first(kSumOffset));
  std::memcpy(bytes.data() + kSumOffset, &sum, sizeof sum);
  for (const BytesView tried : {raw, BytesView(bytes)}) {
    const auto header = ParseHeader(tried);
    if (!header.ok()) continue;
    MOTLEY_ASSERT(header->shard < header->shards() && header->shards() <= kMostShards);
    const ShardLayout layout(*header);
    for (uint64_t stripe = 0; stripe < layout.stripes(); stripe += 1 + layout.stripes() / 7) {
      MOTLEY_ASSERT(layout.BlockBytes(stripe) <= kMostBlockBytes);
      MOTLEY_ASSERT(layout.BlockOffset(stripe) < layout.file_bytes());
    }
    MOTLEY_ASSERT(ParseHeader(PackHeader(*header)).ok());
  }
}

}  // namespace motley::fuzz
