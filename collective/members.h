// SPDX-License-Identifier: Apache-2.0
// The members of a group as one of them sees it, and the messages between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "collective/algorithm.h"
#include "transport/transport.h"

namespace motley {

struct Members {
  Rank rank = 0;              // The own one.
  std::vector<PeerId> peers;  // By rank. The own entry is 0.
  uint32_t job = 0;
  Incarnation incarnation = 0;  // The group's. Messages of another are discarded.

  // By rank, the shortest measured time of a message to the member and back. Zero: not measured.
  std::vector<Duration> round_trips;

  uint32_t count() const { return static_cast<uint32_t>(peers.size()); }
  std::optional<Rank> RankOf(PeerId peer) const {
    for (Rank other = 0; other < count(); ++other) {
      if (other != rank && peers[other] == peer) return other;
    }
    return std::nullopt;
  }
};

// The row_id of frames of kind kCollective.
enum class MemberMessage : uint32_t {
  kAdd = 1,      // `offset` is the chunk's number; total is the vector's length.
  kCopy = 2,     // The same, with the chunk's sum.
  kGivesUp = 3,  // This update and all later ones. The payload is the reason.
  kHello = 4,    // `offset` is the sender's rank and `total` the number of members.
  kPing = 5,     // Asks for a kPong, to measure the round trip.
  kPong = 6,
};

}  // namespace motley
