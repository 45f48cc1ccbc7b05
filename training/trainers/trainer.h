// SPDX-License-Identifier: Apache-2.0
// The seam to whatever computes gradients: a built-in model here, callbacks in callback_trainer.h.
// A vector that travels is the gradient, padded with a zero to an even length. Loss and weight of
// its samples travel beside it (base/tally.h).
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

// coefficient * sum of g_p over partitions [begin, end). With other_parts, vectors are cut into
// 1 + other_parts.size() parts (coding/decode/part_sums.h): `coefficient` is the first one's, and
// what comes out is as long as a part.
struct PartitionTerm {
  PartitionId begin = 0;
  PartitionId end = 0;
  std::complex<double> coefficient;
  std::vector<std::complex<double>> other_parts;
};

struct GradientWork {
  StepId step = 0;
  uint64_t version = 0;               // Of the parameters: the same number means the same values.
  std::span<const float> parameters;  // parameter_count floats
  std::span<const PartitionTerm> terms;
  // Added to. VectorLength floats, or one part's. Complex coefficients act on pairs.
  std::span<float> sum;
  uint32_t parts = 1;  // Of all terms.
  // Of a trainer that keeps_sums(). More calls follow into the same sum: what this one adds may
  // stay on the device. The last call brings all of it into `sum`, with the tally of all, and may
  // have no terms. Every sum that begins meanwhile makes those calls fail (kInternal).
  bool more = false;
  bool continues = false;  // The call before had `more`.
  // Optional. Loop thread, before `done`, now and then: so many samples of this call are summed.
  Function<void(uint64_t samples)> progress;
  // Optional. Loop thread, before `done`, for a trainer that knows of some values sooner than of
  // all: this call will not change sum[begin, end) any more, and its tally will be this. Ranges do
  // not overlap.
  Function<void(size_t begin, size_t end, const Tally& tally)> final;
};

class Trainer {
 public:
  struct Outcome {
    uint64_t samples = 0;  // Computed in this call.
    Duration compute{};    // Time they took on the device.
    Tally tally;           // Of the terms, with their (first) coefficients.
  };
  using Done = Function<void(Result<Outcome>), 2 * sizeof(void*)>;  // A task and what keeps it.

  virtual ~Trainer() = default;

  virtual size_t parameter_count() const = 0;
  // Loop thread. Adds the terms to work.sum, on the device; spans stay valid until `done`, which
  // runs exactly once on the loop thread. `cancel` (shared, may be set from the loop thread) makes
  // it stop early with kCancelled.
  virtual void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                          Done done) = 0;
  // Whether calls had better be large: it cuts them itself, tells its progress, and soon stops when
  // one is cancelled.
  virtual bool cuts_work() const { return false; }
  // Whether a sum can stay on the device between calls (GradientWork::more).
  virtual bool keeps_sums() const { return false; }
  // How many samples of `step`'s batch the terms cover.
  virtual uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const = 0;
  // Measures speed on made-up samples of the job's shape, on one sample where that takes long:
  // samples per second; finite and > 0 even where the loop's time stands still. 0: cannot be known
  // before there is work. Once `cancel` is set no more samples are computed than those at hand, and
  // `done` comes behind them, with anything.
  virtual void Calibrate(std::shared_ptr<const std::atomic<bool>> cancel,
                         std::function<void(Result<double>)> done) = 0;
  // Loop thread, before the first work on a partition: it is this worker's from now on. `failed`
  // runs on the loop thread, at most once, when it could not be got ready.
  virtual void Hold(PartitionId /*partition*/, std::function<void(Status)> /*failed*/) {}
};

// The partitions that a node holds, in memory or not. Loop thread; the trainer only reads blocks
// that are there while it computes on them.
using PartitionStore = std::map<PartitionId, std::shared_ptr<const DataSource>>;

// Told (loop thread) of a device of several that failed; the others go on.
using DeviceLost = std::function<void(const Device& device, const Status& why)>;

// A built-in model on one device. `model`, `device`, `loop`, `store` are borrowed; the model is
// used on the device's thread, in the order of the calls. A term over a partition that is not in
// the store is kNotFound, over one outside the job or with a block of another size
// kInvalidArgument. Calibration takes samples like the store's first block; without one, dense
// samples, or sparse ones above 16,384 features.
std::unique_ptr<Trainer> MakeModelTrainer(Loop& loop, Device& device, const Model& model,
                                          const PartitionStore& store, BatchSchedule schedule);

}  // namespace motley
