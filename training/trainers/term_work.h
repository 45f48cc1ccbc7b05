// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Trainer::Accumulate on the device's thread: gathers the samples of each term
// and adds the gradients.
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

// Samples of one partition: some of those that it has in the batch.
struct PartitionSlice {
  PartitionId partition = 0;
  BatchSchedule::Range range;
  std::shared_ptr<const DataSource> block;
};

// Neighbouring terms with the same coefficients, merged.
struct MergedTerm {
  std::complex<double> coefficient;
  std::vector<std::complex<double>> other_parts;
  std::vector<PartitionSlice> slices;
};

// How many dense samples are gathered into a batch for `device`: as many as memory of its own has
// room for beside the model, and no more than a machine can well spare of the host's. 1 or more.
size_t GatheredRows(const Device& device, const Model& model);
// The same as far as there is room now: other programs may have some of the device's memory. On its
// thread, before it holds anything of the model.
size_t RowsWithRoom(Device& device, const Model& model);
// Of memory of its own that a device needs at the least.
uint64_t LeastBytes(const Model& model);

// What a term's coefficients do, whichever struct they are in.
template <typename A, typename B>
bool SameWeights(const A& a, const B& b) {
  return a.coefficient == b.coefficient && a.other_parts == b.other_parts;
}
// Whether they only multiply the gradient by a real number.
template <typename Term>
bool IsPlain(const Term& term) {
  return term.other_parts.empty() && term.coefficient.imag() == 0;
}
// Whether the model adds the term up with others in one pass, as weights of their samples: complex
// ones where it takes them. Other terms need a pass and a vector each.
bool IsWeight(const MergedTerm& term, const Model& model);
// sum += what the coefficients make of `values` (VectorLength floats), where (v[2t], v[2t+1]) are
// complex numbers. `sum` is as long as a part.
void AddWeighted(std::complex<double> coefficient,
                 std::span<const std::complex<double>> other_parts, std::span<const float> values,
                 std::span<float> sum, ParallelFor& parallel);

// The same version means the same values.
struct VersionedParameters {
  std::span<const float> values;
  uint64_t version = 0;
};

// Keeps its workspace from call to call. Used by one thread at a time (the device's).
class TermWorker {
 public:
  TermWorker(Device& device, const Model& model, BatchSchedule schedule);

  // GradientWork::final on the device's thread. May be empty.
  using Final = std::function<void(size_t begin, size_t end, const Tally& tally)>;

  // Adds every term to `sum` (GradientWork::sum) and `tally`. kCancelled between two gathered
  // batches once `cancel` is set; both are then incomplete.
  Status Add(StepId step, std::span<const MergedTerm> terms, const VersionedParameters& parameters,
             const std::atomic<bool>& cancel, std::span<float> sum, Tally& tally,
             const Final& final = nullptr);

  // The same piece by piece: what terms add that are weights (IsWeight) stays on the device until
  // Finish, which adds it to the `sum` of Begin, and loss and weight to `tally`. Begin drops what
  // was not finished. With `final`, Finish follows AddWeights and gets it, too.
  Status Begin(const VersionedParameters& parameters, std::span<float> sum);
  Status AddWeights(StepId step, std::span<const MergedTerm> terms, const std::atomic<bool>& cancel,
                    const Final& final = nullptr);  // Passes over other terms.
  Status Finish(Tally& tally, const Final& final = nullptr);

  // Whether the last call failed for its samples, not the device: they could not be read, say.
  bool samples_failed() const { return samples_failed_; }

 private:
  // Gathers the term's samples behind those of terms before; full batches go into the session's
  // sum, each sample weight times.
  Status Gather(StepId step, const MergedTerm& term, std::complex<double> weight,
                const std::atomic<bool>& cancel);
  Status GatherSlice(std::span<const uint32_t> rows, const PartitionSlice& slice,
                     std::complex<double> weight, const std::atomic<bool>& cancel);
  // Adds what was gathered.
  Status Flush(const std::atomic<bool>& cancel, const Final& final = nullptr);
  ModelSession::Final WithWeight(const Final& final) const;

  Device& device_;
  const Model& model_;
  ModelSession session_;
  const size_t count_;     // Of parameters.
  size_t dense_rows_ = 0;  // Of a batch; 0: not known yet.
  BatchSchedule schedule_;
  std::vector<uint32_t> rows_;      // Of a slice, in its partition.
  Dataset batch_;                   // Gathered samples,
  std::vector<RowWeight> weights_;  // and theirs,
  std::vector<uint32_t> numbers_;   // and where they are in the data set, if the model asks for it.
  StepId step_ = 0;
  std::complex<double> weight_;  // Of all samples since Begin.
  bool samples_failed_ = false;
  std::vector<float> scratch_;  // Of a term that is no weight: its vector before its coefficients.
};

}  // namespace motley
