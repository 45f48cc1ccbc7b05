// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Trainer::Accumulate on the device's thread: gathers the samples of each term
// and adds the gradients.
#pragma once

#include <atomic>
#include <complex>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "devices/device.h"
#include "training/batch_schedule.h"
#include "training/data_source.h"
#include "training/model.h"

namespace motley {

// Samples of one partition: the ranks [begin, begin + count) of its order in the epoch.
struct PartitionSlice {
  PartitionId partition = 0;
  BatchSchedule::Range range;
  std::shared_ptr<const DataSource> block;
};

// Neighbouring terms with one coefficient, merged.
struct MergedTerm {
  std::complex<double> coefficient;
  std::vector<PartitionSlice> slices;
};

// sum += coefficient * values, where (v[2t], v[2t+1]) are complex numbers. Even lengths.
void AddComplexPacked(std::complex<double> coefficient, std::span<const float> values,
                      std::span<float> sum);

// The order of each partition's samples, kept while the epoch lasts. One thread at a time.
class EpochOrders {
 public:
  explicit EpochOrders(BatchSchedule schedule) : schedule_(std::move(schedule)) {}
  // The ranks of `slice` as rows of its partition; valid until its partition's next epoch.
  std::span<const uint32_t> Rows(uint64_t epoch, const PartitionSlice& slice);

 private:
  struct Order {
    uint64_t epoch = 0;
    std::vector<uint32_t> rows;
  };
  BatchSchedule schedule_;
  std::map<PartitionId, Order> orders_;
};

// Keeps the orders of this epoch and its workspace from call to call. Used by one thread at a time
// (the device's).
class TermWorker {
 public:
  TermWorker(Device& device, Model& model, BatchSchedule schedule);

  // Adds every term to `sum` (VectorLength floats, see trainer.h). kCancelled between two gathered
  // batches once `cancel` is set; `sum` is then incomplete.
  Status Add(uint64_t epoch, std::span<const MergedTerm> terms, std::span<const float> parameters,
             const std::atomic<bool>& cancel, std::span<float> sum);

 private:
  Status AddTerm(uint64_t epoch, const MergedTerm& term, double weight,
                 std::span<const float> parameters, const std::atomic<bool>& cancel,
                 std::span<float> sum);

  Device& device_;
  Model& model_;
  EpochOrders orders_;
  Dataset batch_;               // Gathered samples.
  std::vector<float> scratch_;  // A term's vector before its complex coefficient.
};

}  // namespace motley
