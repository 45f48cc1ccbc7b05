// SPDX-License-Identifier: Apache-2.0
// Models on a device whose memory is not the host's.
#include "training/models/model_session.h"

#include <gtest/gtest.h>

#include "devices/drivers/driver_modules.h"
#include "devices/forwarding_device.h"
#include "tests/devices/mock_driver.h"
#include "tests/training/session_checks.h"

namespace motley {
namespace {

class ModelSessionTest : public testing::Test {
 protected:
  ModelSessionTest() {
    MockDriver::Get().Reset();
    auto opened = MockDriver::Make(rig_.loop);
    MOTLEY_ASSERT(opened.ok());
    device_ = *std::move(opened);
  }
  std::vector<float> Parameters(const Model& model) { return RandomParameters(model, random_); }

  Random random_{3, Stream::kTest};
  TestRig rig_;
  std::unique_ptr<Device> device_;
};

TEST_F(ModelSessionTest, AnyMemoryGivesTheSumOfTheHosts) {
  ExpectTheSumsOfTheHost(*rig_.device, *device_, random_);
}

TEST_F(ModelSessionTest, SamplesOf16BitsGiveTheSumOfTheRoundedOnesAndAreCopiedInHalfTheBytes) {
  for (const char* name : {"softmax", "mlp:9,5", "cnn@4x3x1:3/5", "factorization:3"}) {
    const uint32_t classes = std::string_view(name).starts_with("fact") ? 2 : 4;
    const auto model = MakeModel({name, 12, classes});
    const std::vector<float> parameters = Parameters(*model);
    for (const Storage storage : {Storage::kFp16, Storage::kBf16}) {
      std::vector<Dataset> narrow = {MakeSamples(12, classes, false, 90, 1),
                                     MakeSamples(12, classes, false, 7, 2)};
      for (Dataset& batch : narrow) ASSERT_TRUE(Narrow(batch, storage).ok());
      std::vector<Dataset> rounded = narrow;
      for (Dataset& batch : rounded) Widen(batch);
      for (Device* const device : {rig_.device.get(), device_.get()}) {
        MockDriver& mock = MockDriver::Get();
        ModelSession session(*device, *model);
        const uint64_t before = mock.copied_in_bytes;
        const SessionSum want = RunSession(session, *model, parameters, rounded);
        const uint64_t between = mock.copied_in_bytes;
        const SessionSum got = RunSession(session, *model, parameters, narrow);
        EXPECT_EQ(got.gradient, want.gradient) << name;
        EXPECT_EQ(got.loss, want.loss);
        const uint64_t parameters_bytes = parameters.size() * sizeof(float);
        if (device == rig_.device.get()) continue;
        EXPECT_EQ(between - before - (mock.copied_in_bytes - between),
                  parameters_bytes + size_t{97 * 12 * 2});
      }
    }
  }
}

TEST_F(ModelSessionTest, ParametersGoInOncePerVersionAndNothingIsAllocatedAnew) {
  const auto model = MakeModel({"mlp:64", 20, 4});
  const std::vector<float> parameters = Parameters(*model);
  const std::vector<Dataset> batches = {MakeSamples(20, 4, false, 8, 1)};
  ModelSession session(*device_, *model);
  for (int i = 0; i < 2; ++i) RunSession(session, *model, parameters, batches, 1);
  MockDriver& mock = MockDriver::Get();
  const uint64_t allocations = mock.allocations;
  const auto copied = [&](std::optional<uint64_t> version) {
    const uint64_t before = mock.copied_in_bytes;
    RunSession(session, *model, parameters, batches, version);
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
      RunSession(session, *model, parameters, batches);
      const uint64_t allocations = MockDriver::Get().allocations;
      RunSession(session, *model, parameters, batches);
      EXPECT_EQ(MockDriver::Get().allocations, allocations) << name;
    }
  }
}

// On the device as on the host, the last layer's gradient is complete first.
TEST_F(ModelSessionTest, TellsOfTheLastLayerFirst) {
  const auto model = MakeModel({"mlp:9,5", 12, 4});
  const std::vector<float> parameters = Parameters(*model);
  const Dataset batch = MakeSamples(12, 4, false, 8, 1);
  const RowWeight all{.rows = 8, .weight = 1};
  for (Device* const device : {rig_.device.get(), device_.get()}) {
    ModelSession session(*device, *model);
    std::vector<float> gradient(parameters.size());
    std::vector<size_t> begins;
    const ModelSession::Final tell = [&](size_t begin, size_t, std::complex<double>) {
      begins.push_back(begin);
    };
    ASSERT_TRUE(session.Begin(parameters, 1, gradient).ok());
    ASSERT_TRUE(session.Add(batch, RowWeights(&all, 1)).ok());
    ASSERT_TRUE(session.Add(batch, RowWeights(&all, 1), tell).ok());
    std::complex<double> loss = 0;
    ASSERT_TRUE(session.Finish(loss, tell).ok());
    EXPECT_EQ(begins, (std::vector<size_t>{13 * 9 + 10 * 5, 13 * 9, 0}));
  }
}

// Records which copies wait for which moments.
class CopyLog final : public ForwardingDevice<> {
 public:
  struct Copy {
    Moment after;
    size_t offset;
    size_t size_bytes;
    Moment marked;  // Last moment at the time of the call.
  };

