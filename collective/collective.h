// SPDX-License-Identifier: Apache-2.0
// All-reduce by one of the algorithms of algorithm.h. A collective waits for every member: the
// slowest one determines the time, and a lost one ends the group. All members then get an error:
// one that notices a fault reports it to all others, and one that hears nothing for `silence` gives
// up by itself. A member that has what it needs of the lost one still finishes the update, and gets
// the error with the next one. So the members of a group may leave after their last update.
//
// The sum does not depend on when messages arrive, because each chunk's values are added in the
// order of the algorithm. Chunks that arrive before their turn wait in memory. A member that is one
// update ahead of this one may so leave up to one vector here.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/loop/loop.h"
#include "collective/aggregator.h"
#include "collective/algorithm.h"
#include "collective/early_chunks.h"
#include "collective/members.h"
#include "collective/vector_cut.h"
#include "transport/transport.h"

namespace motley {

struct CollectiveOptions {
  Groups groups;                   // For algorithms that use them.
  size_t chunk = size_t{1} << 18;  // Values in a chunk: 1 MiB.
  // A member gives up an update when nothing of it has arrived or left for this long. Zero: never.
  Duration silence = std::chrono::seconds(60);
};

// The owner of the transport passes on what concerns the members' frames of kind kCollective. Loop
// and transport outlive the collective, and the transport is closed or the members are disconnected
// before it is destroyed.
class Collective final : public Aggregator {
 public:
  // kInvalidArgument: the algorithm needs groups, and they do not fit the members.
  static Result<std::unique_ptr<Collective>> Create(Loop& loop, Transport& transport,
                                                    const CollectiveAlgorithm& algorithm,
                                                    Members members, CollectiveOptions options);
  ~Collective() override;

  // From the next update on. Every member changes to the same groups between the same updates. No
  // update is open. kInvalidArgument: they do not fit the members.
  Status SetGroups(Groups groups);

  void Contribute(uint64_t update, std::shared_ptr<Contribution> contribution, Done done) override;

  std::span<std::byte> OnPayload(PeerId peer, const Header& header);
  void OnPayloadDone(PeerId peer, const Header& header);
  void OnLost(PeerId peer, const Status& why);

 private:
  struct OpenChunk {
    Chunk chunk;
    std::vector<Step> steps;
    size_t next = 0;       // The step to carry out next.
    uint32_t sending = 0;  // Sends that read the chunk.

    bool done() const { return next == steps.size() && sending == 0; }
  };
  struct OpenUpdate {
    uint64_t id = 0;
    std::shared_ptr<Contribution> contribution;
    Done done;
    std::vector<OpenChunk> chunks;
    size_t left = 0;           // Chunks that are not done.
    bool undelivered = false;  // A send has failed.
  };
  // The payload that a peer is sending. One that goes into a contribution keeps it alive.
  struct Incoming {
    std::shared_ptr<Contribution> direct;
    EarlyChunks::Buffer buffer;
  };

  Collective(Loop& loop, Transport& transport, const CollectiveAlgorithm& algorithm,
             Members members, CollectiveOptions options);
  // Carries out the chunk's steps up to one that has to wait.
  void Advance(size_t number);
  void Send(size_t number, Rank to);
  void OnSent(size_t number);
  // Carries out the step if its chunk has arrived.
  bool TakeArrived(size_t number, const Step& step);
  // False: the group has ended, and the open update does without the message.
  bool Listens(const Header& header) const;
  // True if the message is what the open update's chunk waits for now, to take as it is.
  bool IsNextCopy(Rank from, const Header& header) const;
  // kDataError unless the message can be one of the open update.
  Status CheckFits(Rank from, const Header& header) const;
  void OnChunk(Rank from, const Header& header, Incoming arrived);
  // Ends the update when its last chunk is done.
  void FinishIfDone();
  void Finish(const Status& status);
  void CheckProgress();
  Status SilenceOf(const OpenUpdate& update) const;
  // True if the open update has a step with this member left.
  bool Needs(Rank rank) const;
  // Ends the open update and the group, and reports it to all other members.
  void GiveUp(const Status& why);
  void OnGivenUp(Rank from, const Header& header, const Incoming& reason);

  Loop& loop_;
  Transport& transport_;
  const CollectiveAlgorithm& algorithm_;
  const Members members_;
  CollectiveOptions options_;
  std::optional<OpenUpdate> update_;
  uint64_t last_ = 0;  // The newest update that was opened.
  Status broken_;      // Why there will be no later update; fine while the group lives.
  EarlyChunks early_;
  std::vector<Incoming> incoming_;  // By rank.
  TimerId timer_ = 0;
  Time moved_{};  // When something last arrived or left.
};

}  // namespace motley
