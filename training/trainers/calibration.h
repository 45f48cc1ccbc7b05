// SPDX-License-Identifier: Apache-2.0
// Measures how many samples per second a device computes on a model, through its queue.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "base/status.h"
#include "data/dataset.h"
#include "devices/device.h"
#include "training/models/model.h"
#include "training/trainers/trainer.h"

namespace motley {

// Synthetic samples of the model's shape: dense, in the given storage, or with `entries` values per
// row if `sparse`.
Dataset MakeUpSamples(const ModelSpec& spec, bool sparse, uint32_t entries,
                      Storage storage = Storage::kFloat32);

// Synthetic samples like those of the store's first block. Without a block they are dense, or
// sparse above 16,384 features. Errors are the block's.
Result<Dataset> UsualSamples(const ModelSpec& spec, const PartitionStore& store);

using Cancelled = std::shared_ptr<const std::atomic<bool>>;

// Runs grow from one sample until one lasts long enough to be measured. The fastest of a few runs
// of that size counts, which excludes other load on the machine. A device that takes seconds for a
// sample computes only one or two. Once `cancelled` is set (null: never) no run begins, and `done`
// gets what is known, or 0.
//
// Loop thread. Everything but `samples` is borrowed until `done`, which runs once on the loop
// thread.
void CalibrateModel(Loop& loop, Device& device, const Model& model, Dataset samples,
                    Cancelled cancelled, std::function<void(Result<double>)> done);
// The same for any computation `compute` over a number of samples.
void CalibrateDevice(Loop& loop, Device& device, std::function<Status(size_t)> compute,
                     Cancelled cancelled, std::function<void(Result<double>)> done);

}  // namespace motley
