// SPDX-License-Identifier: Apache-2.0
// What an audit makes of the reports of nodes that own the shards, some of which are false.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "coding/kernels/sketch.h"
#include "devices/paced_device.h"
#include "runtime/audit/auditor.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kRange = 34;  // Floats of each of the two shards.

class OwnerReports : public testing::Test {
 protected:
  OwnerReports() {
    options_.model = {"mlp:13", 2, 2};
    options_.audit_fraction = 1;
    options_.audit_time = 0;
    options_.workers = 3;
    data_ = {.features = 2, .classes = 2, .dense = {1, 1, 3, 1}, .label = {0, 1}};
    data_.sparse = false;
    gradient_ = JobGradient::Create(options_, MemorySource(data_).shape()).value();
    for (size_t i = 0; i < gradient_->parameter_count(); ++i) {
      parameters_.push_back(0.5F + 0.1F * static_cast<float>(i % 7));
    }
    const std::atomic<bool> never = false;
    const std::vector<uint32_t> rows = {0, 1};
    EXPECT_TRUE(gradient_
                    ->Sum(*device_, {0, 0, 0, 1, rows}, parameters_, source_, never,
                          std::span(answer_).first(parameters_.size()), tally_)
                    .ok());
    Auditor::Hooks hooks;
    hooks.found = [this](const Auditor::Finding& finding) { found_.push_back(finding); };
    hooks.given_up = [this](StepId) { ++given_up_; };
    auditor_.emplace(loop_, *device_, options_, gradient_, source_, BatchSchedule(7, {2}, 2),
                     std::move(hooks));
    auto form = std::make_shared<CodeForm>();
    form->workers = 3;
    form->partitions = 1;
    form->rows = {{{0, 1}}, {{0, 1}}, {{0, 1}}};
    auditor_->log().Open(0, form, Slicing({kRange, 2 * kRange}, kRange), {kRange, 2 * kRange});
    EXPECT_NE(auditor_->Prepare(0, nullptr, nullptr), nullptr);
  }

  // Workers 0 and 1 own the shards. Each worker has sent the whole answer.
  Auditor::Reported Honest() const {
    Auditor::Reported report;
    report.parameters = std::make_shared<const std::vector<float>>(parameters_);
    for (const uint32_t shard : {0, 1}) {
      const uint64_t seed = 11 + 2 * shard;
      const size_t begin = shard * kRange;
      const std::span<const float> range = std::span(answer_).subspan(begin, kRange);
      const double sum = SketchOf(range, SumSigns(seed, 0, begin)).projection;
      report.shards.push_back({.owner = shard, .trusted = false, .signs = seed, .sum = sum});
      for (const WorkerId worker : {0, 1, 2}) {
        const double sketch = SketchOf(range, SignsAt(seed, 0, begin)).projection;
        report.answers.push_back({worker, 0, worker, {sketch}, tally_, shard});
      }
    }
    return report;
  }

  static void Spoil(Auditor::Reported& report, uint32_t shard, WorkerId worker) {
    for (LoggedAnswer& answer : report.answers) {
      if (answer.shard == shard && answer.worker == worker) answer.sketches[0] *= -0.5;
    }
  }

  void Audit(Auditor::Reported report) {
    auditor_->Begin(std::move(report));
    EXPECT_TRUE(loop_.RunUntil([this] { return !auditor_->busy(); }));
  }

  JobOptions options_;
  Dataset data_;
  const MemorySource source_{data_};
  VirtualLoop loop_;
  const std::unique_ptr<Device> device_ = MakeInlineDevice(loop_).value();
  std::shared_ptr<JobGradient> gradient_;
  std::vector<float> parameters_;
  std::vector<float> answer_ = std::vector<float>(2 * kRange, 0);
  Tally tally_;
  std::optional<Auditor> auditor_;
  std::vector<Auditor::Finding> found_;
  int given_up_ = 0;
};

TEST_F(OwnerReports, ThatAreHonestShowNothing) {
  Audit(Honest());
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_->counts().audited_steps, 1u);
  EXPECT_LT(auditor_->counts().max_decode_error, 1e-6);
}

TEST_F(OwnerReports, OfTwoNodesNameAWorker) {
  Auditor::Reported report = Honest();
  for (const uint32_t shard : {0, 1}) Spoil(report, shard, 2);
  Audit(std::move(report));
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_TRUE(found_[0].confirmed);
  ASSERT_THAT(found_[0].wrong, SizeIs(1));
  EXPECT_EQ(found_[0].wrong[0].worker, 2u);
  EXPECT_EQ(found_[0].wrong[0].only_at, std::nullopt);
}

// An owner could say so falsely.
TEST_F(OwnerReports, OfOneWorkerAccuseBoth) {
  Auditor::Reported report = Honest();
  Spoil(report, 1, 2);
  Audit(std::move(report));
  ASSERT_THAT(found_, SizeIs(1));
  ASSERT_THAT(found_[0].wrong, SizeIs(1));
  EXPECT_EQ(found_[0].wrong[0].worker, 2u);
  EXPECT_EQ(found_[0].wrong[0].only_at, 1u);
}

TEST_F(OwnerReports, OfAShardServerNameAWorker) {
  Auditor::Reported report = Honest();
  report.shards[1].trusted = true;
  Spoil(report, 1, 2);
  Audit(std::move(report));
  ASSERT_THAT(found_, SizeIs(1));
  ASSERT_THAT(found_[0].wrong, SizeIs(1));
  EXPECT_EQ(found_[0].wrong[0].only_at, std::nullopt);
}

TEST_F(OwnerReports, WithAWrongSumNameTheOwner) {
  Auditor::Reported report = Honest();
  report.shards[1].sum *= 1.5;
  Audit(std::move(report));
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_TRUE(found_[0].confirmed);
  EXPECT_THAT(found_[0].wrong, IsEmpty());
  EXPECT_THAT(found_[0].wrong_sums, ElementsAre(1));
  EXPECT_GT(auditor_->counts().max_decode_error, 0.01);
}

// The worker's answer looks right in shard 0, by chance of the signs, but it has spoilt the sum
// there.
TEST_F(OwnerReports, JudgeNoSumBesideAWrongAnswer) {
  Auditor::Reported report = Honest();
  Spoil(report, 1, 2);
  report.shards[0].sum *= 3;
  Audit(std::move(report));
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_THAT(found_[0].wrong_sums, IsEmpty());
}

TEST_F(OwnerReports, ThatDoNotFitAreNoReports) {
  Auditor::Reported report = Honest();
  report.answers.back().row = 3;
  Audit(std::move(report));
  EXPECT_EQ(given_up_, 1);
  EXPECT_FALSE(auditor_->busy());
  EXPECT_EQ(auditor_->counts().audited_steps, 0u);
}

}  // namespace
}  // namespace motley
