// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/calibration.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/random.h"
#include "training/models/model_session.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 32;
constexpr size_t kMostSamples = 1 << 14;
constexpr size_t kGrowth = 8;
constexpr Duration kLongEnough = std::chrono::milliseconds(10);
// One sample says little about a device that is good at many. If a sample takes no longer than
// this, a block is tried.
constexpr Duration kShortSample = std::chrono::milliseconds(50);
// After a run of this length there is no second one, which might last beyond the job's start.
constexpr Duration kLongRun = std::chrono::seconds(5);
// Number of long enough runs, as long as they take no more than this time together.
constexpr int kRuns = 3;
constexpr Duration kLongEnoughForAll = std::chrono::milliseconds(100);
// Reported where no time passes, as on an unpaced device in virtual time.
constexpr double kInstantSpeed = 1e12;

// Assumptions before any sample is there.
constexpr uint32_t kMostDenseFeatures = 1 << 14;
constexpr size_t kUsualEntries = 14;
constexpr uint64_t kExampleRows = 256;  // Synthetic samples follow this many real ones.

// All weights of the model. To draw them would take longer than the runs of a large one.
constexpr float kWeight = 0.001F;

// One calibration in progress; the next callback owns it.
struct Calibration : std::enable_shared_from_this<Calibration> {
  Calibration(Loop& the_loop, Device& the_device) : loop(the_loop), device(the_device) {}

  void Run(size_t count) {
    const Time start = loop.Now();
    auto self = shared_from_this();
    device.Submit(
        static_cast<double>(count), [self, count] { return self->compute(count); },
        [self, count, start](const Status& status) { self->Finish(status, count, start); });
  }

  // Times of fewer samples are not comparable.
  void Grow(size_t count) {
    runs = 0;
    fastest = Duration::max();
    spent = {};
    Run(count);
  }

  void Finish(const Status& status, size_t count, Time start) {
    if (!status.ok()) return done(status);
    const Duration taken = loop.Now() - start;
    const bool wanted = cancelled == nullptr || !*cancelled;
    if (wanted && count == 1 && taken < kShortSample) return Grow(kBlockRows);
    if (wanted && taken < kLongEnough && count < kMostSamples) return Grow(count * kGrowth);
    fastest = std::min(fastest, taken);
    spent += taken;
    ++runs;
    // The first run may include compiling kernels.
    const bool more = runs < 2 ? taken < kLongRun : runs < kRuns && spent < kLongEnoughForAll;
    if (wanted && more) return Run(count);
    const double seconds = ToSeconds(fastest);
    const double speed = seconds > 0 ? static_cast<double>(count) / seconds : kInstantSpeed;
    done(std::min(speed, kInstantSpeed));
  }

  Loop& loop;
  Device& device;
  std::function<Status(size_t)> compute;
  Cancelled cancelled;
  std::function<void(Result<double>)> done;
  // Number of long enough runs.
  int runs = 0;
  Duration fastest = Duration::max();
  Duration spent{};
};

// Runs of a model on synthetic samples.
struct ModelRuns {
  ModelRuns(Device& device, const Model& the_model, Dataset the_samples, Cancelled the_cancelled)
      : model(the_model),
        session(device, the_model),
        samples(std::move(the_samples)),
        cancelled(std::move(the_cancelled)) {}

  // Filling long vectors takes seconds on a busy machine. After the limit, the worker needs their
  // memory for its work. False: nobody waits for the speed any more.
  bool Fill(std::vector<float>& vector, float value) const {
    constexpr size_t kPiece = size_t{1} << 20;
    const size_t length = model.parameter_count();
    vector.reserve(length);
    while (vector.size() < length) {
      if (cancelled != nullptr && *cancelled) return false;
      vector.resize(std::min(length, vector.size() + kPiece), value);
    }
    return true;
  }

  // Gathers before computing, as training does.
  Status Compute(size_t count) {
    if (!Fill(parameters, kWeight) || !Fill(gradient, 0)) return Status::Ok();
    std::vector<uint32_t> rows(std::min(count, samples.rows()));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(rows.size() - 1 - i);
    MOTLEY_RETURN_IF_ERROR(session.Begin(parameters, 0, gradient));
    for (size_t taken = 0; taken < count; taken += rows.size()) {
      const Dataset batch = Select(samples, rows);
      MOTLEY_RETURN_IF_ERROR(session.Add(batch, 1));
    }
    double loss = 0;
    return session.Finish(loss);
  }

  const Model& model;
  ModelSession session;
  const Dataset samples;
  const Cancelled cancelled;
  std::vector<float> parameters;
  std::vector<float> gradient;
};

}  // namespace

Dataset MakeUpSamples(const ModelSpec& spec, bool sparse, uint32_t entries, Storage storage) {
  Dataset data;
  data.features = spec.features;
  data.classes = spec.classes;
  data.sparse = sparse;
  Random random(1, Stream::kShuffle);
  const uint32_t per_row = sparse ? std::clamp<uint32_t>(entries, 1, spec.features) : 0;
  for (size_t row = 0; row < kBlockRows; ++row) {
    // One entry in each of `per_row` equal ranges of columns is ascending without sorting.
    for (uint64_t i = 0; i < per_row; ++i) {
      const uint64_t begin = i * spec.features / per_row;
      const uint64_t end = (i + 1) * spec.features / per_row;
      data.column.push_back(static_cast<uint32_t>(begin + random.Below(end - begin)));
      data.value.push_back(1.0f);
    }
    if (sparse) data.row_begin.push_back(data.column.size());
    data.label.push_back(static_cast<float>(spec.classes == 0 ? 1 : row % spec.classes));
  }
  if (!sparse) {
    data.dense.resize(kBlockRows * spec.features);
    // Any ordinary values will do.
    for (float& value : data.dense) {
      value = static_cast<float>(random.Next32()) * 0x1.0p-32f + 0.25f;
    }
    MOTLEY_ASSERT(Narrow(data, storage).ok());
  }
  return data;
}

Result<Dataset> UsualSamples(const ModelSpec& spec, const PartitionStore& store) {
  bool sparse = spec.features > kMostDenseFeatures;
  size_t entries = kUsualEntries;
  Storage storage = Storage::kFloat32;
  if (!store.empty()) {
    const DataSource& block = *store.begin()->second;
    MOTLEY_ASSIGN_OR_RETURN(const Dataset example,
                            block.Range(0, std::min(kExampleRows, block.shape().rows)));
    sparse = example.sparse;
    storage = example.storage;
    if (example.rows() > 0) entries = example.column.size() / example.rows();
  }
  return MakeUpSamples(spec, sparse, static_cast<uint32_t>(entries), storage);
}

void CalibrateDevice(Loop& loop, Device& device, std::function<Status(size_t)> compute,
                     Cancelled cancelled, std::function<void(Result<double>)> done) {
  auto calibration = std::make_shared<Calibration>(loop, device);
  calibration->compute = std::move(compute);
  calibration->cancelled = std::move(cancelled);
  calibration->done = std::move(done);
  calibration->Run(1);
}

void CalibrateModel(Loop& loop, Device& device, const Model& model, Dataset samples,
                    Cancelled cancelled, std::function<void(Result<double>)> done) {
  auto runs = std::make_shared<ModelRuns>(device, model, std::move(samples), cancelled);
  CalibrateDevice(
      loop, device, [runs = std::move(runs)](size_t count) { return runs->Compute(count); },
      std::move(cancelled), std::move(done));
}

}  // namespace motley
