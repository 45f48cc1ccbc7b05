// SPDX-License-Identifier: Apache-2.0
// One of several joined devices fails, or is late for a while or for good; the others do its part.
#include <gmock/gmock.h>

#include "devices/watched_device.h"
#include "tests/training/shared_trainer_rig.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using LateDeviceTest = SharedTrainerTest;

// Samples that can be read until the test removes the disk.
class LostSource final : public DataSource {
 public:
  explicit LostSource(std::shared_ptr<const DataSource> inner) : inner_(std::move(inner)) {}
  DataShape shape() const override { return inner_->shape(); }
  Result<Dataset> Range(size_t begin, size_t end) const override {
    return inner_->Range(begin, end);
  }
  Result<Dataset> Gather(std::span<const uint32_t>) const override {
    return Status::Resource("the file of the samples cannot be read");
  }
  Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const override {
    return lost ? Gather(rows).status() : inner_->AppendTo(to, rows);
  }
  bool lost = true;

 private:
  const std::shared_ptr<const DataSource> inner_;
};

TEST_F(LateDeviceTest, WhatAFailedDeviceHadIsDoneByTheOthers) {
  for (const double after : {0.0, 100.0, 250.0}) {
    UnreliableDevice bad(rig_.loop, *rig_.device, 3);
    JoinedDevice joined(*rig_.device, {&bad, &slow_}, 1 << 20);
    const auto trainer = Shared(joined);
    Calibrated(*trainer);
    bad.FailAfter(after);
    for (const StepId step : {0, 1, 2}) {
      ExpectAsAlone(Accumulate(*trainer, step, all_), step, all_);
    }
    EXPECT_THAT(std::exchange(lost_, {}), ElementsAre(&bad));
  }
}

TEST_F(LateDeviceTest, ComplexWeightsSurviveALossToo) {
  const std::vector<PartitionTerm> terms = {{0, 3, {0.6, -0.8}, {}}, {3, 6, 2.0, {}}};
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  fast_.FailAfter(200);
  ExpectAsAlone(Accumulate(*trainer, 0, terms), 0, terms);
  EXPECT_THAT(lost_, ElementsAre(&fast_));
}

TEST_F(LateDeviceTest, TheLastDevicesFailureIsTheTrainers) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  fast_.FailAfter(100);
  slow_.FailAfter(200);
  const Call call = Accumulate(*trainer, 0, all_);
  EXPECT_EQ(call.outcome->code(), StatusCode::kUnavailable);
  EXPECT_THAT(call.outcome->status().ToString(), HasSubstr("fell off"));
  EXPECT_THAT(call.sum, testing::Each(0.5f));
  EXPECT_THAT(lost_, ElementsAre(&fast_));
  EXPECT_EQ(Accumulate(*trainer, 1, all_).outcome->code(), StatusCode::kUnavailable);
}

TEST_F(LateDeviceTest, ADeviceThatHangsHoldsUpNobodyAndIsLeftInTheEnd) {
  WatchedDevice watched(rig_.loop, fast_, {.least = std::chrono::seconds(5)});
  JoinedDevice joined(*rig_.device, {&slow_, &watched}, 1 << 20);
  const auto trainer = Shared(joined);
  Calibrated(*trainer);
  fast_.Hang();
  const Call call = Accumulate(*trainer, 0, all_);
  ExpectAsAlone(call, 0, all_);
  EXPECT_LT((*call.outcome)->compute, std::chrono::seconds(3)) << "the other did it meanwhile";
  EXPECT_THAT(lost_, ElementsAre(&watched));
  const Call next = Accumulate(*trainer, 1, all_);
  ExpectAsAlone(next, 1, all_);
  EXPECT_LT((*next.outcome)->compute, std::chrono::seconds(1));
}

// The device hangs without an error, and returns during a later gradient.
TEST_F(LateDeviceTest, WhatALateDeviceHadIsDoneByTheOthersAndItsAnswerCountsForNothing) {
  const std::vector<PartitionTerm> weighted = {{0, 3, {0.6, -0.8}, {}}, {3, 6, 2.0, {}}};
  for (const auto& terms : {all_, weighted}) {
    UnreliableDevice odd(rig_.loop, *rig_.device, 3);
    JoinedDevice joined(*rig_.device, {&slow_, &odd}, 1 << 20);
    const auto trainer = Shared(joined);
    Calibrated(*trainer);
    odd.Hang();
    for (const StepId step : {0, 1, 2}) {
      const Call call = Accumulate(*trainer, step, terms);
      ExpectAsAlone(call, step, terms);
      EXPECT_LT((*call.outcome)->compute, std::chrono::seconds(step == 0 ? 3 : 1));
    }
    Call call;
    Begin(*trainer, 3, terms, call);
    rig_.loop.After(std::chrono::milliseconds(100), [&] { odd.GoOn(); });
    odd.TakeUnits();
    RunAll();
    ExpectAsAlone(call, 3, terms);
    EXPECT_GT(odd.TakeUnits(), 0) << "it takes part again";
    ExpectAsAlone(Accumulate(*trainer, 4, terms), 4, terms);
    EXPECT_THAT(lost_, IsEmpty());
  }
}

