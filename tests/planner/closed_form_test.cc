// SPDX-License-Identifier: Apache-2.0
// Compares schemes with fixed rows on the step model with a closed form: a row is done when its
// worker is done, and the step ends as soon as the finished rows decode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "coding/decode/decoder.h"
#include "coding/gradient_code.h"
#include "planner/step_model.h"
#include "planner/step_schemes.h"

namespace motley {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint32_t kPartitions = 240;
const std::vector<double> kSpeeds = {2, 2, 4, 4, 8, 8, 8, 12};

double ClosedForm(const CodeForm& form, const std::vector<double>& slowdowns) {
  std::vector<double> done(form.workers);
  for (uint32_t i = 0; i < form.workers; ++i) {
    done[i] = slowdowns[i] * static_cast<double>(form.rows[i].size()) / kSpeeds[i];
  }
  std::vector<uint32_t> order(form.workers);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return done[a] < done[b]; });
  std::vector<bool> present(form.workers, false);
  for (const uint32_t worker : order) {
    if (std::isinf(done[worker])) break;
    present[worker] = true;
    if (Solve(form, present, {.tolerance = 1}).ok()) return done[worker];
  }
  return kNever;
}

double OnTheModel(const StepScheme& scheme, const std::vector<double>& slowdowns) {
  StepModelOptions options;
  options.truth.resize(slowdowns.size());
  for (size_t w = 0; w < slowdowns.size(); ++w) {
    const bool dead = std::isinf(slowdowns[w]);
    options.truth[w] = {dead ? 1 : slowdowns[w], dead ? 0 : kNever};
  }
  options.notice_seconds = 1e9;  // No worker replaces a dead one.
  const auto policy = scheme.policy();
  const double seconds = RunStepModel(*scheme.setting, *policy, options).seconds;
  return seconds < 1e9 ? seconds : kNever;
}

struct Coded {
  const char* scheme;
  const char* code;
  uint32_t copies;
};

class ClosedForms : public testing::TestWithParam<Coded> {};

TEST_P(ClosedForms, AreWhatTheStepModelTakes) {
  SchemeRequest request;
  for (const double speed : kSpeeds) request.workers.push_back({1 / speed});
  request.partitions = kPartitions;
  request.copies = GetParam().copies;
  const Result<StepScheme> scheme = MakeStepScheme(GetParam().scheme, request);
  const Result<CodeForm> form =
      BuildCode(GetParam().code, {kSpeeds, GetParam().copies - 1, kPartitions, 0});
  ASSERT_TRUE(scheme.ok() && form.ok());
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, Stream::kTest, 11);
    std::vector<double> slowdowns;
    for (size_t w = 0; w < kSpeeds.size(); ++w) {
      slowdowns.push_back(1 / (1 + 0.04 * random.Normal()));
    }
    const double factor = std::vector<double>{1, 2, 5, kNever}[seed % 4];
    slowdowns[random.Below(kSpeeds.size())] *= factor;
    if (seed % 3 == 0) slowdowns[random.Below(kSpeeds.size())] *= factor;
    const double closed = ClosedForm(*form, slowdowns);
    const double model = OnTheModel(*scheme, slowdowns);
    if (std::isinf(closed)) {
      EXPECT_TRUE(std::isinf(model)) << "seed " << seed;
    } else {
      EXPECT_NEAR(model / closed, 1, 1e-9) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codes, ClosedForms,
    testing::Values(Coded{"none", "none", 1}, Coded{"repetition", "repetition", 2},
                    Coded{"cyclic", "cyclic", 2}, Coded{"heterogeneous", "heterogeneous", 2},
                    Coded{"rs", "rs", 2}, Coded{"group", "group", 2},
                    Coded{"heterogeneous", "heterogeneous", 3}),
    [](const auto& test) {
      return std::string(test.param.scheme) + std::to_string(test.param.copies);
    });

}  // namespace
}  // namespace motley
