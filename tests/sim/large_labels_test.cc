// SPDX-License-Identifier: Apache-2.0
// Whole jobs with a loss far larger than the gradient of some parameter: a regression on prices.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint32_t kWorkers = 8;

// Labels are 2e5 +- 3e4. With eight features the bias is the last of nine parameters, so it has no
// other parameter as partner when coordinates are coded in pairs.
Dataset Prices() {
  Dataset data = MakeSyntheticDataset(4055, 8, 0, 5);
  Random random(5, Stream::kTest);
  for (float& label : data.label) {
    label = static_cast<float>(2e5 + 2e4 * label + 1e4 * random.Normal());
  }
  return data;
}

SimOptions Options(const std::string& code, const Dataset& data) {
  SimOptions options;
  for (uint32_t w = 0; w < kWorkers; ++w) {
    WorkerProfile worker;
    worker.device.samples_per_second = w == 0 ? 4000 : 8000;
    options.cluster.workers.push_back(worker);
  }
  options.job.workers = kWorkers;
  options.job.code = code;
  options.job.tolerate = 1;
  options.job.model.name = "linear";
  options.job.model.features = data.features;
  options.job.batch = 256;
  options.job.steps = 300;
  options.job.optimizer.learning_rate = 0.1;
  options.job.audit_fraction = 1;
  options.job.token = "prices";
  return options;
}

TEST(LargeLabels, EveryCodeEndsWhereNoCodeDoes) {
  const Dataset data = Prices();
  const auto plain = Simulate(Options("none", data), data, nullptr);
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  ASSERT_TRUE(plain->job.status.ok()) << plain->job.status.ToString();
  const double bias = plain->job.parameters->back();
  EXPECT_NEAR(bias, 2e5, 2e3);
  for (const char* code : {"repetition", "cyclic", "heterogeneous", "rs", "group", "short",
                           "partial-coded", "multi-message", "adaptive", "auto"}) {
    SCOPED_TRACE(code);
    SimOptions options = Options(code, data);
    options.faults = {*ParseFault("pause:3@step=20,200ms"), *ParseFault("kill:5@step=60")};
    const auto coded = Simulate(options, data, nullptr);
    ASSERT_TRUE(coded.ok()) << coded.status().ToString();
    const JobResult& job = coded->job;
    ASSERT_TRUE(job.status.ok()) << job.status.ToString();
    EXPECT_TRUE(coded->violations.empty()) << coded->violations[0];
    EXPECT_NEAR(job.parameters->back(), bias, 1e-5 * bias);
    EXPECT_NEAR(job.batch_loss.back(), plain->job.batch_loss.back(),
                1e-5 * plain->job.batch_loss.back());
    EXPECT_LE(job.max_decode_error, 1e-5);
    EXPECT_GT(job.audited_steps, 0u);
    EXPECT_LE(coded->serial_difference, 1e-5);
  }
}

}  // namespace
}  // namespace motley
