// SPDX-License-Identifier: Apache-2.0
// Sums over direct connections: each member owns a range of the vector, sums the workers' values of
// that range, and publishes the sum to all workers. The data path is that of a job with `--reduce
// direct`: slices with sketches, the stream decoder, and sends without copies. Both ways may be
// rounded as by `--wire`. A sum is rounded once, and all workers get the same. A job commits a step
// as a whole. Here each slice is published as soon as it is summed, so that publishing overlaps
// with the other sums.
//
//   shares 2 1 0 1 of 8 floats    member 0 owns 0-4, member 1 owns 4-6, member 3 owns 6-8
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/function.h"
#include "base/random.h"
#include "benchmarks/sum_task.h"
#include "collective/members.h"
#include "runtime/links/packed_slice.h"
#include "runtime/links/route.h"
#include "runtime/links/slicing.h"
#include "transport/transport.h"

namespace motley {

// The ranges that members own. A member whose share is 0, or less than a pair of floats, may own
// none.
struct OwnedRanges {
  Route route;
  std::vector<Rank> owners;  // By shard of the route.
};

// Cuts a vector of `length` floats in proportion to `shares`, one for each member. No share is
// negative, and one is not 0.
OwnedRanges RangesOf(size_t length, const std::vector<double>& shares);

// The shares with which the sum takes the least time over links of these Mbit/s, one for each
// member (profiles/shard_shares.h). The last `spares` members have no vector.
std::vector<double> SharesOver(const std::vector<double>& links, uint32_t spares, size_t length);

// One member. The first `task.workers` members have a vector. The others are spare servers, which
// own a range and have no vector. Any error ends the process. Loop thread only.
class DirectSum final : public Receiver {
 public:
  // Messages that do not belong to the sum go to `others`. `vector` is borrowed; it has
  // VectorLength(task.length) floats.
  DirectSum(Transport& transport, Receiver& others, const SumTask& task, const Members& members,
            const std::vector<double>& shares, std::span<float> vector);
  ~DirectSum() override;

  // The vector has its values for this step, and other members may start.
  void Open(uint64_t step);
  // Replaces the vector by the sum. Every member was opened before. `done` runs when the sum is
  // here, and all that others need has left.
  void Start(Function<void()> done);
  // The slices in which the sum travels.
  const Slicing& cut() const { return parameters_; }

  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;

 private:
  class OwnRange;
  struct Progress {
    uint64_t step = 0;
    size_t left = 0;        // Slices to sum or to receive.
    size_t unsent = 0;      // Sends that are not done.
    Function<void()> done;  // Empty: the sum is complete, or was not started.
  };
  struct Arriving {
    AlignedVector values;  // An answer. The values of a sum go into the vector.
    PackedSlice packed;
  };

  bool HasVector(Rank rank) const { return rank < workers_; }
  Rank rank() const { return members_.rank; }
  // Calls `each` with the other members, from the next one on, so that not all begin with the same.
  template <typename Each>
  void ForOthers(const Each& each);
  void Push();
  // Returns the slice as it travels. The vector then has the values that will arrive.
  BytesView Pack(const Slicing& cut, size_t slice, Random::Philox draws);
  BytesView PackAnswer(size_t slice);
  void SendSlice(Rank to, const Slicing& cut, size_t slice, BytesView bytes, Header header);
  Header Describe(size_t slice) const;  // Reads the slice, for its sketch.
  void AddOwn(size_t slice);
  void Add(Rank row, const Header& header, AlignedVector& values);
  void Publish(size_t slice);
  void FinishIfDone();

  Transport& transport_;
  Receiver& others_;
  const uint32_t workers_;
  const Members members_;
  const std::span<float> vector_;
  const OwnedRanges ranges_;
  const Slicing answers_;           // What workers send. It includes the padding.
  const Slicing parameters_;        // What owners publish: the same slices without the padding.
  std::unique_ptr<OwnRange> own_;   // Null: this member owns nothing.
  std::vector<Arriving> arriving_;  // By rank: the slice that is coming.
  Bytes packed_;                    // The slices as they travel. Empty: they travel as they are.
  Progress now_;
};

}  // namespace motley
