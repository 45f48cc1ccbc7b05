// SPDX-License-Identifier: Apache-2.0
// The gradient of cost-only simulations: it costs next to nothing, and its sums are known. At step
// t, a sample of partition p has the loss 1/2 sum_j (x_j - f_j(t) c_pj)^2. The centres c_p follow
// from the seed, and f_j(t) from seed and step. So the decoded sum shows an answer for another
// step, version or partition, and one that counts twice. Thanks to prefix sums, the sum over any
// run of partitions takes as long as that of one partition.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "training/trainers/callback_trainer.h"

namespace motley {

// For one thread. All processes of a simulated world may share one.
class Quadratic {
 public:
  // `schedule` gives the number of samples of each partition in a batch.
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
  // Parameter j uses centre j % kCentres.
  static constexpr size_t kCentres = 4;
  using Centres = std::array<double, kCentres>;
  struct Prefix {  // Sums over the batch's samples of all earlier partitions.
    Centres centres{};
    Centres squares{};
    double samples = 0;
  };

  void Prepare(StepId step, size_t parameters);

  uint64_t seed_;
  BatchSchedule schedule_;
  std::vector<Centres> centres_;
  // The members below belong to step step_.
  StepId step_ = 0;
  std::vector<Prefix> before_;   // Empty at first.
  std::vector<double> factors_;  // f_j
};

// Makes the trainer for workers and server of a cost-only job. It counts samples without reading
// them. With `calibrates` it measures its device, as the built-in models do.
std::shared_ptr<const ForeignTrainer> MakeQuadraticTrainer(std::shared_ptr<Quadratic> quadratic,
                                                           size_t parameter_count,
                                                           bool calibrates = false);

}  // namespace motley
