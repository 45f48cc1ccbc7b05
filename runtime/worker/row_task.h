// SPDX-License-Identifier: Apache-2.0
// One row of the encoding matrix, computed chunk by chunk on the device, so that it can be stopped
// soon and its progress seen. Loop thread only.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/worker/workshop.h"
#include "scheduler/step/pieces.h"

namespace motley {

class RowTask : public std::enable_shared_from_this<RowTask> {
 public:
  struct Row {
    StepId step = 0;
    uint64_t version = 0;
    RowId row = 0;
    std::vector<PartitionTerm> terms;
    uint32_t parts = 1;  // Of each term.
    bool keep = false;   // Not sent: a plain sum over one run, kept for rows about it.
  };
  struct Hooks {
    std::function<void()> progress;  // More is done, and there is more to do.
    // Optional: values [begin, end) of the sum are final, and so is its tally.
    std::function<void(size_t begin, size_t end, const Tally& tally)> final;
    std::function<void(Status)> done;  // The last call; kCancelled after Cancel.
  };

  // `sum`: VectorLength floats, or one part's; set to the row's sum. `room`: what TakeRoom gave.
  RowTask(Loop& loop, std::shared_ptr<Workshop> shop, Row row, ParameterCopy parameters,
          std::shared_ptr<std::vector<float>> sum, std::vector<PartitionTerm> room = {});

  void Run(Hooks hooks);  // Hooks never run inside.
  void Cancel();
  void Abandon();  // Cancel, and no hook runs any more.

  // Memory for the next row's task, when this is done.
  std::vector<PartitionTerm> TakeRoom() { return std::move(pieces_); }

  const Row& row() const { return row_; }
  uint64_t samples() const { return samples_; }  // Of chunks that are done,
  Duration compute() const { return compute_; }  // and how long they took.
  // With those of the chunk at hand that the trainer told of.
  uint64_t samples_so_far() const { return samples_ + in_chunk_; }
  const std::shared_ptr<std::vector<float>>& sum() const { return sum_; }
  const Tally& tally() const { return tally_; }  // Of chunks that are done.

 private:
  void Cut();
  void Next();
  void OnFinal(size_t begin, size_t end, const Tally& of_chunk);
  void OnChunk(Result<Trainer::Outcome> outcome);
  void Finish(Status status);

  Loop& loop_;
  std::shared_ptr<Workshop> shop_;
  Row row_;
  ParameterCopy parameters_;
  std::shared_ptr<std::vector<float>> sum_;
  Hooks hooks_;
  std::atomic<bool> cancel_ = false;
  std::vector<PartitionTerm> pieces_;  // The row's terms without what is empty, cut into chunks
  std::array<size_t, kPiecesOfRow> chunk_ends_{};  // that end before these.
  size_t chunks_ = 0;
  size_t next_chunk_ = 0;
  uint64_t samples_ = 0;
  uint64_t in_chunk_ = 0;
  Duration compute_{};
  Tally tally_;
};

}  // namespace motley
