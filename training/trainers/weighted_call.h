// SPDX-License-Identifier: Apache-2.0
// Calls ForeignTrainer::accumulate_weighted: all samples of a piece of work at once, with the
// weights that their gradients have in each of a few sums. Those sums then give the answer.
//
//   real coefficients              1 sum, which is the answer
//   complex coefficients c         2 sums, of Re c and of Im c: answer = s0 + i s1
//   m parts                        a sum (complex: two) for each part
//   fewer groups than those sums   a plain sum for each group, multiplied here
//
// A group is all samples with the same coefficients. Used on the device's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "devices/device.h"
#include "training/trainers/callback_trainer.h"
#include "training/trainers/early_ranges.h"
#include "training/trainers/foreign_samples.h"
#include "training/trainers/host_vector.h"

namespace motley {

class WeightedCall {
 public:
  struct Work {
    StepId step = 0;
    uint64_t version = 0;
    std::span<const float> parameters;
    std::span<float> sum;  // GradientWork::sum
    std::vector<MergedTerm> terms;
    std::shared_ptr<const std::atomic<bool>> cancel;
    std::function<void(uint64_t)> progress;  // Called on any thread. May be empty.
    EarlyRanges::Final final;                // Called on any thread. May be empty.
  };

  WeightedCall(Device& device, std::shared_ptr<const ForeignTrainer> foreign, uint64_t job,
               BatchSchedule schedule);

  // Adds the terms to the work's sum, and their tally to `tally`.
  Status Add(const Work& work, Tally& tally);

 private:
  // Samples with the same coefficients.
  struct Group {
    const MergedTerm* term = nullptr;  // The first term with them.
    std::vector<double> weights;       // One for each sum.
  };
  // A sum, and the coefficients with which it enters the answer. None: it is the answer.
  struct Sum {
    SharedVector values;  // Null for the answer.
    std::vector<std::complex<double>> coefficients;
  };

  Status Gather(const Work& work);
  uint32_t GroupOf(const MergedTerm& term);
  void PlanSums();
  void PlanSumOfGroup(size_t s, size_t parts);
  void PlanSumOfNumber(size_t s, size_t parts, size_t part, bool imaginary);
  Status Call(const Work& work, Tally& tally);
  Result<std::vector<float*>> ClearSums(const Work& work);
  Result<Tally> TallyOf(std::span<const double> losses, std::span<const double> weights,
                        const std::string& where) const;
  void Combine(const Work& work, const EarlyRanges::Range& range) const;
  void CombineParts(const Work& work) const;

  Device& device_;
  std::shared_ptr<const ForeignTrainer> foreign_;
  uint64_t job_;
  uint64_t seed_;
  ForeignSamples samples_;
  // Of the current call.
  std::vector<Group> groups_;
  std::vector<WeightedWork::Run> runs_;
  std::vector<Sum> sums_;
  std::vector<SharedVector> rooms_;  // Memory for sums, kept from call to call.
};

}  // namespace motley
