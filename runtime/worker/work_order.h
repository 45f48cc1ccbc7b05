// SPDX-License-Identifier: Apache-2.0
// One order of the server: runs of partitions that are computed in turn into one sum, chunk by
// chunk on the device, so that the work can be stopped soon and its progress seen. A chunk takes
// whole partitions that are here until it has enough samples. Loop thread only.
//
// For example, partitions 3 to 6 have 20 samples each, and a chunk needs 32:
//
//   terms [3, 7)   Compute: chunk 3 4   done() == 2   Compute: chunk 5 6   finished()
//
// A revocable order can go on (Extend) and lose what was not started (Release). It is sent when it
// is due and finished; what is computed after that belongs to its next vector.
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
  // What the server asks for (wire::Order).
  struct What {
    StepId step = 0;
    uint64_t version = 0;
    uint32_t order = 0;
    std::vector<PartitionTerm> terms;
    uint32_t parts = 1;  // Each term has so many.
    bool keep = false;   // A plain sum over one run, which is kept instead of sent.
    bool revocable = false;
    bool cover_known = true;
  };
  struct Hooks {
    std::function<void()> progress;  // More of the chunk is done.
    // Optional. Values [begin, end) of the sum are final, and so is the sum's tally. It only runs
    // inside the last chunk of an order that is due.
    std::function<void(size_t begin, size_t end, const Tally& tally)> final;
    std::function<void(Status)> done;  // Once per chunk; kCancelled after Cancel.
  };
  struct State {
    uint64_t samples = 0;    // Those in chunks that are done.
    uint64_t in_chunk = 0;   // Those in the chunk at hand that the trainer reported.
    Duration compute{};      // What chunks that are done took.
    Tally tally;             // What they added since TakeTally.
    bool on_device = false;  // Some of the sum is.
    bool due = false;        // It is sent once it is finished.
  };
  struct Entry {
    PartitionId partition = 0;
    uint32_t term = 0;  // That has its weights.
  };
  struct Room {  // Memory that orders pass on to later ones.
    std::vector<Entry> entries;
    std::vector<PartitionTerm> chunk;
  };

  WorkOrder(Loop& loop, std::shared_ptr<Workshop> shop, What what, Room room = {});

  // kDataError: more partitions than the job has.
  Status Extend(std::span<const PartitionTerm> terms);
  // Takes those of `asked` off the order that were not started, and returns them in its order.
  std::vector<PartitionId> Release(const std::vector<PartitionId>& asked);

  // The next chunk can be computed: its first partition is here, or all of them where nothing can
  // be taken back. Precondition: nothing is being computed.
  bool Ready() const;
  bool finished() const { return done_ == room_.entries.size(); }
  // Before the first chunk: these instead of its terms, and what it is computed with.
  void SetTerms(std::vector<PartitionTerm> terms);
  void SetParameters(ParameterCopy parameters) { parameters_ = std::move(parameters); }
  const ParameterCopy& parameters() const { return parameters_; }
  // Computes the next chunk and adds it to `sum`. Where the trainer keeps sums, the sum of an order
  // whose cover is not known stays on the device until it is due and finished. Hooks never run
  // inside.
  void Compute(std::shared_ptr<std::vector<float>> sum, Hooks hooks);
  void Fetch(Hooks hooks);  // Brings what is on the device into the sum.
  void Cancel() { cancel_ = true; }
  void Abandon();  // Cancel, and no hook runs any more.

  // One that is not revocable always is due.
  void SetDue(bool due) { state_.due = due; }
  bool cancelled() const { return cancel_; }
  Room TakeRoom() { return std::move(room_); }  // When it is over.
  const What& what() const { return what_; }
  size_t done() const { return done_; }  // Partitions.
  const State& state() const { return state_; }
  Tally TakeTally() { return std::exchange(state_.tally, Tally()); }

 private:
  void Append(std::span<const PartitionTerm> terms);
  uint64_t ChunkSamples() const;
  size_t Cut();
  void Accumulate(bool last);
  void OnFinal(size_t begin, size_t end, const Tally& of_chunk);
  void OnChunk(const Result<Trainer::Outcome>& outcome);

  Loop& loop_;
  std::shared_ptr<Workshop> shop_;
  What what_;
  std::shared_ptr<const std::vector<BatchSchedule::Range>> ranges_;
  ParameterCopy parameters_;
  std::shared_ptr<std::vector<float>> sum_;
  Hooks hooks_;
  Room room_;  // Its partitions in turn, and those on the device that have samples.
  size_t done_ = 0;
  size_t started_ = 0;  // Beyond done_ while a chunk is on the device.
  State state_;
  std::atomic<bool> cancel_ = false;
};

}  // namespace motley
