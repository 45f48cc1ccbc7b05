// SPDX-License-Identifier: Apache-2.0
// Samples and runs as the C API shows them.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "motley/trainer.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// Valid as long as `data`, whose samples are float32.
inline motley_batch BatchOf(const Dataset& data) {
  motley_batch batch{};
  batch.struct_size = sizeof(motley_batch);
  batch.columns_count = data.features;
  batch.rows = data.rows();
  batch.features = data.sparse ? data.value.data() : data.dense.data();
  batch.row_begin = data.sparse ? data.row_begin.data() : nullptr;
  batch.columns = data.sparse ? data.column.data() : nullptr;
  batch.labels = data.label.data();
  return batch;
}

// Valid as long as the work.
inline std::vector<motley_run> RunsOf(const WeightedWork& work) {
  std::vector<motley_run> runs;
  for (const WeightedWork::Run& run : work.runs) {
    runs.push_back({run.first, run.count, run.partition, run.group, run.weights.data()});
  }
  return runs;
}

}  // namespace motley
