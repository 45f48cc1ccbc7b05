// SPDX-License-Identifier: Apache-2.0
// Decides where a job's vector is summed and published. Pure.
//
//   star       the coordinator owns the whole vector
//   sharded:S  S server processes own a range each
//   direct     workers own ranges: reduce-scatter and all-gather. Server processes on machines
//              without a worker own some, too, where that is faster
//   auto       whichever of these takes the least time
//
// The time is that of the exchange (profiles/shard_shares.h), and of its latencies and messages:
//
//   seconds = T + a ways * latency + 2 message_seconds * messages
//
// A star takes 2 ways: a vector to the coordinator, and the new parameters back. Other placements
// take as many if slices stream, and otherwise 2 more, because the coordinator commits when every
// owner has decoded. `messages` counts the slices of the vector that the busiest node sends in one
// exchange, and it receives as many. With k = ceil(x M / slice) slices for the part x:
//
//   star: n k, at the coordinator      direct: sum of the others' k + (n - 1) k, at a worker
//
// So short vectors stay with the star. `auto` leaves the star only for several ranges and a gain of
// 5 %. If the coordinator is on a worker's machine, its link carries that worker's vectors only
// within the machine: T = (n - 1) M / b instead of n M / b.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "profiles/shard_shares.h"
#include "scheduler/placement/shard_ranges.h"

namespace motley {

// Another placement is worth it if it takes less than this part of the star's time.
inline constexpr double kWorthLeavingStar = 0.95;

// A job has places for so many server processes.
inline constexpr uint32_t kMostShardServers = 64;

enum class Reduce : uint8_t { kAuto, kStar, kSharded, kDirect };

struct ReduceMode {
  Reduce kind = Reduce::kAuto;
  uint32_t servers = 0;  // 1 to kMostShardServers for kSharded; otherwise 0.

  bool operator==(const ReduceMode&) const = default;
};
// "auto", "star", "sharded:4" or "direct". kInvalidArgument: another text.
Result<ReduceMode> ParseReduce(std::string_view text);
std::string NameOf(const ReduceMode& mode);

// What a node's processor takes to send or receive one message, as far as nothing was measured.
inline constexpr double kUsualMessageSeconds = 20e-6;

struct ReduceRequest {
  ReduceMode mode;
  // The workers, and as `servers` the server processes on machines of their own. The coordinator is
  // one of them if it may own a range without owning all.
  Exchange exchange;
  NodeLink coordinator;
  std::optional<size_t> beside;  // The coordinator is on this worker's machine.
  uint64_t floats = 0;           // Length of the vector, with padding.
  double latency_seconds = 0;    // One way.
  double message_seconds = kUsualMessageSeconds;
  double slice_bytes = 1 << 20;
  // Workers alone, or servers alone, own equal ranges if that takes at most this part longer,
  // because measured links are rough.
  double equal_within = 0;
  RangeRules rules;
};

struct ReduceCost {
  ExchangeSeconds exchange;
  double messages = 0;  // Seconds of latencies and messages.

  double Total() const { return exchange.total + messages; }
};

// Why a placement was chosen, without words.
struct ReduceReason {
  enum class Kind {
    kAsked,     // It was asked for.
    kNoGain,    // Nothing exchanges vectors in clearly less time than the star.
    kMessages,  // `other` exchanges vectors in less time, and loses it by latencies and messages.
    kFaster,    // It takes less time than the star.
  };
  Kind kind = Kind::kAsked;
  ReduceCost star, other;  // `other`: the fastest other placement, if there is one.
  // A worker that owns nothing, and whose own link takes all of the time of the chosen exchange.
  std::optional<size_t> narrowest;
};

struct ReduceChoice {
  Reduce kind = Reduce::kStar;     // Never kAuto.
  std::vector<ShardRange> ranges;  // By node of the exchange; empty for the star.
  ReduceCost cost;
  ReduceReason reason;
};

// At least one worker, and at least one float. kInvalidArgument: kSharded was asked for, and the
// exchange has no servers.
Result<ReduceChoice> ChooseReduction(const ReduceRequest& request);

}  // namespace motley
