// SPDX-License-Identifier: Apache-2.0
// Members of a group on one loop, for the suite that every collective passes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "collective/mesh.h"

namespace motley {

// A loop and the transports on it. It outlives them.
class CollectiveWorld {
 public:
  virtual ~CollectiveWorld() = default;
  virtual Loop& loop() = 0;
  virtual std::unique_ptr<Transport> MakeTransport() = 0;
  virtual std::string NewAddress() = 0;
  // Runs until `done` holds. Returns false if it never will, or not in half a minute.
  virtual bool RunUntil(const std::function<bool()>& done) = 0;
};
std::unique_ptr<CollectiveWorld> MakeVirtualWorld();
std::unique_ptr<CollectiveWorld> MakeSimulatedWorld(uint64_t seed);
std::unique_ptr<CollectiveWorld> MakeTcpWorld();

// Whole numbers have exact sums in any order; others show whether all have the same bits.
Contribution RandomContribution(uint64_t seed, size_t length, size_t beside, bool whole);

// The sum of the contributions of the members, which are drawn with `seed` and the next numbers.
Contribution DirectSumOf(uint64_t seed, uint32_t members, size_t length, bool whole);

class Group {
 public:
  // `groups` are for the algorithms that use them.
  Group(CollectiveWorld& world, const std::string& algorithm, uint32_t members,
        CollectiveOptions options);
  ~Group();

  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  bool Connect();
  void Contribute(Rank rank, uint64_t update, Contribution contribution);
  // The process of this member ends.
  void Kill(Rank rank);
  bool RunUntilEnded(const std::vector<Rank>& ranks);

  const std::optional<Status>& end(Rank rank) const { return members_[rank].end; }
  const Contribution& sum(Rank rank) const { return *members_[rank].contribution; }
  Collective& collective(Rank rank) { return *members_[rank].collective; }
  PeerId PeerOf(Rank rank, Rank of) const { return members_[rank].peers[of]; }
  // Contributes again whenever an update ends well, up to this many updates.
  void Repeat(Rank rank, uint64_t updates, std::function<Contribution(uint64_t)> contribution);

 private:
  struct Member {
    std::unique_ptr<Mesh> mesh;
    std::unique_ptr<Collective> collective;
    std::unique_ptr<Transport> transport;
    std::vector<PeerId> peers;
    std::shared_ptr<Contribution> contribution;
    std::optional<Status> end;  // How its update ended.
  };
  CollectiveWorld& world_;
  std::vector<Member> members_;
};

// Two groups of nearly equal size, the second in reverse.
Groups TwoGroups(uint32_t members);

}  // namespace motley
