// SPDX-License-Identifier: Apache-2.0
// What the updates of a job should be: a training in double precision, by plain formulas, that gets
// the job's events one after the other. Each kind of synchronisation has a class of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/runtime/job_world.h"

namespace motley {

class SequentialTraining {
 public:
  using Values = std::vector<double>;

  // Follows the events of the world's job. Make it before the server starts.
  explicit SequentialTraining(JobWorld& world);
  virtual ~SequentialTraining() { world_.watcher.on_event = nullptr; }

  // Runs the job to its end. Expects that it made all updates, and each as here.
  void ExpectSameToTheEnd();

  uint64_t updates() const { return updates_; }
  uint64_t partial() const { return partial_; }  // Updates without some of their samples.

  // The training that the job's options ask for.
  static std::unique_ptr<SequentialTraining> Of(JobWorld& world);

 protected:
  virtual void OnEvent(const JobEvent& event) = 0;
  virtual const Values& newest() const = 0;
  // What else is to be expected at the end.
  virtual void ExpectAtTheEnd(const JobResult&) {}

  const JobOptions& options() const { return world_.options; }
  const BatchSchedule& schedule() const { return schedule_; }
  Values FirstVersion() const;
  // The sum of the samples' gradients.
  Values Gradient(const Values& at, const std::vector<uint32_t>& samples) const;
  // The samples of a step's batch in these partitions, in the order of the batch. With `turns`: of
  // the ranks turn, turn + turns, ... in the batch.
  std::vector<uint32_t> SamplesOf(StepId step, const std::vector<CodeEntry>& row, uint32_t turn = 0,
                                  uint32_t turns = 1) const;
  // The job's vector is the newest one here.
  void ExpectNewest(std::span<const float> parameters) const;
  // The job's mean gradient is this one.
  void ExpectMean(const DecodedSum& sum, const Values& mean) const;
  void CountUpdate(bool partial) {
    ++updates_;
    partial_ += partial ? 1 : 0;
  }

  JobWorld& world_;

 private:
  BatchSchedule schedule_;
  uint64_t updates_ = 0;
  uint64_t partial_ = 0;
};

}  // namespace motley
