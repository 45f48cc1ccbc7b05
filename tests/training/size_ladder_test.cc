// SPDX-License-Identifier: Apache-2.0
#include "training/models/size_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/loop/virtual_loop.h"
#include "devices/paced_device.h"
#include "training/trainers/calibration.h"

namespace motley {
namespace {

// A device that takes 1 ms per sample, on virtual time.
class SizeLadder : public ::testing::Test {
 protected:
  void SetUp() override {
    inner_ = MakeInlineDevice(loop_).value();
    device_ = MakePacedDevice(loop_, *inner_, {.unit_time = std::chrono::milliseconds(1)});
    model_ = Model::Create({.name = "softmax", .features = 5, .classes = 3}).value();
  }

  Result<std::vector<SizedTimes>> Measure(const LadderOptions& options) {
    std::optional<Result<std::vector<SizedTimes>>> times;
    MeasureLadder(loop_, *device_, *model_, MakeUpSamples(model_->spec(), false, 0), options,
                  [&](Result<std::vector<SizedTimes>> result) { times = std::move(result); });
    loop_.RunUntil([] { return false; });
    EXPECT_TRUE(times.has_value());
    return times ? std::move(*times) : Result<std::vector<SizedTimes>>(Status::Internal("none"));
  }

  VirtualLoop loop_;
  std::unique_ptr<Device> inner_;
  std::unique_ptr<PacedDevice> device_;
  std::unique_ptr<Model> model_;
};

TEST_F(SizeLadder, DoublesAndTakesEachSizeInEveryRound) {
  std::vector<double> parts;
  LadderOptions options = {.most_samples = 2048, .rounds = 7, .patience = std::chrono::hours(1)};
  options.progress = [&](double part) { parts.push_back(part); };
  const auto times = Measure(options);
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 12u);
  uint64_t samples = 1;
  for (const SizedTimes& rung : *times) {
    EXPECT_EQ(rung.samples, samples);
    EXPECT_EQ(rung.seconds.size(), 7u);
    for (const double seconds : rung.seconds) {
      EXPECT_DOUBLE_EQ(seconds, 1e-3 * static_cast<double>(samples));
    }
    samples *= 2;
  }
  EXPECT_EQ(parts.back(), 1);
  EXPECT_TRUE(std::is_sorted(parts.begin() + 12, parts.end()));
}

TEST_F(SizeLadder, EndsWherePatienceDoes) {
  const auto times = Measure({.patience = std::chrono::seconds(1)});
  ASSERT_TRUE(times.ok());
  ASSERT_GE(times->size(), 4u);
  EXPECT_LE(times->back().samples, 128u);
  EXPECT_GE(times->back().seconds.size(), 3u);
  EXPECT_LE(ToSeconds(loop_.Now()), 2);
}

TEST_F(SizeLadder, GoesOnWhereTimeStandsStill) {
  device_ = MakePacedDevice(loop_, *inner_, {});
  const auto times = Measure({.most_samples = 64, .rounds = 3});
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->size(), 7u);
}

TEST_F(SizeLadder, ReportsWhatFailed) {
  model_ = Model::Create({.name = "softmax", .features = 6, .classes = 3}).value();
  std::optional<Status> status;
  MeasureLadder(loop_, *device_, *model_,
                MakeUpSamples({.name = "softmax", .features = 5, .classes = 3}, false, 0), {},
                [&](const Result<std::vector<SizedTimes>>& result) { status = result.status(); });
  loop_.RunUntil([] { return false; });
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
