// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "tests/training/test_data.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr size_t kCount = 17;
constexpr double kWeight = 2;

// The sums of steps, for parameters from `begin` on.
std::vector<float> SumOf(uint64_t step, size_t begin, size_t count) {
  std::vector<float> sum;
  for (size_t i = begin; i < begin + count; ++i) {
    sum.push_back(static_cast<float>(std::sin(1.0 + 3.7 * i + 0.9 * step) * kWeight));
  }
  return sum;
}

std::vector<float> FirstOf(size_t begin, size_t count) {
  std::vector<float> first;
  for (size_t i = begin; i < begin + count; ++i) {
    first.push_back(static_cast<float>(std::cos(0.3 * i)));
  }
  return first;
}

// The parameters from `begin` on after some updates.
std::vector<float> Train(const OptimizerOptions& options, size_t begin, size_t count,
                         const Contribution& from = {.weight = kWeight}) {
  TestRig rig;
  const auto optimizer = Optimizer::Create(options, count, begin);
  EXPECT_TRUE(optimizer.ok()) << optimizer.status().ToString();
  std::vector<float> parameters = FirstOf(begin, count);
  for (uint64_t step = 0; step < 20; ++step) {
    std::vector<float> sum = SumOf(step, begin, count);
    EXPECT_TRUE((*optimizer)->Apply(*rig.device, sum, parameters, from).ok());
  }
  return parameters;
}

OptimizerOptions InGroups(const char* name) {
  OptimizerOptions options = UsualOptions(name);
  const double decay = FindOption(*FindOptimizerRule(name), "weight_decay") != nullptr ? 0.3 : 0;
  options.groups = {{.end = 5, .learning_rate = 0.1},
                    {.end = 5, .learning_rate = 9},  // Empty.
                    {.end = 12, .learning_rate = 0, .l2 = 0.2},
                    {.end = kCount, .learning_rate = 0.02, .l2 = 0.05, .weight_decay = decay}};
  return options;
}

TEST(ParameterGroups, EachIsUpdatedAsIfItWereAlone) {
  for (const std::string& name : OptimizerNames()) {
    const OptimizerOptions options = InGroups(name.c_str());
    const std::vector<float> together = Train(options, 0, kCount);
    size_t begin = 0;
    for (const ParameterGroup& group : options.groups) {
      if (group.end == begin) continue;
      OptimizerOptions alone = options;
      alone.groups.clear();
      // A rate of 0 is only possible in a group.
      alone.learning_rate = group.learning_rate > 0 ? group.learning_rate : 1;
      alone.l2 = group.l2;
      alone.weight_decay = group.weight_decay;
      const size_t count = group.end - begin;
      const Contribution from{.weight = kWeight,
                              .rate_factor = group.learning_rate > 0 ? 1.0 : 0.0};
      const std::vector<float> expected = Train(alone, begin, count, from);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(together[begin + i], expected[i]) << name << " parameter " << begin + i;
      }
      begin = group.end;
    }
  }
}

// As Loshchilov and Hutter (2019), algorithm 2, write it: in float64, and without this library.
TEST(ParameterGroups, AdamWIsThatOfThePaper) {
  const OptimizerOptions options = InGroups("adamw");
  const std::vector<float> found = Train(options, 0, kCount);
  const auto group_of = [&](size_t parameter) {
    size_t number = 0;
    while (options.groups[number].end <= parameter) ++number;
    return options.groups[number];
  };
  for (size_t i = 0; i < kCount; ++i) {
    const ParameterGroup group = group_of(i);
    double w = FirstOf(i, 1)[0], m = 0, v = 0;
    for (int t = 1; t <= 20; ++t) {
      const double g = SumOf(t - 1, i, 1)[0] / kWeight + group.l2 * w;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double mean = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.999, t));
      w -= group.learning_rate * (mean / (std::sqrt(square) + 1e-8) + group.weight_decay * w);
    }
    EXPECT_NEAR(found[i], w, 2e-6) << "parameter " << i;
  }
}

TEST(ParameterGroups, ShardsMayCutThroughThem) {
  for (const std::string& name : OptimizerNames()) {
    const OptimizerOptions options = InGroups(name.c_str());
    const std::vector<float> whole = Train(options, 0, kCount);
    for (size_t begin = 0; begin < kCount; ++begin) {
      for (size_t count = 1; count <= kCount - begin; ++count) {
        const std::vector<float> shard = Train(options, begin, count);
        EXPECT_TRUE(std::equal(shard.begin(), shard.end(), whole.begin() + begin))
            << name << " from " << begin << ", " << count << " parameters";
      }
    }
  }
}

TEST(ParameterGroups, RatesOfAnUpdateReplaceTheirOwn) {
  OptimizerOptions options = InGroups("momentum");
  const std::vector<float> given = Train(
      options, 3, 10, {.weight = kWeight, .rate_factor = 0.5, .group_rates = {0.4, 1, 0.2, 0.04}});
  options.groups[0].learning_rate = 0.2;
  options.groups[2].learning_rate = 0.1;
  options.groups[3].learning_rate = 0.02;
  EXPECT_EQ(given, Train(options, 3, 10));
}

TEST(ParameterGroups, RatesThatLackAGroupAreRefused) {
  TestRig rig;
  const auto optimizer = *Optimizer::Create(InGroups("sgd"), kCount);
  std::vector<float> sum(kCount), parameters(kCount);
  const Status status =
      optimizer->Apply(*rig.device, sum, parameters, {.weight = 1, .group_rates = {0.1, 0.1}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("2 learning rates for 4 groups"));
  EXPECT_EQ(optimizer->steps(), 0u);
}

TEST(ParameterGroups, ThoseThatDoNotFitAreRefused) {
  const double nan = std::nan("");
  const std::vector<std::pair<std::vector<ParameterGroup>, std::string>> cases = {
      {{{.end = 4}, {.end = 3}}, "group 1 ends at parameter 3, before its begin at 4"},
      {{{.end = 4, .learning_rate = -1}, {.end = kCount}}, "group 0: `learning_rate` -1"},
      {{{.end = kCount, .learning_rate = nan}}, "group 0: `learning_rate` nan"},
      {{{.end = kCount, .l2 = -0.5}}, "group 0: `l2` -0.5"},
      {{{.end = kCount, .weight_decay = 0.1}}, "group 0: `weight_decay` 0.1: sgd has none"},
      {{{.end = kCount - 1}}, "the groups end at parameter 16, and there are 17"}};
  for (const auto& [groups, words] : cases) {
    const auto optimizer = Optimizer::Create({.groups = groups}, kCount);
    EXPECT_EQ(optimizer.code(), StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(optimizer.status().ToString(), testing::HasSubstr(words));
  }
  const auto own = Optimizer::CreateOwn({.groups = {{.end = kCount}}}, kCount, 0,
                                        [](const RuleUpdate&) { return Status::Ok(); });
  EXPECT_THAT(own.status().message(), testing::HasSubstr("Leave the groups out"));
}

}  // namespace
}  // namespace motley
