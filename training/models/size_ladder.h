// SPDX-License-Identifier: Apache-2.0
// What pieces of work of growing sizes take a device, measured through its queue: for a profile.
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

// One rung: a piece of so many samples, and what it took each time.
struct SizedTimes {
  uint64_t samples = 0;
  std::vector<double> seconds;
};

struct LadderOptions {
  uint64_t most_samples = 1 << 14;
  uint32_t rounds = 40;                         // Of the whole ladder, at most; at least three.
  Duration patience = std::chrono::seconds(5);  // No round begins after it.
  // Optional, on the loop thread: the part that is done, from 0 to 1.
  std::function<void(double part)> progress;
};

// Sizes double from 1. A first climb that does not count warms the device up and ends, after three
// sizes at the earliest, where the ladder would be too long for three rounds within the patience
// (and pieces take a two-hundredth of it); rounds then take all sizes in turn, so that whatever
// else the machine does at a time falls on all. Pieces gather samples in
// blocks and add their gradient, as training does. Loop thread; all but `samples` (not empty, of
// the model's shape) is borrowed until `done`, which runs once on the loop thread.
void MeasureLadder(Loop& loop, Device& device, const Model& model, Dataset samples,
                   const LadderOptions& options,
                   std::function<void(Result<std::vector<SizedTimes>>)> done);

}  // namespace motley
