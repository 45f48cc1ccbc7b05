// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/shared_trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "coding/decode/part_sums.h"
#include "devices/cpu/cpu_device.h"
#include "devices/drivers/driver_modules.h"
#include "devices/joined_device.h"
#include "tests/devices/mock_driver.h"
#include "tests/devices/thread_loop.h"
#include "tests/training/shared_trainer_rig.h"
#include "tests/training/test_data.h"
#include "training/trainers/term_work.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SharedTrainerTest, MakesTheSumOfOneDeviceWhateverTheWeights) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  const std::vector<std::vector<PartitionTerm>> rows = {
      all_,
      {{0, 1, 0.5, {}}, {1, 4, -2.0, {}}, {4, 6, 3.0, {}}},
      {{0, 2, {0.6, -0.8}, {}}, {2, 4, {0, 1}, {}}, {4, 6, 2.0, {}}},
      {{0, 3, {1, 2}, {{0.5, 0}, {0, -1}}}, {3, 6, 1.0, {{-2, 0.25}, {3, 0}}}}};
  for (const auto& terms : rows) {
    for (const StepId step : {0, 1, 2}) {
      ExpectAsAlone(Accumulate(*trainer, step, terms), step, terms);
    }
  }
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(SharedTrainerTest, SharesFollowTheSpeedsThatAreSeen) {
  const auto trainer = Shared(two_);
  EXPECT_NEAR(Calibrated(*trainer), 4000, 40);
  const auto part_of_slow = [&](StepId step) {
    slow_.TakeUnits();
    fast_.TakeUnits();
    const Call call = Accumulate(*trainer, step, all_);
    ExpectAsAlone(call, step, all_);
    const double units = slow_.TakeUnits();
    return units / (units + fast_.TakeUnits());
  };
  EXPECT_NEAR(part_of_slow(0), 0.25, 0.05);
  slow_.SetSpeed(9);
  for (StepId step = 2; step < 30; step += 2) part_of_slow(step);
  EXPECT_NEAR(part_of_slow(30), 0.75, 0.08);
}

// The time is as if one device had both speeds.
TEST_F(SharedTrainerTest, DevicesAreDoneTogether) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  const Call call = Accumulate(*trainer, 0, all_);
  const double ideal = kBatch * ToSeconds(kSample) / 4;
  EXPECT_LT(ToSeconds((*call.outcome)->compute), 1.15 * ideal);
  EXPECT_THAT(call.progress, testing::SizeIs(testing::Ge(6u)));
  EXPECT_TRUE(std::is_sorted(call.progress.begin(), call.progress.end()));
}

TEST_F(SharedTrainerTest, WhoIsTooSlowToHelpIsAskedNowAndThen) {
  JoinedDevice joined(*rig_.device, {&useless_, &fast_}, 1 << 20);
  const auto trainer = Shared(joined);
  Calibrated(*trainer);
  useless_.TakeUnits();
  double units = 0;
  for (StepId step = 0; step < 60; step += 2) {
    Accumulate(*trainer, step, all_);
    units += useless_.TakeUnits();
  }
  EXPECT_EQ(units, 0);
  useless_.SetSpeed(3);
  for (StepId step = 0; step < 2000; step += 2) Accumulate(*trainer, step, all_);
  useless_.TakeUnits();
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  EXPECT_NEAR(useless_.TakeUnits(), kBatch / 2, kBatch / 10);
}

