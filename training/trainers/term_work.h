// SPDX-License-Identifier: Apache-2.0
// Trainer::Accumulate on the device's thread: gathers the samples of each term and adds their
// gradients.
#pragma once

#include <atomic>
#include <complex>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "training/models/model_session.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

// Samples of one partition in the batch, or some of them.
struct PartitionSlice {
  PartitionId partition = 0;
  BatchSchedule::Range range;
  std::shared_ptr<const DataSource> block;
};

// Adjacent terms with the same coefficients, merged.
struct MergedTerm {
  std::complex<double> coefficient;
  std::vector<std::complex<double>> other_parts;
  std::span<const size_t> ends = {};  // As in GradientWork.
  std::vector<PartitionSlice> slices = {};
};

// How many dense samples to gather into a batch for `device`; at least 1. The batch must fit beside
// the model into the device's own memory, and take little of the host's.
size_t GatheredRows(const Device& device, const Model& model);
// Like GatheredRows, limited by the memory that is free now, because other programs may use the
// device. Call it on the device's thread, before it holds anything of the model.
size_t RowsWithRoom(Device& device, const Model& model);
// The least memory of its own that a device needs.
uint64_t LeastBytes(const Model& model);

// True if both structs have the same coefficients.
template <typename A, typename B>
bool SameWeights(const A& a, const B& b) {
  return a.coefficient == b.coefficient && a.other_parts == b.other_parts;
}
// True if the term's coefficients are one real factor of the gradient.
template <typename Term>
bool IsPlain(const Term& term) {
  return term.other_parts.empty() && term.coefficient.imag() == 0;
}
// True if the model can add the term in one pass with others, as weights of samples. Complex
// coefficients need a model that takes them. Other terms need a pass and a vector each.
bool IsWeight(const MergedTerm& term, const Model& model);
// sum += `values` (VectorLength floats) times the coefficients, where (v[2t], v[2t+1]) are complex
// numbers. `sum` is as long as a part, and `ends` is as in GradientWork.
void AddWeighted(std::complex<double> coefficient,
                 std::span<const std::complex<double>> other_parts, std::span<const size_t> ends,
                 std::span<const float> values, std::span<float> sum, ParallelFor& parallel);

// Equal versions mean equal values.
struct VersionedParameters {
  std::span<const float> values;
  uint64_t version = 0;
};

// Computes terms with a workspace that is kept from call to call. Used by one thread at a time (the
// device's).
class TermWorker {
 public:
  TermWorker(Device& device, const Model& model, BatchSchedule schedule);

  // GradientWork::final, on the device's thread. May be empty.
  using Final = std::function<void(size_t begin, size_t end, const Tally& tally)>;

  // Adds every term to `sum` (GradientWork::sum) and `tally`. Returns kCancelled between two
  // gathered batches once `cancel` is set; both are then incomplete.
  Status Add(StepId step, std::span<const MergedTerm> terms, const VersionedParameters& parameters,
             const std::atomic<bool>& cancel, std::span<float> sum, Tally& tally,
             const Final& final = nullptr);

  // The same piece by piece. The sum of terms that are weights (IsWeight) stays on the device until
  // Finish, which adds it to the `sum` of Begin, and loss and weight to `tally`. Begin drops an
  // unfinished sum. If AddWeights gets `final`, Finish must follow and get it, too.
  Status Begin(const VersionedParameters& parameters, std::span<float> sum);
  Status AddWeights(StepId step, std::span<const MergedTerm> terms, const std::atomic<bool>& cancel,
                    const Final& final = nullptr);  // Skips terms that are not weights.
  Status Finish(Tally& tally, const Final& final = nullptr);

  // True if the last call failed because of its samples (they could not be read, say), not the
  // device.
  bool samples_failed() const { return samples_failed_; }

 private:
  // Gathers the term's samples after those of earlier terms. Full batches go into the session's
  // sum, with each sample times `weight`.
  Status Gather(StepId step, const MergedTerm& term, std::complex<double> weight,
                const std::atomic<bool>& cancel);
  Status GatherSlice(std::span<const uint32_t> rows, const PartitionSlice& slice,
                     std::complex<double> weight, const std::atomic<bool>& cancel);
  // Adds the samples that were gathered.
  Status Flush(const std::atomic<bool>& cancel, const Final& final = nullptr);
  ModelSession::Final WithWeight(const Final& final) const;

  Device& device_;
  const Model& model_;
  ModelSession session_;
  const size_t count_;     // Number of parameters.
  size_t dense_rows_ = 0;  // Rows of a batch; 0: not known yet.
  BatchSchedule schedule_;
  std::vector<uint32_t> rows_;      // Rows of a slice in its partition.
  Dataset batch_;                   // Gathered samples.
  std::vector<RowWeight> weights_;  // Weights of the gathered samples.
  std::vector<uint32_t> numbers_;   // Their numbers in the data set, if the model needs them.
  StepId step_ = 0;
  std::complex<double> weight_;  // Total weight since Begin.
  bool samples_failed_ = false;
  // Vector of a term that is not a weight, before its coefficients are applied.
  std::vector<float> scratch_;
};

}  // namespace motley
