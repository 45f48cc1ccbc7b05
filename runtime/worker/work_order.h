// SPDX-License-Identifier: Apache-2.0
// One order of the server: runs of partitions that are computed in turn into one sum. The device
// computes it chunk by chunk, so that the work can stop soon and its progress shows. A chunk takes
// whole partitions that are here until it has enough samples. Loop thread only.
//
// For example, partitions 3 to 6 have 20 samples each, and a chunk needs 32:
//
//   terms [3, 7)   Compute: chunk 3 4   done() == 2   Compute: chunk 5 6   finished()
//
// A revocable order can grow (Extend) and lose what was not started (Release). It is sent when it
// is due and finished. What is computed after that belongs to its next vector.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/worker/workshop.h"

namespace motley {

class WorkOrder : public std::enable_shared_from_this<WorkOrder> {
 public:
  // An order as the server sends it (wire::Order).
  struct What {
    StepId step = 0;
    uint64_t version = 0;
    uint32_t order = 0;
    std::vector<PartitionTerm> terms;
    uint32_t parts = 1;  // Parts of each term.
    bool keep = false;   // The order is a plain sum over one run, which is kept instead of sent.
    bool revocable = false;
    bool cover_known = true;
    uint32_t attempt = 0;  // Slices repeat it, and `row`.
    uint32_t row = 0;
    bool waits = false;  // No slice leaves before LetSend.
    bool ahead = false;  // It goes on from steps that the trainer took ahead.
  };
  struct Hooks {
    std::function<void()> progress;  // More of the chunk is done.
    // Optional. Values [begin, end) of the sum are final, and so is the sum's tally. This only runs
    // inside the last chunk of an order that is due.
    std::function<void(size_t begin, size_t end, const Tally& tally)> final;
    std::function<void(Status)> done;  // Runs once per chunk; kCancelled after Cancel.
  };
  struct State {
    uint64_t samples = 0;    // Samples in chunks that are done.
    uint64_t in_chunk = 0;   // Samples of the current chunk that the trainer reported.
    Duration compute{};      // Compute time of chunks that are done.
    Tally tally;             // The tally of these chunks since TakeTally.
    bool on_device = false;  // Part of the sum is on the device.
    bool due = false;        // The order is sent once it is finished.
    bool may_send = true;    // Its slices may leave.
  };
  struct Entry {
    PartitionId partition = 0;
    uint32_t term = 0;  // The term with its weights.
  };
  struct Room {  // Memory that orders pass on to later ones.
    std::vector<Entry> entries;
    std::vector<PartitionTerm> chunk;
  };

  WorkOrder(Loop& loop, std::shared_ptr<Workshop> shop, What what, Room room = {});

  // kDataError: the terms have more partitions than the job.
  Status Extend(std::span<const PartitionTerm> terms);
  // Removes those of `asked` that were not started, and returns them in the order's sequence.
  std::vector<PartitionId> Release(const std::vector<PartitionId>& asked);

  // The next chunk can be computed: its first partition is here, or all of them if nothing can be
  // taken back. Precondition: nothing is being computed.
  bool Ready() const;
  bool finished() const { return done_ == room_.entries.size(); }
  // Replaces the order's terms. Call it before the first chunk.
  void SetTerms(std::vector<PartitionTerm> terms);
  // What the order is computed with: what().version, or a newer one that the server published for
  // it.
  void SetParameters(std::shared_ptr<const HostVector> parameters, uint64_t version) {
    version_ = {std::move(parameters), version};
  }
  const std::shared_ptr<const HostVector>& parameters() const { return version_.values; }
  uint64_t version() const { return version_.number; }
  // Computes the next chunk and adds it to `sum`. If the trainer keeps sums on the device, the sum
  // of an order whose cover is not known stays there until it is due and finished. Hooks never run
  // inside this call.
  void Compute(SharedVector sum, Hooks hooks);
  void Fetch(Hooks hooks);  // Brings the part of the sum on the device into the sum.
  // Lets the trainer begin with the next step on the same terms. `failed` runs only if it fails.
  void GoAhead(std::function<void(const Status&)> failed) const;
  void Cancel() { cancel_ = true; }
  void Abandon();  // Cancels, and no hook runs any more.

  // An order that is not revocable is always due.
  void SetDue(bool due) { state_.due = due; }
  void LetSend() { state_.may_send = true; }
  bool cancelled() const { return cancel_; }
  Room TakeRoom() { return std::move(room_); }  // Call it when the order is over.
  const What& what() const { return what_; }
  size_t done() const { return done_; }  // Partitions that are done.
  const State& state() const { return state_; }
  Tally TakeTally() { return std::exchange(state_.tally, Tally()); }

 private:
  void ListEntries();  // One for each partition of the terms.
  uint64_t ChunkSamples() const;
  size_t Cut();
  void Accumulate(bool last);
  void OnFinal(size_t begin, size_t end, const Tally& of_chunk);
  void OnChunk(const Result<Trainer::Outcome>& outcome);

  Loop& loop_;
  std::shared_ptr<Workshop> shop_;
  What what_;
  std::shared_ptr<const std::vector<BatchSchedule::Range>> ranges_;
  struct {
    std::shared_ptr<const HostVector> values;
    uint64_t number = 0;
  } version_;  // What the order is computed with.
  SharedVector sum_;
  Hooks hooks_;
  Room room_;  // Partitions in the sequence of computation, and the chunk on the device.
  size_t done_ = 0;
  size_t started_ = 0;  // Beyond done_ while a chunk is on the device.
  State state_;
  std::atomic<bool> cancel_ = false;
};

}  // namespace motley
