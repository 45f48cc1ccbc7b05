// SPDX-License-Identifier: Apache-2.0
// Updates in blocks have the bits of the same work in whole passes over the vector.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "coding/kernels/combine.h"
#include "devices/cpu/cpu_device.h"
#include "tests/training/test_data.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr size_t kCount = 3 * kUpdateBlock + 1001;
constexpr double kWeight = 3;

std::vector<float> Draw(uint64_t seed) {
  Random random(seed, Stream::kTest);
  std::vector<float> values(kCount);
  for (float& value : values) value = static_cast<float>(2 * random.NextDouble() - 1);
  return values;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Each kind of work is a pass of its own. `state` is changed, and `gradient` is used up.
std::vector<float> InPasses(const OptimizerOptions& options, const motley_kernels& kernels,
                            uint64_t steps, const Contribution& from,
                            const std::vector<float>& before, std::vector<float>& gradient,
                            std::vector<float>& state) {
  std::vector<float> next = before;
  kernels.scale(nullptr, kCount, static_cast<float>(1 / from.weight), gradient.data());
  if (options.clip > 0) {
    const double norm = from.norm ? *from.norm : std::sqrt(SumOfSquares(gradient));
    const double factor = options.clip / (norm + 1e-6);
    if (factor < 1) kernels.scale(nullptr, kCount, static_cast<float>(factor), gradient.data());
  }
  std::vector<ParameterGroup> groups = options.groups;
  if (groups.empty()) {
    groups = {{kCount, options.learning_rate, options.l2, options.weight_decay}};
  }
  size_t begin = 0;
  for (const ParameterGroup& group : groups) {
    OptimizerOptions own = options;
    own.weight_decay = group.weight_decay;
    const size_t count = group.end - begin;
    float* const g = gradient.data() + begin;
    const auto l2 = static_cast<float>(group.l2);
    if (l2 != 0) kernels.axpy(nullptr, count, l2, next.data() + begin, g);
    float* const s = state.empty() ? nullptr : state.data() + begin;
    FindOptimizerRule(options.name)
        ->update({kernels, nullptr, own, group.learning_rate * from.rate_factor, steps, count, g, s,
                  kCount, next.data() + begin, from.weight});
    begin = group.end;
  }
  return next;
}

class UpdateBlocks : public testing::TestWithParam<std::string> {
 protected:
  UpdateBlocks() {
    device_ =
        MakeCpuDevice(loop_, {.threads = 3, .kernels = "baseline", .plain_threads = true}).value();
  }

  // Makes some updates in both ways.
  void Compare(const OptimizerOptions& options, const Contribution& from) {
    const auto optimizer = Optimizer::Create(options, kCount).value();
    std::vector<float> state(optimizer->state().size());
    std::vector<float> before = Draw(1), expected = before, next(kCount);
    for (uint64_t step = 1; step <= 3; ++step) {
      std::vector<float> gradient = Draw(step + 1), same = gradient;
      expected = InPasses(options, device_->kernels(), step, from, expected, same, state);
      const Result<bool> finite = optimizer->Advance(*device_, gradient, before, next, from);
      ASSERT_TRUE(finite.ok()) << finite.status().ToString();
      EXPECT_TRUE(*finite);
      EXPECT_TRUE(SameBits(next, expected)) << "step " << step;
      EXPECT_TRUE(SameBits(gradient, same)) << "audits and checkers read it";
      EXPECT_TRUE(SameBits(optimizer->state(), state));
      std::swap(before, next);
    }
    EXPECT_EQ(optimizer->steps(), 3u);
  }

  VirtualLoop loop_;
  std::unique_ptr<Device> device_;
};

TEST_P(UpdateBlocks, HaveTheBitsOfWholePasses) {
  const OptimizerOptions usual = UsualOptions(GetParam());
  const bool decays = FindOption(*FindOptimizerRule(GetParam()), "weight_decay") != nullptr;
  for (const double clip : {0.0, 0.5, 1e9}) {
    for (const std::optional<double> norm : {std::optional<double>(), std::optional(40.0)}) {
      for (const bool groups : {false, true}) {
        SCOPED_TRACE(testing::Message() << "clip " << clip << ", norm " << norm.value_or(-1)
                                        << (groups ? ", groups" : ""));
        OptimizerOptions options = usual;
        options.clip = clip;
        options.l2 = 0.01;
        if (groups) {  // Some begin within a block, and one of them is short.
          options.groups = {
              {.end = 100, .learning_rate = 0.1},
              {.end = kUpdateBlock, .learning_rate = 0.02, .l2 = 0.3},
              {.end = kUpdateBlock + 5, .learning_rate = 0.03},
              {.end = kCount, .learning_rate = 0.01, .weight_decay = decays ? 0.1 : 0}};
        }
        Contribution from{.weight = kWeight, .rate_factor = 0.7};
        from.norm = norm;
        Compare(options, from);
      }
    }
  }
}

TEST_P(UpdateBlocks, MayOverwriteTheVersionBefore) {
  const OptimizerOptions options = UsualOptions(GetParam());
  const auto optimizer = Optimizer::Create(options, kCount).value();
  std::vector<float> state(optimizer->state().size()), gradient = Draw(2), same = gradient;
  std::vector<float> parameters = Draw(1);
  const Contribution from{.weight = kWeight};
  const auto expected = InPasses(options, device_->kernels(), 1, from, parameters, same, state);
  EXPECT_TRUE(optimizer->Advance(*device_, gradient, parameters, parameters, from).value());
  EXPECT_TRUE(SameBits(parameters, expected));
}

// A value that is not finite may be anywhere.
TEST_P(UpdateBlocks, ShowThatTrainingDiverged) {
  for (const size_t where : {size_t{0}, kUpdateBlock - 1, 2 * kUpdateBlock + 7, kCount - 1}) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      const auto optimizer = Optimizer::Create(UsualOptions(GetParam()), kCount).value();
      std::vector<float> gradient = Draw(2), next(kCount);
      gradient[where] = bad;
      EXPECT_FALSE(
          optimizer->Advance(*device_, gradient, Draw(1), next, {.weight = kWeight}).value());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, UpdateBlocks, testing::ValuesIn(OptimizerNames()));

// The caller's rule sees the whole vector, whatever its length.
TEST(UpdateInOneBlock, IsThatOfTheCallersRule) {
  TestRig rig;
  size_t calls = 0;
  const auto optimizer = Optimizer::CreateOwn({}, kCount, 0, [&](const RuleUpdate& by) {
                           ++calls;
                           EXPECT_EQ(by.count, kCount);
                           return Status::Ok();
                         }).value();
  std::vector<float> gradient = Draw(2), next(kCount);
  const std::vector<float> before = Draw(1);
  EXPECT_TRUE(optimizer->Advance(*rig.device, gradient, before, next, {.weight = 1}).value());
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(next, before);
}

}  // namespace
}  // namespace motley
