// SPDX-License-Identifier: Apache-2.0
#include "devices/watched_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/loop/virtual_loop.h"
#include "devices/paced_device.h"

namespace motley {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// A device that reports work when the test says so.
class ManualDevice final : public ForwardingDevice<> {
 public:
  using ForwardingDevice::ForwardingDevice;
  void Submit(double, Work, Done done) override { waiting_.push_back(std::move(done)); }
  void Report(Status status = Status::Ok()) {
    const Done done = std::move(waiting_.front());
    waiting_.pop_front();
    done(std::move(status));
  }

 private:
  std::deque<Done> waiting_;
};

class WatchedDeviceTest : public ::testing::Test {
 protected:
  void Submit() {
    device_->Submit(
        8, [] { return Status::Ok(); }, [this](Status status) { done_.push_back(status); });
  }
  void Pass(double time) { loop_.RunUntilTime(loop_.Now() + FromSeconds(time)); }

  static constexpr Patience kPatience{.first = seconds(100), .least = seconds(10), .times = 20};
  VirtualLoop loop_;
  const std::unique_ptr<Device> host_ = MakeInlineDevice(loop_).value();
  ManualDevice inner_{*host_};
  std::unique_ptr<WatchedDevice> device_ =
      std::make_unique<WatchedDevice>(loop_, inner_, kPatience);
  std::vector<Status> done_;
};

TEST_F(WatchedDeviceTest, TheFirstWorkMayTakeLong) {
  Submit();
  Pass(99);
  EXPECT_FALSE(device_->lost());
  inner_.Report(Status::Resource("full"));
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].code(), StatusCode::kResource);
  Submit();
  Pass(90);
  EXPECT_FALSE(device_->lost()) << "a piece may take as long as the first one";
  Pass(60);
  EXPECT_TRUE(device_->lost()) << "it may not take 20 times as long as the first one";
}

TEST_F(WatchedDeviceTest, WorkThatDoesNotComeBackIsLostAndSoIsAllAfterIt) {
  Submit();
  Pass(0.1);
  inner_.Report();
  Submit();
  Submit();
  Pass(9);
  EXPECT_FALSE(device_->lost());
  Pass(20);  // The timer still watched the first piece.
  EXPECT_TRUE(device_->lost());
  ASSERT_EQ(done_.size(), 3u);
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(done_[i].code(), StatusCode::kUnavailable);
    EXPECT_THAT(done_[i].ToString(), HasSubstr("8 samples"));
    EXPECT_THAT(done_[i].ToString(), HasSubstr("0.1 s"));
  }
  Submit();
  Pass(0);
  EXPECT_EQ(done_.size(), 4u);
  EXPECT_FALSE(done_.back().ok());
  inner_.Report();
  EXPECT_EQ(done_.size(), 4u) << "a result that comes late was reported before";
}

TEST_F(WatchedDeviceTest, EachWorkHasItsOwnTimeHoweverMuchWaits) {
  for (int i = 0; i < 50; ++i) Submit();
  for (int i = 0; i < 50; ++i) {
    Pass(8);
    inner_.Report();
  }
  EXPECT_EQ(done_.size(), 50u);
  EXPECT_FALSE(device_->lost());
}

TEST_F(WatchedDeviceTest, IdleTimeDoesNotCount) {
  Submit();
  inner_.Report();
  for (int i = 0; i < 5; ++i) {
    Pass(1000);
    Submit();
    Pass(9);
    EXPECT_FALSE(device_->lost());
    inner_.Report();
  }
}

// The loop of a process that was stopped: overdue timers run at once.
class JumpingLoop final : public Loop {
 public:
  Time Now() const override { return inner_.Now() + jumped_; }
  TimerId After(Duration delay, Task task) override { return inner_.After(delay, std::move(task)); }
  void Cancel(TimerId id) override { inner_.Cancel(id); }
  void Post(Task task) override { inner_.Post(std::move(task)); }
  void Jump(Duration by) {
    jumped_ += by;
    inner_.RunOne();
  }

 private:
  VirtualLoop inner_;
  Duration jumped_{};
};

TEST(WatchedDevice, APauseOfTheWholeProcessIsForgiven) {
  JumpingLoop loop;
  const auto host = MakeInlineDevice(loop).value();
  ManualDevice inner(*host);
  WatchedDevice device(loop, inner, {.first = seconds(10), .least = seconds(10)});
  int done = 0;
  device.Submit(
      1, [] { return Status::Ok(); }, [&](const Status& status) { done += status.ok() ? 1 : 0; });
  loop.Jump(std::chrono::hours(1));
  EXPECT_FALSE(device.lost());
  inner.Report();
  EXPECT_EQ(done, 1);
}

TEST_F(WatchedDeviceTest, OneThatHasEndedIsNotWaitedFor) {
  Status ended;
  device_ = std::make_unique<WatchedDevice>(loop_, inner_, kPatience, [&] { return ended; });
  Submit();
  Pass(0.1);
  inner_.Report();
  Pass(1);
  Submit();
  Submit();
  Pass(1);
  EXPECT_FALSE(device_->lost());
  ended = Status::Unavailable("the driver fell over");
  Pass(0.2);
  EXPECT_TRUE(device_->lost());
  ASSERT_EQ(done_.size(), 3u);
  for (const size_t i : {1, 2}) EXPECT_THAT(done_[i].ToString(), HasSubstr("fell over"));
  Pass(1000);
  EXPECT_EQ(done_.size(), 3u) << "it is reported once";
  EXPECT_EQ(loop_.pending(), 0u);
}

TEST_F(WatchedDeviceTest, ADeviceThatGoesLeavesNoTimerBehind) {
  device_ = std::make_unique<WatchedDevice>(loop_, inner_, kPatience, [] { return Status::Ok(); });
  Submit();
  device_.reset();
  EXPECT_EQ(loop_.pending(), 0u);
  inner_.Report();
  EXPECT_TRUE(done_.empty());
}

TEST_F(WatchedDeviceTest, DoneMayDestroyTheDevice) {
  device_->Submit(
      1, [] { return Status::Ok(); }, [this](const Status&) { device_.reset(); });
  Submit();
  Pass(200);
  EXPECT_EQ(device_, nullptr);
  EXPECT_TRUE(done_.empty());
}

}  // namespace
}  // namespace motley
