// SPDX-License-Identifier: Apache-2.0
// Joined devices that are slow, fail and hang on request, and a job for them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coding/decode/part_sums.h"
#include "devices/joined_device.h"
#include "devices/paced_device.h"
#include "tests/training/test_data.h"
#include "training/trainers/shared_trainer.h"

namespace motley {

inline constexpr Duration kSample = std::chrono::milliseconds(1);  // Time of a sample at speed 1.

// A device of some speed that counts its work, and fails or hangs on request.
class UnreliableDevice final : public ForwardingDevice<PacedDevice> {
 public:
  UnreliableDevice(Loop& loop, Device& host, double speed)
      : ForwardingDevice(host), paced_(MakePacedDevice(loop, host, {kSample, speed})) {}

  void SetSpeed(double speed) override { paced_->SetSpeed(speed); }
  void Submit(double units, Work work, Done done) override {
    if (hangs_ || (left_ && *left_ < units)) {
      if (hangs_) return held_.push_back({units, std::move(work), std::move(done)});
      return paced_->Submit(
          units, [] { return Status::Unavailable("it fell off the bus"); }, std::move(done));
    }
    if (left_) *left_ -= units;
    units_ += units;
    paced_->Submit(units, std::move(work), std::move(done));
  }

  double TakeUnits() { return std::exchange(units_, 0); }
  void FailAfter(double units) { left_ = units; }
  void Hang() { hangs_ = true; }
  void GoOn() {
    hangs_ = false;
    for (Held& held : std::exchange(held_, {})) {
      if (left_ && *left_ < held.units)
        held.work = [] { return Status::Unavailable("it is dead"); };
      paced_->Submit(held.units, std::move(held.work), std::move(held.done));
    }
  }

 private:
  const std::unique_ptr<PacedDevice> paced_;
  double units_ = 0;
  std::optional<double> left_;
  bool hangs_ = false;
  struct Held {
    double units;
    Work work;
    Done done;
  };
  std::vector<Held> held_;
};

// A job of 6 partitions on a worker with devices of speeds 1, 3 and 0.01.
class SharedTrainerTest : public testing::Test {
 protected:
  static constexpr uint32_t kBatch = 640;

  SharedTrainerTest() : data_(MakeSamples(6, 3, false, 1283, 2)) {
    uint32_t start = 0;
    for (PartitionId p = 0; p < sizes_.size(); ++p) {
      store_[p] = std::make_shared<MemorySource>(Select(data_, Iota(start, start + sizes_[p])));
      start += sizes_[p];
    }
    Random random(4, Stream::kTest);
    for (float& value : parameters_) value = static_cast<float>(0.3 * random.Normal());
  }

  std::unique_ptr<Trainer> Shared(Device& joined) {
    return MakeSharedTrainer(rig_.loop, joined, *model_, store_, schedule_,
                             [this](const Device& device, const Status& why) {
                               lost_.push_back(&device);
                               EXPECT_FALSE(why.ok());
                             });
  }

  struct Call {
    std::optional<Result<Trainer::Outcome>> outcome;
    std::vector<float> sum;
    std::vector<uint64_t> progress;
  };
  void Begin(Trainer& trainer, StepId step, const std::vector<PartitionTerm>& terms, Call& call,
             std::shared_ptr<std::atomic<bool>> cancel = nullptr) {
    const auto parts = static_cast<uint32_t>(1 + terms.front().other_parts.size());
    const size_t length = VectorLength(model_->parameter_count());
    call.sum.assign(PartLength(Field::kComplexPacked, length, parts), 0.5f);
    GradientWork work{.step = step,
                      .version = step,
                      .parameters = parameters_,
                      .terms = terms,
                      .sum = call.sum,
                      .parts = parts,
                      .progress = [&call](uint64_t s) { call.progress.push_back(s); }};
    trainer.Accumulate(std::move(work), std::move(cancel),
                       [&call](Result<Trainer::Outcome> result) {
                         EXPECT_FALSE(call.outcome.has_value()) << "done ran twice";
                         call.outcome = std::move(result);
                       });
    EXPECT_FALSE(call.outcome.has_value()) << "done ran inside the call";
  }
  void RunAll() {
    rig_.loop.RunUntil([] { return false; });
  }
  Call Accumulate(Trainer& trainer, StepId step, const std::vector<PartitionTerm>& terms) {
    Call call;
    Begin(trainer, step, terms, call);
    RunAll();
    return call;
  }
  // The sum equals one device's, to rounding, and has all its samples.
  void ExpectAsAlone(const Call& call, StepId step, const std::vector<PartitionTerm>& terms) {
    const auto alone = MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_);
    const Call want = Accumulate(*alone, step, terms);
    ASSERT_TRUE(call.outcome->ok()) << call.outcome->status().ToString();
    EXPECT_EQ((*call.outcome)->samples, alone->Samples(step, terms));
    const Tally& tally = (*call.outcome)->tally;
    const Tally& wanted = (*want.outcome)->tally;
    EXPECT_LE(std::abs(tally.loss - wanted.loss), 1e-5 * std::abs(wanted.loss));
    EXPECT_LE(std::abs(tally.weight - wanted.weight), 1e-12 * std::abs(wanted.weight));
    ASSERT_EQ(call.sum.size(), want.sum.size());
    for (size_t i = 0; i < want.sum.size(); ++i) {
      ASSERT_NEAR(call.sum[i], want.sum[i], 2e-5 * (1 + std::abs(want.sum[i]))) << "at " << i;
    }
  }
  double Calibrated(Trainer& trainer) {
    std::optional<Result<double>> speed;
    trainer.Calibrate(nullptr, [&](const Result<double>& result) { speed = result; });
    RunAll();
    return speed->ok() ? **speed : 0;
  }

  const std::vector<PartitionTerm> all_ = {{0, 6, 1.0, {}}};
  TestRig rig_;
  Dataset data_;
  std::vector<uint32_t> sizes_ = {300, 200, 0, 500, 283, 0};
  BatchSchedule schedule_{7, sizes_, kBatch};
  PartitionStore store_;
  std::unique_ptr<Model> model_ = MakeModel({"mlp:5", 6, 3});
  std::vector<float> parameters_ = std::vector<float>(model_->parameter_count());
  UnreliableDevice slow_{rig_.loop, *rig_.device, 1};
  UnreliableDevice fast_{rig_.loop, *rig_.device, 3};
  UnreliableDevice useless_{rig_.loop, *rig_.device, 0.01};
  JoinedDevice two_{*rig_.device, {&slow_, &fast_}, 1 << 20};
  std::vector<const Device*> lost_;
};

}  // namespace motley