// It begins anew: its late piece is neither in its sum nor in its loss.
TEST_F(LateDeviceTest, ALateDeviceThatIsBackWithinTheSameGradientCountsItsLatePieceOnce) {
  UnreliableDevice odd(rig_.loop, *rig_.device, 3);
  UnreliableDevice very_slow(rig_.loop, *rig_.device, 0.05);
  JoinedDevice joined(*rig_.device, {&very_slow, &odd}, 1 << 20);
  const auto trainer = Shared(joined);
  Calibrated(*trainer);
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  odd.Hang();
  Call call;
  Begin(*trainer, 1, all_, call);
  odd.TakeUnits();
  rig_.loop.After(std::chrono::seconds(3), [&] { odd.GoOn(); });
  RunAll();
  ExpectAsAlone(call, 1, all_);
  EXPECT_GT(odd.TakeUnits(), 0) << "it came back while there was work left";
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(LateDeviceTest, AllThatAreLateAreWaitedFor) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  fast_.Hang();
  ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
  slow_.Hang();
  Call call;
  Begin(*trainer, 1, all_, call);
  rig_.loop.After(std::chrono::minutes(1), [&] { fast_.GoOn(); });
  RunAll();
  ExpectAsAlone(call, 1, all_);
  EXPECT_GE((*call.outcome)->compute, std::chrono::minutes(1));
  slow_.GoOn();
  RunAll();
  ExpectAsAlone(Accumulate(*trainer, 2, all_), 2, all_);
  EXPECT_THAT(lost_, IsEmpty());
}

// When the other devices fail, the work waits until a piece of another gradient returns.
TEST_F(LateDeviceTest, WhoIsLateIsWaitedForWhenAllOthersFail) {
  for (const bool fails : {false, true}) {
    UnreliableDevice late(rig_.loop, *rig_.device, 3), failing(rig_.loop, *rig_.device, 1);
    JoinedDevice joined(*rig_.device, {&late, &failing}, 1 << 20);
    const auto trainer = Shared(joined);
    Calibrated(*trainer);
    late.Hang();
    ExpectAsAlone(Accumulate(*trainer, 0, all_), 0, all_);
    failing.FailAfter(100);
    Call call;
    Begin(*trainer, 1, all_, call);
    RunAll();
    EXPECT_FALSE(call.outcome.has_value());
    EXPECT_THAT(lost_, ElementsAre(&failing));
    if (fails) late.FailAfter(0);
    late.GoOn();
    RunAll();
    ASSERT_TRUE(call.outcome.has_value()) << "it is forgotten";
    if (!fails) ExpectAsAlone(call, 1, all_);
    EXPECT_EQ(Accumulate(*trainer, 2, all_).outcome->ok(), !fails);
    lost_.clear();
  }
}

TEST_F(LateDeviceTest, CancelledWorkEndsWithoutADeviceThatHangs) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  fast_.Hang();
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  Call call;
  Begin(*trainer, 0, all_, call, cancel);
  rig_.loop.After(std::chrono::milliseconds(30), [&] { *cancel = true; });
  RunAll();
  EXPECT_EQ(call.outcome->code(), StatusCode::kCancelled);
  fast_.GoOn();
  RunAll();
  ExpectAsAlone(Accumulate(*trainer, 1, all_), 1, all_);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(LateDeviceTest, ADeviceThatFailsWhenNobodyWantsItsWorkIsLostAllTheSame) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  fast_.FailAfter(0);
  Call call;
  Begin(*trainer, 0, all_, call, cancel);
  rig_.loop.RunOne();  // Its work is on the device.
  *cancel = true;
  RunAll();
  EXPECT_EQ(call.outcome->code(), StatusCode::kCancelled);
  EXPECT_THAT(lost_, ElementsAre(&fast_));
}

TEST_F(LateDeviceTest, SamplesThatCannotBeReadTakeNoDeviceAway) {
  const auto trainer = Shared(two_);
  Calibrated(*trainer);
  const auto source = std::make_shared<LostSource>(store_[3]);
  store_[3] = source;
  const Call call = Accumulate(*trainer, 0, all_);
  EXPECT_EQ(call.outcome->code(), StatusCode::kResource);
  EXPECT_THAT(call.outcome->status().ToString(), HasSubstr("cannot be read"));
  EXPECT_THAT(call.sum, testing::Each(0.5f));
  EXPECT_THAT(lost_, IsEmpty());
  source->lost = false;
  ExpectAsAlone(Accumulate(*trainer, 1, all_), 1, all_);
}

}  // namespace
}  // namespace motley
