// SPDX-License-Identifier: Apache-2.0
// Groups of parameters, and the versions that a loop is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_loop.h"

namespace motley {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSteps = 6;

// What the loop was shown.
struct Shown {
  uint64_t version = 0;
  std::vector<float> parameters, state;
  std::vector<double> losses;
};

motley_job_options GroupJob(const char* reduce = "star") {
  motley_job_options options = PointJob();
  options.optimizer = "momentum";
  options.steps = kSteps;
  options.workers = 2;
  options.reduce = reduce;
  options.audit = -1;
  return options;
}

std::vector<motley_group> Groups(std::vector<double> rates, double l2 = 0) {
  std::vector<motley_group> groups;
  for (size_t i = 0; i < rates.size(); ++i) {
    motley_group group = MOTLEY_GROUP_INIT;
    group.end = i + 1 < rates.size() ? i + 1 : uint64_t{POINT_DIMENSIONS};
    group.learning_rate = rates[i];
    group.l2 = l2;
    groups.push_back(group);
  }
  return groups;
}

motley_status SetGroups(motley_job* job, const std::vector<motley_group>& groups) {
  return motley_job_set_groups(job, groups.data(), static_cast<uint32_t>(groups.size()));
}

// Starts the job with a loop and trains it to its end. Returns what the loop was shown.
// `between` runs when it is.
std::vector<Shown> Train(
    TestJob& job, const std::function<void(const Shown&)>& between = [](const Shown&) {},
    uint32_t flags = MOTLEY_LOOP_SHOW) {
  const motley_loop loop = PointLoop(flags);
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(motley_job_start(job.get()), MOTLEY_OK) << motley_last_error();
  std::vector<Shown> all;
  std::thread other([&] {
    for (;;) {  // Both workers may have work at the same time.
      motley_step step = MOTLEY_STEP_INIT;
      EXPECT_EQ(motley_step_begin(job.get(), -1, &step), MOTLEY_OK);
      if (step.kind == MOTLEY_STEP_END) return;
      if (step.kind == MOTLEY_STEP_SHOW) {
        Shown shown{step.version,
                    {step.parameters, step.parameters + step.parameter_count},
                    {step.state, step.state + step.state_count},
                    {step.losses, step.losses + (step.version - step.step)}};
        EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_OK), MOTLEY_OK);
        all.push_back(shown);
        between(shown);
        continue;
      }
      motley_status done = MOTLEY_OK;
      if (step.kind == MOTLEY_STEP_GRADIENT) done = AddPoints(job.get(), &step);
      EXPECT_EQ(motley_step_end(job.get(), &step, done), MOTLEY_OK);
    }
  });
  other.join();
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  return all;
}

// The mean of all points, by which momentum is easily computed.
double Mean(uint64_t axis) {
  double sum = 0;
  for (uint64_t sample = 0; sample < 200; ++sample) sum += PointCoordinate(sample, axis);
  return sum / 200;
}

// Momentum in float64 for one parameter, by its rates in the updates.
double Expected(uint64_t axis, const std::vector<double>& rates, double l2, double* velocity) {
  double w = 0, v = 0;
  for (const double rate : rates) {
    v = 0.9 * v + (w - Mean(axis)) + l2 * w;
    w -= rate * v;
  }
  *velocity = v;
  return w;
}

void ExpectTrained(const Shown& last, const std::vector<std::vector<double>>& rates, double l2) {
  ASSERT_EQ(last.parameters.size(), size_t{POINT_DIMENSIONS});
  ASSERT_EQ(last.state.size(), size_t{POINT_DIMENSIONS});
  for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
    double velocity = 0;
    const double parameter = Expected(axis, rates[axis], l2, &velocity);
    EXPECT_NEAR(last.parameters[axis], parameter, 1e-6) << axis;
    EXPECT_NEAR(last.state[axis], velocity, 1e-6) << axis;
  }
}

TEST(ApiGroups, EachHasItsOwnRate) {
  for (const char* reduce : {"star", "direct"}) {
    TestJob job(GroupJob(reduce));
    ASSERT_EQ(SetGroups(job.get(), Groups({0.1, 0, 0.3}, 0.05)), MOTLEY_OK) << motley_last_error();
    const std::vector<Shown> shown = Train(job);
    ASSERT_EQ(shown.size(), 1U) << reduce;
    EXPECT_EQ(shown[0].version, kSteps);
    EXPECT_EQ(shown[0].losses.size(), kSteps);
    EXPECT_EQ(shown[0].losses.back(), job.Metrics().batch_loss);
    EXPECT_EQ(shown[0].parameters, job.Parameters());
    const auto all = [](double rate) { return std::vector<double>(kSteps, rate); };
    ExpectTrained(shown[0], {all(0.1), all(0), all(0.3)}, 0.05);
    EXPECT_EQ(job.Metrics().learning_rate, 0.1);
  }
}

