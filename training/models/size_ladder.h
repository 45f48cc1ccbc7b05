// SPDX-License-Identifier: Apache-2.0
// Measures how long a device takes for work of growing sizes, for a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "data/dataset.h"
#include "devices/device.h"
#include "training/models/model.h"

namespace motley {

// One rung of the ladder: a number of samples, and the time of each run.
struct SizedTimes {
  uint64_t samples = 0;
  std::vector<double> seconds;
};

struct LadderOptions {
  uint64_t most_samples = 1 << 14;
  uint32_t rounds = 40;                         // Most rounds over all sizes; at least three.
  Duration patience = std::chrono::seconds(5);  // No round begins later than this.
  // Optional. Called on the loop thread with the fraction that is done, 0 to 1.
  std::function<void(double part)> progress;
};

// Sizes double from 1. A first, uncounted climb warms up the device. After at least three sizes it
// ends where three rounds would no longer fit into `patience`, and pieces take a two-hundredth of
// it. Each later round runs all sizes in turn, so that other load on the machine affects them
// alike. As in training, a piece gathers samples in blocks and adds their gradient.
//
// Loop thread. Everything but `samples` is borrowed until `done`, which runs once on the loop
// thread. `samples` is not empty and of the model's shape.
void MeasureLadder(Loop& loop, Device& device, const Model& model, Dataset samples,
                   const LadderOptions& options,
                   std::function<void(Result<std::vector<SizedTimes>>)> done);

}  // namespace motley
