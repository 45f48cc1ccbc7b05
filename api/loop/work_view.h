// SPDX-License-Identifier: Apache-2.0
// Work, samples and runs as the C API shows them.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "motley/trainer.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// Fills the members that motley_work, motley_weighted_work and motley_step share. `batch` gets the
// samples, which must be float32, and must live as long as `to` is used.
template <typename To, typename From>
void ShowWork(const From& from, motley_batch& batch, To& to) {
  to.step = from.step;
  to.job = from.job;
  to.version = from.version;
  to.parameters = from.parameters.data();
  to.parameter_count = from.parameters.size();
  to.samples = from.samples.data();
  to.sample_count = from.samples.size();
  if (from.batch == nullptr) return;
  const Dataset& data = *from.batch;
  batch = {};
  batch.struct_size = sizeof(motley_batch);
  batch.columns_count = data.features;
  batch.rows = data.rows();
  batch.features = data.sparse ? data.value.data() : data.dense.data();
  batch.row_begin = data.sparse ? data.row_begin.data() : nullptr;
  batch.columns = data.sparse ? data.column.data() : nullptr;
  batch.labels = data.label.data();
  to.batch = &batch;
}

// All of a WeightedWork in the members that motley_weighted_work and motley_step share. It lives as
// long as they are used.
class WeightedView {
 public:
  template <typename To>
  WeightedView(const WeightedWork& work, To& to) {
    ShowWork(work, batch_, to);
    for (const WeightedWork::Run& run : work.runs) {
      runs_.push_back({run.first, run.count, run.partition, run.group, run.weights.data()});
    }
    to.seed = work.seed;
    to.runs = runs_.data();
    to.run_count = static_cast<decltype(to.run_count)>(runs_.size());
    to.vectors = static_cast<uint32_t>(work.sums.size());
    to.sums = work.sums.data();
    to.losses = work.losses.data();
    to.weights = work.weights.data();
  }
  WeightedView(const WeightedView&) = delete;
  WeightedView& operator=(const WeightedView&) = delete;

 private:
  motley_batch batch_{};
  std::vector<motley_run> runs_;
};

}  // namespace motley
