// SPDX-License-Identifier: Apache-2.0
// The models and optimizers once more, as plainly as possible: double precision, one sample at a
// time, no kernels. What the real ones are held against.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "training/models/model.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/batch_schedule.h"

namespace motley::reference {

// Widths from the features to the outputs, for a name like "mlp:7,5".
std::vector<size_t> Widths(const ModelSpec& spec);

// What a sample weighs in training.
double WeightOfSample(const ModelSpec& spec, double label);

// Whose gradient a sample's is: what dropout depends on.
struct Origin {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t sample = 0;  // In the data set.
};
// What the units of a hidden layer are multiplied by.
std::vector<double> MaskOf(const ModelSpec& spec, const Origin& origin, size_t layer, size_t units);

// Sum of the weighted losses over the samples, as of step 0 of seed 0; adds the gradients to
// `gradient` unless it is empty.
double LossAndGradient(const ModelSpec& spec, std::span<const double> parameters,
                       const Dataset& data, std::span<double> gradient);

// Trains by the schedule over one partition per schedule size, cut from `data` in order.
std::vector<double> Train(const ModelSpec& spec, const OptimizerOptions& options,
                          const BatchSchedule& schedule, const Dataset& data, size_t steps,
                          std::vector<double> parameters);

}  // namespace motley::reference
