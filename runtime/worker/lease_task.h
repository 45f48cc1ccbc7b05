// SPDX-License-Identifier: Apache-2.0
// A list of leased partitions, computed in order into one running sum, chunk by chunk on the
// device. The list grows, and what was not started can be taken off it. Loop thread only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/worker/workshop.h"

namespace motley {

class LeaseTask : public std::enable_shared_from_this<LeaseTask> {
 public:
  struct Lease {
    StepId step = 0;
    uint64_t version = 0;
    uint32_t list = 0;
  };
  struct Hooks {
    std::function<void()> progress;    // A sign of life from inside the chunk.
    std::function<void(Status)> done;  // Once per chunk; kCancelled after Cancel.
  };

  LeaseTask(Loop& loop, std::shared_ptr<Workshop> shop, const Lease& lease);

  // kDataError: more entries than the job has partitions.
  Status Extend(std::span<const PartitionId> partitions);
  // Takes those of `asked` off the list that are on it and were not started; returns them.
  std::vector<PartitionId> Release(const std::vector<PartitionId>& asked);

  // The next chunk can be computed: there is one, none runs, and its first partition is here.
  bool Ready() const;
  // Computes it and adds it to `sum`. Where the trainer keeps sums, it stays on the device unless
  // `last` is set and the list ends with it. Hooks never run inside.
  void Compute(ParameterCopy parameters, std::shared_ptr<std::vector<float>> sum, bool last,
               Hooks hooks);
  // Something of the sum is on the device. Fetch brings it into `sum`, which is that of the chunks.
  bool held() const { return held_ != nullptr; }
  void Fetch(std::shared_ptr<std::vector<float>> sum, Hooks hooks);
  void Cancel();
  void Abandon();  // Cancel, and no hook runs any more.

  const Lease& lease() const { return lease_; }
  size_t size() const { return list_.size(); }
  size_t done() const { return done_; }  // Entries, of chunks that are done.
  bool computing() const { return started_ > done_; }
  bool cancelled() const { return *cancel_; }
  Duration compute() const { return compute_; }  // Time that those took.
  // Of chunks that are done, since it was taken last.
  Tally TakeTally() { return std::exchange(tally_, Tally()); }

 private:
  size_t ChunkEnd() const;
  // Of the terms.
  void Accumulate(ParameterCopy parameters, std::shared_ptr<std::vector<float>> sum, bool last);
  void OnChunk(const Result<Trainer::Outcome>& outcome);
  uint32_t Samples(size_t entry) const { return (*ranges_)[list_[entry]].count; }

  Loop& loop_;
  std::shared_ptr<Workshop> shop_;
  Lease lease_;
  std::shared_ptr<const std::vector<BatchSchedule::Range>> ranges_;
  std::vector<PartitionId> list_;
  size_t done_ = 0;
  size_t started_ = 0;                // Entries; beyond `done_` while a chunk is on the device.
  std::vector<PartitionTerm> terms_;  // Of that chunk.
  Duration compute_{};
  Tally tally_;
  ParameterCopy held_;  // What a sum on the device was computed with; null: there is none.
  Hooks hooks_;
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace motley