// The rates of the second half are set while the job pauses.
TEST(ApiGroups, RatesAreSetUpdateByUpdate) {
  for (const char* reduce : {"star", "direct"}) {
    motley_job_options options = GroupJob(reduce);
    options.allowed_steps = 3;
    TestJob job(options);
    ASSERT_EQ(SetGroups(job.get(), Groups({5, 5})), MOTLEY_OK) << motley_last_error();
    const double first[] = {0.1, 0.2, 0.3, 0.4, 0.05, 0.06};
    EXPECT_EQ(motley_job_set_group_rates(job.get(), 0, first, 3), MOTLEY_OK);
    const double second[] = {0.5, 0.01, 0.25, 0.02};
    const std::vector<Shown> shown = Train(job, [&](const Shown& at) {
      if (at.version == kSteps) return;
      std::vector<float> values(POINT_DIMENSIONS);
      if (std::string(reduce) == "star") {
        uint64_t version = 0;
        EXPECT_EQ(motley_job_copy_parameters(job.get(), values.data(), values.size(), &version),
                  MOTLEY_OK);
        EXPECT_EQ(version, 3U);
      }
      EXPECT_EQ(motley_job_set_group_rates(job.get(), 3, second, 2), MOTLEY_OK);
      EXPECT_EQ(motley_job_allow_steps(job.get(), kSteps), MOTLEY_OK);
    });
    ASSERT_EQ(shown.size(), 2U) << reduce;
    EXPECT_EQ(shown[0].version, 3U);
    EXPECT_EQ(shown[0].losses.size(), 3U);
    EXPECT_EQ(shown[1].losses.size(), 3U);
    const std::vector<double> of_first = {0.1, 0.3, 0.05, 0.5, 0.25, 0.25};
    const std::vector<double> of_second = {0.2, 0.4, 0.06, 0.01, 0.02, 0.02};
    ExpectTrained(shown[1], {of_first, of_second, of_second}, 0);
  }
}

TEST(ApiGroups, AreSavedAndCheckedWhenTheJobGoesOn) {
  const std::string folder = TemporaryPath("groups");
  std::filesystem::remove_all(folder);
  motley_job_options options = GroupJob();
  options.checkpoint = folder.c_str();
  options.steps = 3;
  {
    TestJob job(options);
    ASSERT_EQ(SetGroups(job.get(), Groups({0.1, 0.2})), MOTLEY_OK);
    Train(job);
  }
  options.resume = folder.c_str();
  options.steps = kSteps;
  {
    TestJob job(options);
    ASSERT_EQ(SetGroups(job.get(), Groups({0.1, 0.2, 0.2})), MOTLEY_OK);
    const motley_loop loop = PointLoop(0);
    ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK);
    ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CONFLICT);
    EXPECT_THAT(motley_last_error(), HasSubstr("groups of parameters that end at 1, 3"));
  }
  {
    TestJob job(options);
    const motley_loop loop = PointLoop(MOTLEY_LOOP_APPLY);
    ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK);
    ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CONFLICT);
    EXPECT_THAT(motley_last_error(),
                HasSubstr("the library's momentum applied the updates of the checkpoint's job"));
  }
  TestJob job(options);  // It has the groups of the checkpoint.
  const std::vector<Shown> shown = Train(
      job, [](const Shown&) {}, MOTLEY_LOOP_SHOW | MOTLEY_LOOP_INITIALIZE);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].losses.size(), 3U);
  const auto all = [](double rate) { return std::vector<double>(kSteps, rate); };
  ExpectTrained(shown[0], {all(0.1), all(0.2), all(0.2)}, 0);
}

TEST(ApiGroups, ThatDoNotFitAreRefused) {
  TestJob job(GroupJob());
  const double rate = 0.1;
  EXPECT_EQ(motley_job_set_group_rates(job.get(), 0, &rate, 1), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_set_groups"));
  EXPECT_EQ(SetGroups(job.get(), Groups({0.1, -1})), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_set_groups: group 1: `learning_rate` -1"));
  std::vector<motley_group> groups = Groups({0.1, 0.2});
  groups[1].struct_size = 8;
  EXPECT_EQ(SetGroups(job.get(), groups), MOTLEY_INVALID_ARGUMENT);
  groups = Groups({0.1, 0.2});
  groups[1].weight_decay = 0.1;
  EXPECT_EQ(SetGroups(job.get(), groups), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("momentum has none"));
  groups = Groups({0.1, 0.2});
  groups[1].end = 4;
  ASSERT_EQ(SetGroups(job.get(), groups), MOTLEY_OK);
  EXPECT_EQ(motley_job_set_rate(job.get(), 0.1), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_set_group_rates"));
  const double rates[] = {0.1, -0.1};
  EXPECT_EQ(motley_job_set_group_rates(job.get(), 0, rates, 1), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(motley_job_set_group_rates(job.get(), 0, rates, 0), MOTLEY_INVALID_ARGUMENT);
  const motley_loop loop = PointLoop(0);
  ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK);
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("the groups end at parameter 4, and the model has 3"));
  EXPECT_EQ(SetGroups(job.get(), Groups({0.1})), MOTLEY_CONFLICT);
}

TEST(ApiGroups, DoNotGoWithUpdatesOfTheLoop) {
  TestJob job(GroupJob());
  ASSERT_EQ(SetGroups(job.get(), Groups({0.1})), MOTLEY_OK);
  const motley_loop loop = PointLoop(MOTLEY_LOOP_APPLY);
  ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK);
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("Leave the groups out"));
}

TEST(ApiShow, AFailureEndsTheJob) {
  TestJob job(GroupJob());
  const motley_loop loop = PointLoop(MOTLEY_LOOP_SHOW);
  ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK);
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
  motley_step step = MOTLEY_STEP_INIT;
  while (motley_step_begin(job.get(), -1, &step) == MOTLEY_OK && step.kind != MOTLEY_STEP_END) {
    motley_status done = step.kind == MOTLEY_STEP_SHOW ? 4711 : MOTLEY_OK;
    if (step.kind == MOTLEY_STEP_GRADIENT) done = AddPoints(job.get(), &step);
    EXPECT_EQ(motley_step_end(job.get(), &step, done), MOTLEY_OK);
  }
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CALLBACK);
  EXPECT_THAT(motley_last_error(), HasSubstr("SHOW back with status 4711"));
}

}  // namespace
}  // namespace motley
