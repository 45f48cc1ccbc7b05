// SPDX-License-Identifier: Apache-2.0
// How many samples per second a device manages on a model, measured through its queue.
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

// Made-up samples of the model's shape: dense, of that storage, or with `entries` values per row
// when `sparse`.
Dataset MakeUpSamples(const ModelSpec& spec, bool sparse, uint32_t entries,
                      Storage storage = Storage::kFloat32);

// Made-up ones like those of the store's first block; where there is none dense ones, or sparse
// ones above 16,384 features. Errors are the block's.
Result<Dataset> UsualSamples(const ModelSpec& spec, const PartitionStore& store);

using Cancelled = std::shared_ptr<const std::atomic<bool>>;

// Loop thread; all but `samples` is borrowed until `done`, which runs once on the loop thread. Runs
// grow from one sample until one lasts long enough to be told from noise; of a few of that size the
// fastest counts: what else the machine does meanwhile is no part of its speed. So a device that
// takes seconds for a sample computes two, or one. Once `cancelled` is set (null: never) no run
// begins, and `done` has what is known, or 0.
void CalibrateModel(Loop& loop, Device& device, const Model& model, Dataset samples,
                    Cancelled cancelled, std::function<void(Result<double>)> done);
// The same with anything that a device computes, of so many samples.
void CalibrateDevice(Loop& loop, Device& device, std::function<Status(size_t)> compute,
                     Cancelled cancelled, std::function<void(Result<double>)> done);

}  // namespace motley
