// SPDX-License-Identifier: Apache-2.0
// What trainers that work through a device's queue have in common: which samples the terms of a
// call stand for, and the time that they took. Loop thread.
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
  // What blocks in the store must be; features 0: they stand for samples that the caller keeps.
  struct BlockShape {
    uint32_t features = 0;
    uint32_t classes = 0;
  };
  QueuedTrainer(Loop& loop, Device& device, const PartitionStore& store, BlockShape shape,
                BatchSchedule schedule);

  Status CheckSizes(const GradientWork& work) const;
  // What `partition` adds to the batch. kNotFound, kInvalidArgument as MakeModelTrainer says.
  Result<PartitionSlice> FindSlice(StepId step, PartitionId partition) const;
  // All terms of `work`, looked up here so that the device's thread never sees the store; errors as
  // of the two above.
  Result<std::vector<MergedTerm>> Collect(const GradientWork& work) const;
  // Runs `work`, which computes `samples` and sums up `tally` (null: none), on the device.
  void Submit(uint64_t samples, Device::Work work, std::shared_ptr<const Tally> tally, Done done);
  // `done` with what is wrong, never inside the call: the caller may not be ready for it.
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
  mutable std::shared_ptr<const std::vector<BatchSchedule::Range>> ranges_;  // Of ranges_step_.
  mutable StepId ranges_step_ = 0;
};

}  // namespace motley
