// SPDX-License-Identifier: Apache-2.0
// Updates of each worker's own (asp, ssp, dssp, r2sp, dana): every gradient is at the version that
// its worker had, and updates are applied in the order of their answers. dana follows the equations
// of DANA-Zero (Hakimi et al., 2019, algorithm 4), whatever form the server gives them:
//
//   v_i = m v_i + g      w = w - r v_i      the worker gets w - r m (v_1 + ... + v_n)
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tests/runtime/sequence/sequential_training.h"

namespace motley {

class OwnUpdates : public SequentialTraining {
 public:
  // The learning rate of a schedule by update, from 1, and its number of samples.
  using Schedule = double (*)(uint64_t update, size_t samples);

  // Without a schedule, the rate is fixed.
  explicit OwnUpdates(JobWorld& world, Schedule factor = nullptr);

  // The largest number of updates between a version's use and its gradient's.
  uint64_t stalest() const;
  // The parts of each batch are all of it, and each part has a sample. The job's end may cut off
  // parts of the last batch.
  void ExpectEachBatchOnce() const;

 private:
  void OnEvent(const JobEvent& event) override;
  const Values& newest() const override { return versions_.back(); }
  void ExpectAtTheEnd(const JobResult& end) override;
  void Decoded(const event::StepDecoded& decoded);
  double RateOf(size_t samples, uint64_t staleness) const;
  void DivideByGaps(const Values& then, Values& mean) const;
  Values WithOwnMomentum(WorkerId worker, const Values& mean, double rate);

  Schedule factor_;
  std::vector<Values> versions_;                    // As workers get them.
  std::map<StepId, std::vector<CodeEntry>> parts_;  // By update.
  std::set<StepId> applied_;
  std::vector<uint64_t> stale_;  // By update, in the order of application.
  Values first_;                 // The optimizer's state.
  Values second_;
  Values squares_;      // Mean squares of the steps per unit of rate.
  double largest_ = 0;  // The largest rate so far.
  // dana: the parameters without the look-ahead, and each worker's velocity.
  Values behind_;
  std::map<WorkerId, Values> velocities_;
};

}  // namespace motley