TEST_F(SharedTrainerTest, EqualCutsAreEqualBits) {
  std::vector<std::vector<float>> sums;
  for (int i = 0; i < 2; ++i) {
    const auto trainer = Shared(two_);
    Calibrated(*trainer);
    sums.push_back(Accumulate(*trainer, 3, all_).sum);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST_F(SharedTrainerTest, ADeviceThatCannotBeMeasuredIsLeftOut) {
  const auto trainer = Shared(two_);
  fast_.FailAfter(0);
  EXPECT_NEAR(Calibrated(*trainer), 1000, 10);
  EXPECT_THAT(lost_, ElementsAre(&fast_));
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  slow_.FailAfter(0);
  EXPECT_EQ(Calibrated(*trainer), 0);
}

TEST_F(SharedTrainerTest, ADeviceThatIsLongInGettingReadyJoinsLater) {
  UnreliableDevice late(rig_.loop, *rig_.device, 3e-4);  // It takes a minute for the first piece.
  JoinedDevice joined(*rig_.device, {&slow_, &late}, 1 << 20);
  const auto trainer = Shared(joined);
  std::optional<double> speed;
  trainer->Calibrate(nullptr, [&](const Result<double>& result) {
    EXPECT_FALSE(speed.has_value());
    speed = *result;
  });
  rig_.loop.RunUntil([&] { return speed.has_value(); });
  EXPECT_NEAR(*speed, 1000, 10);
  late.SetSpeed(3);
  late.TakeUnits();
  Call call;
  Begin(*trainer, 0, all_, call);
  rig_.loop.RunUntil([&] { return call.outcome.has_value(); });
  ExpectAsAlone(call, 0, all_);
  RunAll();
  late.TakeUnits();
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  EXPECT_NEAR(late.TakeUnits(), 0.75 * kBatch, 0.1 * kBatch);
}

TEST_F(SharedTrainerTest, WhenNobodyElseIsLeftWorkWaitsForWhoIsBeingMeasured) {
  UnreliableDevice late(rig_.loop, *rig_.device, 3e-4);
  JoinedDevice joined(*rig_.device, {&slow_, &late}, 1 << 20);
  const auto trainer = Shared(joined);
  bool measured = false;
  trainer->Calibrate(nullptr, [&](const Result<double>&) { measured = true; });
  rig_.loop.RunUntil([&] { return measured; });
  late.SetSpeed(3);
  slow_.FailAfter(100);
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  EXPECT_THAT(lost_, ElementsAre(&slow_));
}

TEST_F(SharedTrainerTest, CancelledWorkSoonEndsAndTheNextBeginsAfterIt) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  Call first, second, third;
  Begin(*trainer, 0, all_, first, cancel);
  Begin(*trainer, 1, all_, second);
  Begin(*trainer, 2, all_, third);
  rig_.loop.After(std::chrono::milliseconds(30), [&] { *cancel = true; });
  rig_.loop.RunUntil([&] { return first.outcome.has_value(); });
  EXPECT_EQ(first.outcome->code(), StatusCode::kCancelled);
  EXPECT_LT(rig_.loop.Now() - Time(), std::chrono::seconds(60));
  EXPECT_FALSE(second.outcome.has_value());
  RunAll();
  ExpectAsAlone(second, 1, all_);
  ExpectAsAlone(third, 2, all_);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(SharedTrainerTest, NothingIsLeftBehindWhenAllGoesInTheMiddle) {
  const auto kept = std::make_shared<int>(1);
  std::vector<float> sum(VectorLength(model_->parameter_count()));
  for (const int tasks : {0, 1, 4}) {
    TestRig rig;
    UnreliableDevice one(rig.loop, *rig.device, 1), other(rig.loop, *rig.device, 3);
    JoinedDevice joined(*rig.device, {&one, &other}, 1 << 20);
    // As in a worker, work that waits for `done` keeps the trainer alive.
    const std::shared_ptr<Trainer> trainer =
        MakeSharedTrainer(rig.loop, joined, *model_, store_, schedule_, nullptr);
    for (int i = 0; i < 3; ++i) {
      trainer->Accumulate(
          {.parameters = parameters_, .terms = all_, .sum = sum}, nullptr,
          [keep = std::make_shared<std::pair<std::shared_ptr<int>, std::shared_ptr<Trainer>>>(
               kept, trainer)](const auto&) { FAIL() << "nobody is left"; });
    }
    for (int i = 0; i < tasks; ++i) rig.loop.RunOne();
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(SharedTrainerTest, WrongWorkIsRefusedAsByOneDevice) {
  const auto trainer = Shared(two_);
  EXPECT_EQ(Accumulate(*trainer, 0, {{0, 7, 1.0, {}}}).outcome->code(),
            StatusCode::kInvalidArgument);
  store_.erase(3);
  EXPECT_EQ(Accumulate(*trainer, 0, all_).outcome->code(), StatusCode::kNotFound);
  const Call none = Accumulate(*trainer, 0, {{2, 3, 1.0, {}}});
  EXPECT_EQ((*none.outcome)->samples, 0u);
  EXPECT_THAT(none.sum, testing::Each(0.5f));
}

// Devices with threads and memory of their own.
class SharedByThreads : public SharedTrainerTest {
 protected:
  SharedByThreads() {
    MockDriver::Get().Reset();
    mock_ = MockDriver::Make(loop_).value();
    cpu_ =
        MakeCpuDevice(loop_, {.threads = 2, .kernels = "baseline", .plain_threads = true}).value();
    joined_.emplace(*cpu_, std::vector<Device*>{cpu_.get(), mock_.get()}, 1 << 20);
    trainer_ = MakeSharedTrainer(
        loop_, *joined_, *model_, store_, schedule_,
        [this](const Device& device, const Status&) { lost_.push_back(&device); });
  }
  Call Run(StepId step) {
    Call call;
    Begin(*trainer_, step, all_, call);
    loop_.RunPostedUntil([&] { return call.outcome.has_value(); });
    return call;
  }

  ThreadLoop loop_;
  std::unique_ptr<Device> mock_, cpu_;
  std::optional<JoinedDevice> joined_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(SharedByThreads, ParametersGoToADeviceOncePerVersionAndNothingIsAllocatedAnew) {
  ExpectAsAlone(Run(0), 0, all_);
  MockDriver& mock = MockDriver::Get();
  const uint64_t samples_bytes = data_.size_bytes();
  const size_t parameter_bytes = parameters_.size() * sizeof(float);
  for (const StepId step : {1, 2, 3}) Run(step);
  const uint64_t allocations = mock.allocations;
  for (const StepId step : {4, 5, 6, 7}) {
    const uint64_t before = mock.copied_in_bytes;
    ExpectAsAlone(Run(step), step, all_);
    // Copies are samples, losses and the parameters.
    EXPECT_LT(mock.copied_in_bytes - before, samples_bytes + 2 * parameter_bytes + 16 * 512);
  }
  EXPECT_EQ(mock.allocations, allocations);
}

// Rows are cut into pieces, whose sum stays on the device until the last one.
TEST_F(SharedByThreads, OneDeviceAloneIsAskedForItsSumOnce) {
  trainer_ = MakeSharedTrainer(loop_, *mock_, *model_, store_, schedule_, nullptr);
  ExpectAsAlone(Run(0), 0, all_);
  MockDriver& mock = MockDriver::Get();
  const uint64_t before = mock.copied_out_bytes;
  const Call call = Run(1);
  ExpectAsAlone(call, 1, all_);
  EXPECT_GE(call.progress.size(), 3u);
  const size_t parameter_bytes = parameters_.size() * sizeof(float);
  EXPECT_LT(mock.copied_out_bytes - before, parameter_bytes + 2 * 512);
  mock.fails = MOTLEY_DRIVER_NO_MEMORY;
  EXPECT_EQ(Run(2).outcome->code(), StatusCode::kResource);
}

TEST_F(SharedByThreads, OneDeviceKeepsASumBetweenCalls) {
  trainer_ = MakeSharedTrainer(loop_, *mock_, *model_, store_, schedule_, nullptr);
  ASSERT_TRUE(trainer_->keeps_sums());
  ExpectAsAlone(Run(0), 0, all_);
  std::vector<float> sum(VectorLength(parameters_.size()), 0.5f);
  std::optional<Result<Trainer::Outcome>> outcome;
  const auto add = [&](const std::vector<PartitionTerm>& terms, bool more, bool continues) {
    outcome.reset();
    trainer_->Accumulate({.step = 1,
                          .version = 1,
                          .parameters = parameters_,
                          .terms = terms,
                          .sum = sum,
                          .more = more,
                          .continues = continues},
                         nullptr, [&](Result<Trainer::Outcome> result) { outcome = result; });
    loop_.RunPostedUntil([&] { return outcome.has_value(); });
    return outcome->status();
  };
  const uint64_t before = MockDriver::Get().copied_out_bytes;
  ASSERT_TRUE(add({{0, 2, 1.0, {}}}, true, false).ok());
  EXPECT_EQ((*outcome)->tally, Tally());
  ASSERT_TRUE(add({{2, 6, 1.0, {}}}, true, true).ok());
  EXPECT_THAT(sum, testing::Each(0.5f));
  ASSERT_TRUE(add({}, false, true).ok());
  EXPECT_LT(MockDriver::Get().copied_out_bytes - before,
            parameters_.size() * sizeof(float) + 2 * 512);
  Call call{.outcome = outcome, .sum = sum};
  (*call.outcome)->samples = kBatch;  // The samples of all calls.
  ExpectAsAlone(call, 1, all_);
  // Another sum takes its place.
  ASSERT_TRUE(add({{0, 2, 1.0, {}}}, true, false).ok());
  ExpectAsAlone(Run(2), 2, all_);
  EXPECT_EQ(add({{2, 6, 1.0, {}}}, false, true).code(), StatusCode::kInternal);
}

// Also for a complex code, if the model takes its coefficients as weights.
TEST_F(SharedByThreads, OneDeviceIsAskedOnceForARowOfManyCoefficients) {
  trainer_.reset();
  model_ = MakeModel({"mlp:4", 6, 4});
  parameters_.assign(model_->parameter_count(), 0.01f);
  data_ = MakeSamples(6, 4, false, 1283, 2);
  uint32_t start = 0;
  for (PartitionId p = 0; p < sizes_.size(); ++p) {
    store_[p] = std::make_shared<MemorySource>(Select(data_, Iota(start, start + sizes_[p])));
    start += sizes_[p];
  }
  trainer_ = MakeSharedTrainer(loop_, *mock_, *model_, store_, schedule_, nullptr);
  const std::vector<PartitionTerm> row = {
      {0, 1, {0.6, -0.8}, {}}, {1, 4, {0, 1}, {}}, {4, 6, {-1, 0.25}, {}}};
  const auto run = [&](StepId step) {
    Call call;
    Begin(*trainer_, step, row, call);
    loop_.RunPostedUntil([&] { return call.outcome.has_value(); });
    ExpectAsAlone(call, step, row);
  };
  run(0);
  const uint64_t before = MockDriver::Get().copied_out_bytes;
  run(1);
  EXPECT_LT(MockDriver::Get().copied_out_bytes - before,
            parameters_.size() * sizeof(float) + 2 * 512);
}

// 1,024 rows would need 16 MB.
TEST_F(SharedByThreads, BatchesAreAsSmallAsADevicesMemoryNeeds) {
  trainer_.reset();
  model_ = MakeModel({"softmax", 4000, 3});
  parameters_.assign(model_->parameter_count(), 0.01f);
  data_ = MakeSamples(4000, 3, false, 1283, 2);
  uint32_t start = 0;
  for (PartitionId p = 0; p < sizes_.size(); ++p) {
    store_[p] = std::make_shared<MemorySource>(Select(data_, Iota(start, start + sizes_[p])));
    start += sizes_[p];
  }
  MockDriver::Get().memory_bytes = 2 << 20;
  const auto small = MockDriver::Make(loop_).value();
  EXPECT_LT(GatheredRows(*small, *model_), 128u);
  trainer_ = MakeSharedTrainer(loop_, *small, *model_, store_, schedule_, nullptr);
  ExpectAsAlone(Run(0), 0, all_);
  trainer_.reset();
}

TEST_F(SharedByThreads, ADeviceThatFallsOffIsDoneWithout) {
  ExpectAsAlone(Run(0), 0, all_);
  MockDriver::Get().fails = MOTLEY_DRIVER_LOST;
  ExpectAsAlone(Run(1), 1, all_);
  EXPECT_THAT(lost_, ElementsAre(mock_.get()));
  ExpectAsAlone(Run(2), 2, all_);
}

}  // namespace
}  // namespace motley
