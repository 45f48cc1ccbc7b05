// SPDX-License-Identifier: Apache-2.0
// The interface to whatever computes gradients: a built-in model, or callbacks
// (callback_trainer.h). A vector that travels is the gradient, padded with a zero to an even
// length. The loss and weight of its samples travel beside it (base/tally.h).
#pragma once

#include <atomic>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "training/models/model.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

inline size_t VectorLength(size_t parameter_count) { return (parameter_count + 1) / 2 * 2; }

// coefficient * sum of g_p over partitions [begin, end). With other_parts, vectors are cut into 1 +
// other_parts.size() parts (coding/decode/part_sums.h). `coefficient` then belongs to the first
// part, and the result is as long as a part.
struct PartitionTerm {
  PartitionId begin = 0;
  PartitionId end = 0;
  std::complex<double> coefficient;
  std::vector<std::complex<double>> other_parts;
};

struct GradientWork {
  StepId step = 0;
  uint64_t version = 0;               // Equal versions mean equal parameters.
  std::span<const float> parameters;  // parameter_count floats
  std::span<const PartitionTerm> terms;
  // The sum to add to: VectorLength floats, or one part's. Complex coefficients act on pairs.
  std::span<float> sum;
  uint32_t parts = 1;  // Number of parts of each term.
  // The ends of ranges of the vector that are cut into parts on their own; empty: it is one range.
  std::span<const size_t> ends;
  // Only if keeps_sums(). More calls into the same sum follow, so the sum may stay
  // on the device. The last call adds everything to `sum`, with the tally of all calls, and may
  // have no terms. If another sum begins in between, the later calls fail (kInternal).
  bool more = false;
  bool continues = false;  // The previous call had `more`.
  // Only if goes_ahead(): it continues what GoAhead began, if that was about this step. The terms
  // are then the same, but for partitions without samples.
  bool ahead = false;
  // Optional. Called on the loop thread before `done`, from time to time, with the number of
  // samples of this call that are summed.
  Function<void(uint64_t samples)> progress;
  // Optional. Called on the loop thread before `done`, by trainers that know some values earlier
  // than others: this call will not change sum[begin, end) any more, and its tally will be `tally`.
  // Ranges do not overlap.
  Function<void(size_t begin, size_t end, const Tally& tally)> final;
};

class Trainer {
 public:
  struct Outcome {
    uint64_t samples = 0;  // Samples computed in this call.
    Duration compute{};    // Time on the device.
    Tally tally;           // Tally of the terms, with their (first) coefficients.
  };
  using Done = Function<void(Result<Outcome>), 2 * sizeof(void*)>;  // A task and what keeps it.

  virtual ~Trainer() = default;

  virtual size_t parameter_count() const = 0;
  // Adds the terms to work.sum on the device. Spans must stay valid until `done`, which runs
  // exactly once. Setting `cancel` from the loop thread makes it stop early with kCancelled. Loop
  // thread.
  virtual void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                          Done done) = 0;
  // True if calls should be large: the trainer cuts them itself, reports progress, and stops soon
  // when cancelled.
  virtual bool cuts_work() const { return false; }
  // True if a sum can stay on the device between calls (GradientWork::more).
  virtual bool keeps_sums() const { return false; }
  // True if work on the next step can begin before its parameters are known. The owner calls
  // GoAhead after `done` of the work before, whose terms the next step may have, too. `done` runs
  // exactly once, and may run inside the call: when nothing more can be done ahead, with kCancelled
  // when what was done is dropped, or when it fails. Accumulate with GradientWork::ahead continues
  // it, and without it drops it. All run on the loop thread.
  virtual bool goes_ahead() const { return false; }
  virtual void GoAhead(StepId /*step*/, std::span<const PartitionTerm> /*terms*/, Done done) {
    done(Outcome());
  }
  // Number of samples in `step`'s batch that the terms cover.
  virtual uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const = 0;
  // Measures speed in samples per second on synthetic samples of the job's shape; on a single
  // sample if that takes long. The result is finite and > 0 even if the loop's time stands still.
  // 0: speed is not known before there is work. Once `cancel` is set, the samples in progress are
  // the last, and `done` follows with any value.
  virtual void Calibrate(std::shared_ptr<const std::atomic<bool>> cancel,
                         std::function<void(Result<double>)> done) = 0;
  // Called on the loop thread before the first work on a partition, which belongs to this worker
  // from now on. `failed` runs on the loop thread, at most once, if the trainer cannot prepare it.
  virtual void Hold(PartitionId /*partition*/, std::function<void(Status)> /*failed*/) {}
  // Called on the loop thread when this worker's part in the job is over and all work is cancelled.
  // Drops what was begun ahead. What is held may be let go when the device has ended its work.
  virtual void LetGo() {}
};

// The partitions that a node holds, in memory or not. Loop thread. The trainer only reads blocks
// that are there while it computes on them.
using PartitionStore = std::map<PartitionId, std::shared_ptr<const DataSource>>;

// Called on the loop thread when one of several devices failed; the others go on.
using DeviceLost = std::function<void(const Device& device, const Status& why)>;

// A built-in model on one device. `model`, `device`, `loop` and `store` are borrowed. The model is
// used on the device's thread, in the order of the calls. kNotFound: a term's partition is not in
// the store. kInvalidArgument: the partition is not in the job, or its block has another size.
// Calibration uses samples like the store's first block; without one dense samples, or sparse ones
// above 16,384 features.
std::unique_ptr<Trainer> MakeModelTrainer(Loop& loop, Device& device, const Model& model,
                                          const PartitionStore& store, BatchSchedule schedule);

}  // namespace motley
