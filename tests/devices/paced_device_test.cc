// SPDX-License-Identifier: Apache-2.0
#include "devices/paced_device.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/loop/virtual_loop.h"

namespace motley {
namespace {

constexpr Duration kUnit = std::chrono::milliseconds(1);

// A paced device on virtual time that records when each work ran and each Done came.
class PacedDeviceTest : public ::testing::Test {
 protected:
  void Make(Pace pace, std::function<double()> vary = nullptr) {
    inner_ = MakeInlineDevice(loop_).value();
    device_ = MakePacedDevice(loop_, *inner_, pace, std::move(vary));
  }
  void Submit(double units) {
    device_->Submit(
        units,
        [this] {
          ran_.push_back(loop_.Now().time_since_epoch() / kUnit);
          return Status::Ok();
        },
        [this](Status) { done_.push_back(loop_.Now().time_since_epoch() / kUnit); });
  }
  void RunAll() {
    loop_.RunUntil([] { return false; });
  }

  using Times = std::vector<int64_t>;  // In units.
  VirtualLoop loop_;
  std::unique_ptr<Device> inner_;
  std::unique_ptr<PacedDevice> device_;
  Times ran_, done_;
};

TEST_F(PacedDeviceTest, TakesUnitsTimesUnitTimeDividedBySpeed) {
  Make({.unit_time = kUnit, .speed = 0.25});
  Submit(10);
  RunAll();
  EXPECT_EQ(done_, Times{40});
}

// Otherwise results would be visible before the emulated device has them.
TEST_F(PacedDeviceTest, TasksPostedByWorkRunNoSoonerThanItsDone) {
  Make({.unit_time = kUnit});
  Times posted;
  device_->Submit(
      7,
      [&] {
        device_->PostFromWork([&] {
          EXPECT_TRUE(done_.empty());
          posted.push_back(loop_.Now().time_since_epoch() / kUnit);
        });
        return Status::Ok();
      },
      [this](Status) { done_.push_back(loop_.Now().time_since_epoch() / kUnit); });
  RunAll();
  EXPECT_EQ(posted, Times{7});
  EXPECT_EQ(done_, Times{7});
}

TEST_F(PacedDeviceTest, TheNextStartsWhenThePreviousIsDone) {
  Make({.unit_time = kUnit});
  Submit(5);
  Submit(7);
  Submit(0);
  RunAll();
  EXPECT_EQ(ran_, (Times{0, 5, 12}));
  EXPECT_EQ(done_, (Times{5, 12, 12}));
}

TEST_F(PacedDeviceTest, TimeSpentIdleIsNotMadeUpFor) {
  Make({.unit_time = kUnit});
  Submit(5);
  RunAll();
  loop_.RunUntilTime(Time(kUnit * 100));
  Submit(5);
  RunAll();
  EXPECT_EQ(done_, (Times{5, 105}));
}

TEST_F(PacedDeviceTest, SpeedChangesFromTheNextSubmitOn) {
  Make({.unit_time = kUnit});
  Submit(10);
  Submit(10);
  device_->SetSpeed(2);
  Submit(10);
  RunAll();
  EXPECT_EQ(done_, (Times{10, 20, 25}));
}

TEST_F(PacedDeviceTest, VaryMultipliesEachTime) {
  double factor = 0;
  Make({.unit_time = kUnit}, [&] { return factor += 1; });
  Submit(10);
  Submit(10);
  RunAll();
  EXPECT_EQ(done_, (Times{10, 30}));
}

TEST_F(PacedDeviceTest, ANegativeOrHugeVariationStaysInRange) {
  double factor = -5;
  Make({.unit_time = kUnit}, [&] { return factor; });
  Submit(10);
  RunAll();
  EXPECT_EQ(done_, Times{0});
  factor = 1e300;
  Submit(10);
  RunAll();
  ASSERT_EQ(done_.size(), 2u);
  EXPECT_GT(done_[1], 1000000);
}

TEST_F(PacedDeviceTest, WorkSlowerThanItsModelIsDoneWhenItIs) {
  // The inner device itself needs 30 units.
  inner_ = MakeInlineDevice(loop_).value();
  const auto slow = MakePacedDevice(loop_, *inner_, {.unit_time = kUnit * 3});
  device_ = MakePacedDevice(loop_, *slow, {.unit_time = kUnit});
  Submit(10);
  Submit(10);
  RunAll();
  EXPECT_EQ(done_, (Times{30, 60}));
  device_.reset();
}

TEST_F(PacedDeviceTest, DestroyedBetweenWorkAndItsTimeItCallsNoDone) {
  Make({.unit_time = kUnit});
  Submit(10);
  loop_.RunUntilTime(Time(kUnit * 5));
  EXPECT_EQ(ran_, Times{0});
  device_.reset();
  RunAll();
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(loop_.pending(), 0u);
}

TEST_F(PacedDeviceTest, WorkSubmittedInDoneRunsNext) {
  Make({.unit_time = kUnit});
  device_->Submit(
      3, [] { return Status::Ok(); }, [this](Status) { Submit(4); });
  RunAll();
  EXPECT_EQ(done_, Times{7});
}

TEST_F(PacedDeviceTest, ErrorsComeAtTheModelledTimeToo) {
  Make({.unit_time = kUnit});
  StatusCode code = StatusCode::kOk;
  device_->Submit(
      3, [] { return Status::DataError("bad"); }, [&](Status status) { code = status.code(); });
  loop_.RunUntilTime(Time(kUnit * 2));
  EXPECT_EQ(code, StatusCode::kOk);
  RunAll();
  EXPECT_EQ(code, StatusCode::kDataError);
}

// A loop with timers that fire late by a set time.
class LateLoop final : public Loop {
 public:
  explicit LateLoop(VirtualLoop& inner) : inner_(inner) {}
  Time Now() const override { return inner_.Now(); }
  TimerId After(Duration delay, Task task) override {
    return inner_.After(delay + late, std::move(task));
  }
  void Cancel(TimerId id) override { inner_.Cancel(id); }
  void Post(Task task) override { inner_.Post(std::move(task)); }

  Duration late{};

 private:
  VirtualLoop& inner_;
};

class LatePacedDeviceTest : public ::testing::Test {
 protected:
  // The duration of a chain of 10 ms pieces, each submitted when the previous one is done.
  Duration Chain(int pieces) {
    const Time start = loop_.Now();
    Next(pieces);
    loop_.RunUntil([] { return false; });
    return loop_.Now() - start;
  }
  void Next(int pieces) {
    if (pieces == 0) return;
    device_->Submit(
        10, [] { return Status::Ok(); }, [this, pieces](Status) { Next(pieces - 1); });
  }

  VirtualLoop loop_;
  LateLoop late_{loop_};
  std::unique_ptr<Device> inner_ = MakeInlineDevice(loop_).value();
  std::unique_ptr<PacedDevice> device_ = MakePacedDevice(late_, *inner_, {.unit_time = kUnit});
};

TEST_F(LatePacedDeviceTest, LateTimersDoNotAddUp) {
  late_.late = std::chrono::microseconds(100);
  EXPECT_EQ(Chain(20), kUnit * 200 + late_.late);
}

TEST_F(LatePacedDeviceTest, APauseIsNotMadeUpFor) {
  late_.late = kUnit * 500;
  EXPECT_EQ(Chain(3), 3 * (kUnit * 10 + late_.late));
}

}  // namespace
}  // namespace motley
