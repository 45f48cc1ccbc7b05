// SPDX-License-Identifier: Apache-2.0
// Minimal implementations of the models and optimizers: double precision, one sample at a time, no
// kernels. The real ones are compared with these.
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

// Weight of a sample in training.
double WeightOfSample(const ModelSpec& spec, double label);

// The values of a sample's gradient that dropout depends on.
struct Origin {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t sample = 0;  // Number in the data set.
};
// Factors of a hidden layer's units.
std::vector<double> MaskOf(const ModelSpec& spec, const Origin& origin, size_t layer, size_t units);

// Sum of the weighted losses over the samples, in step 0 of seed 0. Adds the gradients to
// `gradient` unless it is empty.
double LossAndGradient(const ModelSpec& spec, std::span<const double> parameters,
                       const Dataset& data, std::span<double> gradient);

// Update t, from 1, by the mean gradient. `first` and `second` are the optimizer's state, which
// begins at 0.
void Update(const OptimizerOptions& options, double t, const std::vector<double>& gradient,
            std::vector<double>& first, std::vector<double>& second,
            std::vector<double>& parameters);

// Trains by the schedule over one partition per schedule size, cut from `data` in order.
std::vector<double> Train(const ModelSpec& spec, const OptimizerOptions& options,
                          const BatchSchedule& schedule, const Dataset& data, size_t steps,
                          std::vector<double> parameters);

}  // namespace motley::reference