  using ForwardingDevice::ForwardingDevice;
  Moment Mark() override { return marked_ = inner_.Mark(); }
  Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) override {
    in.push_back({after, offset, from.size(), marked_});
    return inner_.CopyInAfter(after, to, offset, from);
  }
  Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                      const TakePiece& take) override {
    out.push_back({after, offset, size_bytes, marked_});
    return inner_.CopyOutAfter(after, from, offset, size_bytes, take);
  }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }

  std::vector<Copy> in, out;

 private:
  Moment marked_ = 0;
};

TEST_F(ModelSessionTest, CopiesWaitForNoMoreThanTheyMust) {
  const auto model = MakeModel({"mlp:50,40", 60, 3});
  const std::vector<float> parameters = Parameters(*model);
  const std::vector<Dataset> batches(5, MakeSamples(60, 3, false, 8, 1));
  CopyLog log(*device_);
  ModelSession session(log, *model);
  RunSession(session, *model, parameters, batches, 1);
  log.in.clear();
  log.out.clear();
  RunSession(session, *model, parameters, batches, 2);
  const size_t layers[] = {61 * 50 * 4, 51 * 40 * 4, 41 * 3 * 4};
  const size_t samples = 8 * 60 * 4;
  size_t placed = 0, batch = 0;
  Moment before = 0;
  for (const CopyLog::Copy& copy : log.in) {
    if (placed < 3 && copy.size_bytes == layers[placed]) ++placed;
    if (copy.size_bytes != samples) continue;
    // The copy waits until the batch before the last one is done, whose memory it reuses.
    EXPECT_NE(copy.after, kNow);
    if (batch >= 1) {
      EXPECT_LT(copy.after, copy.marked) << "batch " << batch;
    }
    if (batch >= 2) {
      EXPECT_GT(copy.after, before) << "batch " << batch;
    }
    before = copy.after;
    ++batch;
  }
  EXPECT_EQ(placed, 3U) << "each layer's parameters by themselves";
  EXPECT_EQ(batch, batches.size());
  // Losses come first, and wait no longer than the last layer's gradient; then come the layers'
  // gradients.
  ASSERT_GE(log.out.size(), 4U);
  EXPECT_EQ(log.out[0].after, log.out[1].after);
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(log.out[i].size_bytes, layers[3 - i]);
    EXPECT_LT(log.out[i].after, log.out[i].marked);
    if (i > 1) {
      EXPECT_GT(log.out[i].after, log.out[i - 1].after);
    }
  }
}

TEST_F(ModelSessionTest, ASumThatWasDroppedLeavesNoTrace) {
  const auto model = MakeModel({"softmax", 6, 3});
  const std::vector<float> parameters = Parameters(*model);
  const std::vector<Dataset> batches = {MakeSamples(6, 3, false, 20, 1)};
  ModelSession session(*device_, *model);
  const SessionSum want = RunSession(session, *model, parameters, batches);
  std::vector<float> dropped(model->parameter_count());
  ASSERT_TRUE(session.Begin(parameters, 1, dropped).ok());
  ASSERT_TRUE(session.Add(MakeSamples(6, 3, false, 50, 2), 3).ok());
  const SessionSum got = RunSession(session, *model, parameters, batches);
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
