// SPDX-License-Identifier: Apache-2.0
// A gradient that costs next to nothing and whose sums are known: what cost-only simulations train
// with. A sample of partition p has at step t the loss 1/2 sum_j (x_j - f_j(t) c_pj)^2, where the
// centres c_p follow from the seed and f_j(t) from seed and step. So an answer for another step,
// version or partition, or one that counts twice, shows in the decoded sum; and the sum over any
// run of partitions takes as long as that of one, by prefix sums.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "training/trainers/callback_trainer.h"

namespace motley {

// One thread: everybody in a simulated world may share it.
class Quadratic {
 public:
  // `schedule` says how many samples of a partition are in a batch.
  Quadratic(uint64_t seed, const BatchSchedule& schedule);

  uint32_t partitions() const { return static_cast<uint32_t>(centres_.size()); }

  struct Sums {
    double loss = 0;
    double norms = 0;  // At least the sum of the samples' norms.
  };
  // gradient[j] += coefficient * (sum over partitions [begin, end)), for every parameter.
  Sums Add(StepId step, std::span<const float> parameters, PartitionId begin, PartitionId end,
           double coefficient, std::span<double> gradient);

 private:
  // Parameters take turns with these.
  static constexpr size_t kCentres = 4;
  using Centres = std::array<double, kCentres>;
  struct Prefix {  // Of the batch's samples of all partitions before.
    Centres centres{};
    Centres squares{};
    double samples = 0;
  };

  void Prepare(StepId step, size_t parameters);

  uint64_t seed_;
  BatchSchedule schedule_;
  std::vector<Centres> centres_;
  // Of step_.
  StepId step_ = 0;
  std::vector<Prefix> before_;   // Empty at first.
  std::vector<double> factors_;  // f_j
};

// For workers and server of a cost-only job. Samples are counted, not looked at. `calibrates`: it
// measures its device, as the built-in models do.
std::shared_ptr<const ForeignTrainer> MakeQuadraticTrainer(std::shared_ptr<Quadratic> quadratic,
                                                           size_t parameter_count,
                                                           bool calibrates = false);

}  // namespace motley
