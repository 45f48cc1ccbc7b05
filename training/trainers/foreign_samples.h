// SPDX-License-Identifier: Apache-2.0
// What trainers of the caller's own functions share: the samples of a call, its progress, and its
// outcome.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "data/data_source.h"
#include "training/trainers/batch_schedule.h"
#include "training/trainers/term_work.h"

namespace motley {

// The samples of one call. Used on the device's thread.
class ForeignSamples {
 public:
  explicit ForeignSamples(BatchSchedule schedule) : schedule_(std::move(schedule)) {}

  // Drops the samples of the last call.
  void Begin(StepId step);
  // Appends the samples of the slice. Errors are those of its block.
  Status Add(const PartitionSlice& slice);

  std::span<const uint64_t> numbers() const { return numbers_; }  // Positions in the data set.
  // The same samples as float32 in this order; null: the caller has them.
  const Dataset* batch() const { return with_batch_ ? &batch_ : nullptr; }

 private:
  BatchSchedule schedule_;
  std::optional<StepBatch> in_batch_;  // The batch of the step.
  std::vector<uint32_t> rows_;         // Rows of a slice in its partition.
  std::vector<uint64_t> numbers_;
  Dataset batch_;
  bool with_batch_ = false;
};

// Forwards progress to the loop: one task at a time, with the newest number. Any thread.
class ProgressRelay : public std::enable_shared_from_this<ProgressRelay> {
 public:
  ProgressRelay(Loop& loop, Function<void(uint64_t)> report)
      : loop_(loop), report_(std::move(report)) {}

  void Report(uint64_t samples);

 private:
  Loop& loop_;
  Function<void(uint64_t)> report_;
  std::atomic<uint64_t> samples_ = 0;
  std::atomic<bool> posted_ = false;
};

// The outcome of a call that returned `status`; `where` names the work.
Status ForeignOutcome(const Status& status, bool cancelled, const std::string& where);
// kCallback unless the weight that a call gave its samples is finite and not negative.
Status CheckForeignWeight(double weight, const std::string& where);

}  // namespace motley
