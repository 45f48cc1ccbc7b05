// SPDX-License-Identifier: Apache-2.0
// Base of trainers that work through a device's queue: looks up the samples of a call's terms and
// measures their time. Loop thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/loop/loop.h"
#include "devices/device.h"
#include "training/trainers/term_work.h"
#include "training/trainers/trainer.h"

namespace motley {

class QueuedTrainer : public Trainer {
 public:
  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override;

 protected:
  // The shape that blocks in the store must have; features 0: the caller keeps the samples.
  struct BlockShape {
    uint32_t features = 0;
    uint32_t classes = 0;
  };
  QueuedTrainer(Loop& loop, Device& device, const PartitionStore& store, BlockShape shape,
                BatchSchedule schedule);

  Status CheckSizes(const GradientWork& work) const;
  // The samples of `partition` in the batch. kNotFound, kInvalidArgument as for MakeModelTrainer.
  Result<PartitionSlice> FindSlice(StepId step, PartitionId partition) const;
  // All terms of `work` with their samples, looked up here because the device's thread must not
  // read the store. Errors are those of FindSlice.
  Result<std::vector<MergedTerm>> Collect(const GradientWork& work) const;
  // Runs `work` on the device. It computes `samples` and adds to `tally` (null: none).
  void Submit(uint64_t samples, Device::Work work, std::shared_ptr<const Tally> tally, Done done);
  // Calls `done` with the error, but never inside this call, because the caller may not be ready.
  void Refuse(Done done, const Status& why);

  Loop& loop() const { return loop_; }
  Device& device() const { return device_; }
  const BatchSchedule& schedule() const { return schedule_; }

 private:
  const std::vector<BatchSchedule::Range>& Ranges(StepId step) const;

  Loop& loop_;
  Device& device_;
  const PartitionStore& store_;
  BlockShape shape_;
  BatchSchedule schedule_;
  std::shared_ptr<Time> last_finish_ = std::make_shared<Time>();
  // Ranges of ranges_step_.
  mutable std::shared_ptr<const std::vector<BatchSchedule::Range>> ranges_;
  mutable StepId ranges_step_ = 0;
};

}  // namespace motley
