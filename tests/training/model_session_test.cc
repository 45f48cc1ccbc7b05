// SPDX-License-Identifier: Apache-2.0
// Models in memory that is not the host's.
#include "training/model_session.h"

#include <gtest/gtest.h>

#include "devices/driver_modules.h"
#include "tests/devices/mock_driver.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

struct Sum {
  std::vector<float> gradient;
  double loss = 0;
};

class ModelSessionTest : public testing::Test {
 protected:
  ModelSessionTest() {
    MockDriver::Get().Reset();
    auto opened = OpenDriverDevice(rig_.loop, MockDriver::Get().table(), 0, "");
    MOTLEY_ASSERT(opened.ok());
    device_ = *std::move(opened);
  }
  std::vector<float> Parameters(const Model& model) {
    std::vector<float> parameters(model.parameter_count());
    for (float& value : parameters) value = static_cast<float>(0.4 * random_.Normal());
    return parameters;
  }
  static Sum Run(ModelSession& session, const Model& model, std::span<const float> parameters,
                 std::span<const Dataset> batches, std::optional<uint64_t> version = 1) {
    Sum sum{std::vector<float>(model.parameter_count(), 0.5f), 1};
    EXPECT_TRUE(session.Begin(parameters, version, sum.gradient).ok());
    double weight = 1;
    for (const Dataset& batch : batches) {
      EXPECT_TRUE(session.Add(batch, weight).ok());
      weight = -weight / 2;
    }
    EXPECT_TRUE(session.Finish(sum.loss).ok());
    return sum;
  }

  Random random_{3, Stream::kTest};
  TestRig rig_;
  std::unique_ptr<Device> device_;
};

TEST_F(ModelSessionTest, AnyMemoryGivesTheSumOfTheHosts) {
  for (const char* name :
       {"softmax", "mlp:9,5", "mlp:9,norm,5", "cnn@4x3x1:3/5,norm", "factorization:3"}) {
    const uint32_t classes = std::string_view(name).starts_with("fact") ? 2 : 4;
    for (const bool sparse : {false, true}) {
      const auto model = MakeModel({name, 12, classes});
      const std::vector<float> parameters = Parameters(*model);
      std::vector<Dataset> batches;  // More than the losses that stay on a device at once.
      for (uint64_t i = 0; i < 70; ++i) {
        batches.push_back(MakeSamples(12, classes, sparse, 1 + i * 3 % 11, i));
      }
      ModelSession here(*rig_.device, *model);
      ModelSession there(*device_, *model);
      const Sum want = Run(here, *model, parameters, batches);
      const Sum got = Run(there, *model, parameters, batches);
      EXPECT_NEAR(got.loss, want.loss, 1e-12 * std::abs(want.loss));
      for (size_t i = 0; i < want.gradient.size(); ++i) {
        ASSERT_NEAR(got.gradient[i], want.gradient[i], 1e-5) << name << " " << i;
      }
      std::vector<float> scores_here, scores_there;
      ASSERT_TRUE(here.Forward(parameters, 1, batches[5], scores_here).ok());
      ASSERT_TRUE(there.Forward(parameters, 1, batches[5], scores_there).ok());
      EXPECT_EQ(scores_here, scores_there);
    }
  }
}

TEST_F(ModelSessionTest, ParametersGoInOncePerVersionAndNothingIsAllocatedAnew) {
  const auto model = MakeModel({"mlp:64", 20, 4});
  const std::vector<float> parameters = Parameters(*model);
  const std::vector<Dataset> batches = {MakeSamples(20, 4, false, 8, 1)};
  ModelSession session(*device_, *model);
  Run(session, *model, parameters, batches, 1);
  MockDriver& mock = MockDriver::Get();
  const uint64_t allocations = mock.allocations;
  const auto copied = [&](std::optional<uint64_t> version) {
    const uint64_t before = mock.copied_in_bytes;
    Run(session, *model, parameters, batches, version);
    return mock.copied_in_bytes - before;
  };
  const size_t size_bytes = parameters.size() * sizeof(float);
  EXPECT_LT(copied(1), size_bytes);
  EXPECT_GE(copied(2), size_bytes);
  EXPECT_LT(copied(2), size_bytes);
  EXPECT_GE(copied(std::nullopt), size_bytes);
  EXPECT_GE(copied(2), size_bytes);
  EXPECT_EQ(mock.allocations, allocations);
}

TEST_F(ModelSessionTest, NoModelAllocatesAnewForBatchesThatAreNoLarger) {
  for (const char* name : {"hinge", "mlp:9,norm", "cnn:3,4/5,norm", "factorization:3"}) {
    for (const bool sparse : {false, true}) {
      const auto model = MakeModel({name, 16, 2});
      const std::vector<float> parameters = Parameters(*model);
      const std::vector<Dataset> batches = {MakeSamples(16, 2, sparse, 40, 1),
                                            Select(MakeSamples(16, 2, sparse, 40, 1), Iota(0, 9))};
      ModelSession session(*device_, *model);
      Run(session, *model, parameters, batches);
      const uint64_t allocations = MockDriver::Get().allocations;
      Run(session, *model, parameters, batches);
      EXPECT_EQ(MockDriver::Get().allocations, allocations) << name;
    }
  }
}

TEST_F(ModelSessionTest, ASumThatWasDroppedLeavesNoTrace) {
  const auto model = MakeModel({"softmax", 6, 3});
  const std::vector<float> parameters = Parameters(*model);
  const std::vector<Dataset> batches = {MakeSamples(6, 3, false, 20, 1)};
  ModelSession session(*device_, *model);
  const Sum want = Run(session, *model, parameters, batches);
  std::vector<float> dropped(model->parameter_count());
  ASSERT_TRUE(session.Begin(parameters, 1, dropped).ok());
  ASSERT_TRUE(session.Add(MakeSamples(6, 3, false, 50, 2), 3).ok());
  const Sum got = Run(session, *model, parameters, batches);
  EXPECT_EQ(got.gradient, want.gradient);
  EXPECT_EQ(got.loss, want.loss);
  for (const float value : dropped) EXPECT_EQ(value, 0);
}

TEST_F(ModelSessionTest, ADeviceThatIsTooSmallSaysSo) {
  const auto model = MakeModel({"mlp:64", 20, 4});
  const std::vector<float> parameters = Parameters(*model);
  MockDriver::Get().memory_bytes = parameters.size() * sizeof(float) - 1;
  ModelSession session(*device_, *model);
  std::vector<float> gradient(parameters.size());
  EXPECT_EQ(session.Begin(parameters, 1, gradient).code(), StatusCode::kResource);
}

}  // namespace
}  // namespace motley
