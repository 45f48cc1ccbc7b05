// SPDX-License-Identifier: Apache-2.0
// The loss curve of a job depends on its seed, data and batch size, up to rounding. It does not
// depend on its workers, its code or where it was interrupted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "runtime/saving/saved_job.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr double kRounding = 1e-5;

struct CurveCase {
  std::string code;
  uint32_t least_workers = 1;
};

void PrintTo(const CurveCase& value, std::ostream* out) { *out << value.code; }

class LossCurve : public testing::TestWithParam<CurveCase> {
 protected:
  // An epoch has 13 batches of 48 samples and one of 16. Workers have three speeds.
  static SimOptions Options(const std::string& code, uint32_t workers) {
    SimOptions options;
    options.job.model = {"mlp:8", 6, 3};
    options.job.workers = workers;
    options.job.batch = 48;
    options.job.steps = 30;
    options.job.code = code;
    options.job.tolerate = code == "none" || code == "auto" ? 0 : 1;
    options.job.audit_fraction = 0;
    for (uint32_t w = 0; w < workers; ++w) {
      WorkerProfile worker;
      worker.device.samples_per_second = 500.0 * (1 + w % 3);
      worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e8};
      options.cluster.workers.push_back(worker);
    }
    return options;
  }

  std::vector<double> CurveOf(const SimOptions& options) const {
    const auto result = Simulate(options, data_, nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok()) return {};
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    EXPECT_THAT(result->violations, testing::IsEmpty());
    last_ = result->job;
    return result->job.batch_loss;
  }

  // The state of the last curve's job in a checkpoint at its end.
  std::shared_ptr<const SavedJob> Saved(const SimOptions& options) const {
    SavedJob saved;
    saved.run = 1;
    saved.seed = options.job.seed;
    saved.step = last_.steps;
    saved.about = Describe(options.job, MemorySource(data_), last_.parameters->size()).value();
    saved.about.history.batch_loss = last_.batch_loss;
    saved.parameters = last_.parameters;
    saved.optimizer_steps = last_.steps;
    saved.optimizer_state = std::make_shared<const std::vector<float>>();
    return std::make_shared<const SavedJob>(std::move(saved));
  }

  static void ExpectSameCurve(const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t step = 0; step < got.size(); ++step) {
      ASSERT_NEAR(got[step], wanted[step], kRounding * wanted[step]) << "step " << step;
    }
  }

  const Dataset data_ = MakeSyntheticDataset(640, 6, 3, 1);
  mutable JobResult last_;
};

TEST_P(LossCurve, IsTheSameForOneTo64Workers) {
  const std::vector<double> alone = CurveOf(Options("none", 1));
  ASSERT_EQ(alone.size(), 30u);
  EXPECT_LT(alone.back(), 0.8 * alone.front()) << "the job learns nothing";
  for (const uint32_t workers : {2u, 3u, 5u, 8u, 16u, 64u}) {
    if (workers < GetParam().least_workers) continue;
    SCOPED_TRACE(testing::Message() << workers << " workers");
    ExpectSameCurve(CurveOf(Options(GetParam().code, workers)), alone);
  }
}

TEST_P(LossCurve, GoesOnAfterAResumeWithOtherWorkers) {
  const std::vector<double> alone = CurveOf(Options("none", 1));
  const uint32_t least = GetParam().least_workers;
  for (const auto& [before, after] : {std::pair(least, 16u), std::pair(16u, least)}) {
    SCOPED_TRACE(testing::Message() << before << " workers, then " << after);
    SimOptions options = Options(GetParam().code, before);
    options.job.steps = 10;  // Ends within an epoch.
    CurveOf(options);
    const auto saved = Saved(options);
    options = Options(GetParam().code, after);
    options.job.resume = saved;
    ExpectSameCurve(CurveOf(options), alone);
    EXPECT_EQ(last_.first_step, 10u);
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, LossCurve,
                         testing::Values(CurveCase{"none"}, CurveCase{"adaptive", 2},
                                         CurveCase{"auto"}, CurveCase{"repetition", 2},
                                         CurveCase{"cyclic", 3}, CurveCase{"heterogeneous", 3},
                                         CurveCase{"rs", 3}, CurveCase{"multi-message", 2},
                                         CurveCase{"short", 3}));

}  // namespace
}  // namespace motley
