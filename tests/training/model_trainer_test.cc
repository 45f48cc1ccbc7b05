// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "coding/decode/part_sums.h"
#include "devices/cpu/cpu_device.h"
#include "devices/forwarding_device.h"
#include "tests/devices/thread_loop.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

using Complex = std::complex<double>;

// A job of 5 partitions, all on one worker.
class ModelTrainer : public testing::Test {
 protected:
  static constexpr uint32_t kBatch = 40;

  explicit ModelTrainer(bool sparse = false, const ModelSpec& spec = {"mlp:5", 6, 3})
      : data_(MakeSamples(6, spec.classes, sparse, 103, 2)), model_(MakeModel(spec)) {
    uint32_t start = 0;
    for (PartitionId p = 0; p < sizes_.size(); ++p) {
      store_[p] = std::make_shared<MemorySource>(Select(data_, Iota(start, start + sizes_[p])));
      start += sizes_[p];
    }
    Random random(4, Stream::kTest);
    for (float& value : parameters_) value = static_cast<float>(0.3 * random.Normal());
  }

  Result<Trainer::Outcome> Accumulate(StepId step, const std::vector<PartitionTerm>& terms,
                                      std::vector<float>& sum, bool cancelled = false) {
    std::optional<Result<Trainer::Outcome>> outcome;
    const auto parts = static_cast<uint32_t>(1 + terms.front().other_parts.size());
    GradientWork work{
        .step = step, .parameters = parameters_, .terms = terms, .sum = sum, .parts = parts};
    trainer_->Accumulate(std::move(work), std::make_shared<std::atomic<bool>>(cancelled),
                         [&](Result<Trainer::Outcome> result) {
                           EXPECT_FALSE(outcome.has_value()) << "done ran twice";
                           outcome = std::move(result);
                         });
    EXPECT_FALSE(outcome.has_value()) << "done ran inside the call";
    rig_.loop.RunUntil([] { return false; });
    return outcome.value();
  }

  // coefficient * gradient of each term by the reference model, where packed pairs are complex; and
  // its tally.
  std::vector<double> Wanted(StepId step, const std::vector<PartitionTerm>& terms,
                             Tally* tally = nullptr) {
    std::vector<double> sum(VectorLength(model_->parameter_count()), 0.0);
    const std::vector<double> point(parameters_.begin(), parameters_.end());
    for (const PartitionTerm& term : terms) {
      for (PartitionId p = term.begin; p < term.end; ++p) {
        const auto range = schedule_.Ranges(step)[p];
        std::vector<uint32_t> rows;
        schedule_.At(step).AppendRows(range.begin, range.count, schedule_.first_sample(p), rows);
        std::vector<double> part(sum.size(), 0.0);
        Dataset samples = *store_[p]->Gather(rows);
        Widen(samples);
        const double loss = reference::LossAndGradient(model_->spec(), point, samples,
                                                       std::span(part).first(point.size()));
        if (tally != nullptr) {
          tally->Add(term.coefficient, {loss, static_cast<double>(rows.size())});
        }
        for (size_t i = 0; i < sum.size(); i += 2) {
          const Complex scaled = term.coefficient * Complex(part[i], part[i + 1]);
          sum[i] += scaled.real();
          sum[i + 1] += scaled.imag();
        }
      }
    }
    return sum;
  }

  static void ExpectTally(const Tally& got, const Tally& wanted) {
    EXPECT_LE(std::abs(got.loss - wanted.loss), 1e-5 * (1 + std::abs(wanted.loss)));
    EXPECT_LE(std::abs(got.weight - wanted.weight), 1e-12 * (1 + std::abs(wanted.weight)));
  }

  void ExpectSum(StepId step, const std::vector<PartitionTerm>& terms) {
    std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
    const auto outcome = Accumulate(step, terms, sum);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_EQ(outcome->samples, trainer_->Samples(step, terms));
    Tally tally;
    const std::vector<double> wanted = Wanted(step, terms, &tally);
    for (size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(sum[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << "at " << i;
    }
    ExpectTally(outcome->tally, tally);
  }

  TestRig rig_;
  Dataset data_;
  std::vector<uint32_t> sizes_ = {30, 20, 0, 50, 3};
  BatchSchedule schedule_{7, sizes_, kBatch};
  PartitionStore store_;
  std::unique_ptr<Model> model_;
  std::vector<float> parameters_ = std::vector<float>(model_->parameter_count());
  std::unique_ptr<Trainer> trainer_ =
      MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_);
};

class SparseModelTrainer : public ModelTrainer {
 protected:
  SparseModelTrainer() : ModelTrainer(true) {}
};

// Layers have pairs of outputs, so that the model takes complex weights.
class PairedModelTrainer : public ModelTrainer {
 protected:
  PairedModelTrainer() : ModelTrainer(false, {"mlp:4,norm,6", 6, 4}) {}
};

TEST_F(ModelTrainer, SumsTheBatchOverAllPartitions) {
  for (const StepId step : {0, 1, 2, 3, 7}) ExpectSum(step, {{0, 5, 1.0}});
}

TEST_F(ModelTrainer, RealCoefficientsWeighGradientAndLoss) {
  ExpectSum(1, {{0, 1, 0.5}, {1, 3, -2.0}, {3, 4, -2.0}, {4, 5, 3.0}});
}

TEST_F(ModelTrainer, ComplexCoefficientsActOnPairs) {
  ExpectSum(1, {{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}});
  ExpectSum(4, {{0, 2, 1.0}, {1, 4, {0.28, 0.96}}, {4, 5, 2.0}});
}

TEST_F(SparseModelTrainer, SumsAndWeighsAlike) {
  ExpectSum(0, {{0, 5, 1.0}});
  ExpectSum(5, {{0, 2, -0.5}, {3, 5, {0.6, 0.8}}});
}

TEST_F(PairedModelTrainer, ComplexCoefficientsAreWeightsOfSamples) {
  ASSERT_TRUE(model_->takes_complex_weights());
  ExpectSum(1, {{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}});
  ExpectSum(4, {{0, 2, 1.0}, {1, 4, {0.28, 0.96}}, {4, 5, 2.0}});
}

// More coefficients than a session keeps losses for.
TEST_F(PairedModelTrainer, ManyCoefficientsAreAllCounted) {
  sizes_.assign(150, 1);
  store_.clear();
  for (PartitionId p = 0; p < sizes_.size(); ++p) {
    store_[p] = std::make_shared<MemorySource>(MakeSamples(6, 4, false, 1, p));
  }
  schedule_ = BatchSchedule(7, sizes_, 150);
  trainer_ = MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_);
  std::vector<PartitionTerm> terms;
  for (PartitionId p = 0; p < sizes_.size(); ++p) {
    terms.push_back({p, p + 1, std::polar(1.0, 0.1 * p)});
  }
  ExpectSum(0, terms);
}

// A test device that counts its matrix products.
class CountedProducts : public ForwardingDevice<> {
 public:
  explicit CountedProducts(Device& inner) : ForwardingDevice(inner), table_(inner.kernels()) {
    inner_gemm = table_.gemm;
    table_.gemm = [](auto... arguments) {
      ++count;
      inner_gemm(arguments...);
    };
  }
  const motley_kernels& kernels() const override { return table_; }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }
  static inline size_t count = 0;

 private:
  static inline decltype(motley_kernels::gemm) inner_gemm = nullptr;
  motley_kernels table_;
};

TEST_F(PairedModelTrainer, ARowIsOnePassWhateverItsCoefficients) {
  CountedProducts device(*rig_.device);
  trainer_ = MakeModelTrainer(rig_.loop, device, *model_, store_, schedule_);
  const auto products = [&](const std::vector<PartitionTerm>& terms) {
    CountedProducts::count = 0;
    ExpectSum(1, terms);
    return CountedProducts::count;
  };
  const size_t plain = products({{0, 5, 1.0}});
  EXPECT_GT(plain, 0U);
  EXPECT_EQ(products({{0, 1, 0.5}, {1, 3, -2.0}, {3, 5, 3.0}}), plain);
  EXPECT_EQ(products({{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}}), plain);
}

TEST_F(ModelTrainer, SamplesOf16BitsAreComputedWithAsTheyWereRounded) {
  uint32_t start = 0;
  for (PartitionId p = 0; p < sizes_.size(); ++p) {
    Dataset samples = Select(data_, Iota(start, start + sizes_[p]));
    // Callers may mix storages.
    const Storage storages[] = {Storage::kBf16, Storage::kFp16, Storage::kFloat32};
    ASSERT_TRUE(Narrow(samples, storages[p % 3]).ok());
    store_[p] = std::make_shared<MemorySource>(std::move(samples));
    start += sizes_[p];
  }
  for (const StepId step : {0, 1, 2}) ExpectSum(step, {{0, 5, 1.0}});
  ExpectSum(1, {{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}});
}

TEST_F(ModelTrainer, AddsToWhatTheSumHolds) {
  std::vector<float> sum(VectorLength(model_->parameter_count()), 2.0f);
  ASSERT_TRUE(Accumulate(0, {{2, 3, 1.0}}, sum).ok());
  EXPECT_THAT(sum, testing::Each(2.0f));
}

TEST_F(ModelTrainer, ChunksAddUpToTheWhole) {
  const size_t length = VectorLength(model_->parameter_count());
  std::vector<float> whole(length, 0.0f);
  std::vector<float> chunks(length, 0.0f);
  ASSERT_TRUE(Accumulate(3, {{0, 5, 1.5}}, whole).ok());
  for (PartitionId p = 0; p < 5; ++p) ASSERT_TRUE(Accumulate(3, {{p, p + 1, 1.5}}, chunks).ok());
  for (size_t i = 0; i < length; ++i) EXPECT_NEAR(chunks[i], whole[i], 1e-4);
}

TEST_F(ModelTrainer, EqualWorkGivesEqualBits) {
  const size_t length = VectorLength(model_->parameter_count());
  std::vector<float> one(length, 0.0f);
  std::vector<float> two(length, 0.0f);
  ASSERT_TRUE(Accumulate(3, {{0, 5, 1.0}}, one).ok());
  trainer_ = MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_);
  ASSERT_TRUE(Accumulate(9, {{0, 5, 1.0}}, two).ok());
  std::fill(two.begin(), two.end(), 0.0f);
  ASSERT_TRUE(Accumulate(3, {{0, 5, 1.0}}, two).ok());
  EXPECT_EQ(one, two);
}

TEST_F(ModelTrainer, BatchesBeyondOneGatherAreWhole) {
  sizes_ = {3000};
  store_ = {{0, std::make_shared<MemorySource>(MakeSamples(6, 3, false, 3000, 8))}};
  schedule_ = BatchSchedule(7, sizes_, 2500);
  trainer_ = MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_);
  std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
  const std::vector<PartitionTerm> terms = {{0, 1, 1.0}};
  ASSERT_TRUE(Accumulate(0, terms, sum).ok());
  const auto wanted = Wanted(0, terms);
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], wanted[i], 1e-2) << "at " << i;
}

TEST_F(ModelTrainer, SamplesCountsWhatTheTermsCover) {
  uint64_t all = 0;
  for (PartitionId p = 0; p < 5; ++p) {
    const std::vector<PartitionTerm> one = {{p, p + 1, 1.0}};
    EXPECT_EQ(trainer_->Samples(2, one), schedule_.Ranges(2)[p].count);
    all += trainer_->Samples(2, one);
  }
  EXPECT_EQ(all, schedule_.batch_size(2));
}

// Each part has a term; together they form one vector of a part's length.
TEST_F(ModelTrainer, PartsOfAVectorAreMixedIntoOneOfTheirLength) {
  const size_t length = VectorLength(model_->parameter_count());
  const std::vector<std::vector<Complex>> weights = {{{1, 2}, {0.5, 0}, {0, -1}},
                                                     {{1, 0}, {-2, 0.25}, {3, 0}}};
  const std::vector<PartitionTerm> terms = {{0, 2, weights[0][0], {weights[0][1], weights[0][2]}},
                                            {2, 5, weights[1][0], {weights[1][1], weights[1][2]}}};
  const size_t part_length = PartLength(Field::kComplexPacked, length, 3);
  std::vector<float> sum(part_length, 0.0f);
  const auto outcome = Accumulate(1, terms, sum);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  std::vector<double> wanted(part_length, 0.0);
  Tally tally;
  for (size_t t = 0; t < terms.size(); ++t) {
    std::vector<double> whole = Wanted(1, {{terms[t].begin, terms[t].end, 1.0, {}}});
    whole.resize(3 * part_length, 0.0);
    for (size_t i = 0; i < 3 * part_length; i += 2) {
      const Complex mixed = weights[t][i / part_length] * Complex(whole[i], whole[i + 1]);
      wanted[i % part_length] += mixed.real();
      wanted[i % part_length + 1] += mixed.imag();
    }
    Wanted(1, {{terms[t].begin, terms[t].end, weights[t][0], {}}}, &tally);
  }
  ExpectTally(outcome->tally, tally);
  for (size_t i = 0; i < part_length; ++i) {
    ASSERT_NEAR(sum[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << "at " << i;
  }
  std::vector<float> whole(length, 0.0f);
  EXPECT_EQ(Accumulate(1, terms, whole).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Accumulate(1, {terms[0], {2, 5, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
}

TEST_F(ModelTrainer, MissingPartitionIsNotFoundByNumber) {
  store_.erase(3);
  std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
  const auto outcome = Accumulate(0, {{0, 5, 1.0}}, sum);
  EXPECT_EQ(outcome.code(), StatusCode::kNotFound);
  EXPECT_THAT(outcome.status().message(), testing::HasSubstr("partition 3"));
  EXPECT_THAT(sum, testing::Each(0.0f));
}

TEST_F(ModelTrainer, ForeignWorkIsRefused) {
  const size_t length = VectorLength(model_->parameter_count());
  std::vector<float> sum(length, 0.0f);
  std::vector<float> tight(length - 1, 0.0f);
  EXPECT_EQ(Accumulate(0, {{0, 6, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Accumulate(0, {{0, 5, 1.0}}, tight).code(), StatusCode::kInvalidArgument);
  store_[1] = store_[0];
  EXPECT_EQ(Accumulate(0, {{0, 5, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
  store_[1] = std::make_shared<MemorySource>(MakeSamples(7, 3, false, 20, 1));
  EXPECT_EQ(Accumulate(0, {{0, 5, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
}

TEST_F(ModelTrainer, DeviceWithItsOwnThreadGivesTheSameBits) {
  const size_t length = VectorLength(model_->parameter_count());
  std::vector<float> here(length, 0.0f);
  std::vector<float> there(length, 0.0f);
  const std::vector<PartitionTerm> terms = {{0, 3, 1.0}, {3, 5, {0, 1}}};
  ASSERT_TRUE(Accumulate(1, terms, here).ok());
  ThreadLoop loop;
  const auto device =
      MakeCpuDevice(loop, {.threads = 2, .kernels = "baseline", .plain_threads = true});
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  trainer_ = MakeModelTrainer(loop, **device, *model_, store_, schedule_);
  int done = 0;
  trainer_->Accumulate({.step = 1, .parameters = parameters_, .terms = terms, .sum = there},
                       nullptr, [&](const auto& outcome) { done += outcome.ok() ? 1 : 100; });
  // A block may leave the store during the computation.
  store_.clear();
  loop.RunUntil([&] { return done > 0; });
  EXPECT_EQ(done, 1);
  EXPECT_EQ(there, here);
}

TEST_F(ModelTrainer, CancelledWorkSaysSo) {
  std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
  EXPECT_EQ(Accumulate(0, {{0, 5, 1.0}}, sum, true).code(), StatusCode::kCancelled);
}

TEST_F(ModelTrainer, PacedDeviceTakesItsTimePerSample) {
  const auto paced = MakePacedDevice(rig_.loop, *rig_.device,
                                     {.unit_time = std::chrono::milliseconds(2), .speed = 0.5});
  trainer_ = MakeModelTrainer(rig_.loop, *paced, *model_, store_, schedule_);
  std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
  std::vector<Duration> taken;
  const std::vector<PartitionTerm> terms = {{0, 5, 1.0}};
  for (int i = 0; i < 2; ++i) {
    trainer_->Accumulate({.parameters = parameters_, .terms = terms, .sum = sum}, nullptr,
                         [&](const auto& outcome) { taken.push_back(outcome->compute); });
  }
  rig_.loop.RunUntil([] { return false; });
  // The second call waited for the first; that time does not count.
  EXPECT_THAT(taken, testing::Each(std::chrono::milliseconds(4 * kBatch)));
}

TEST_F(ModelTrainer, WorkOutlivesTheTrainer) {
  std::vector<float> sum(VectorLength(model_->parameter_count()), 0.0f);
  const auto paced = MakePacedDevice(rig_.loop, *rig_.device, {std::chrono::milliseconds(2)});
  trainer_ = MakeModelTrainer(rig_.loop, *paced, *model_, store_, schedule_);
  const std::vector<PartitionTerm> terms = {{0, 5, 1.0}};
  bool done = false;
  trainer_->Accumulate({.parameters = parameters_, .terms = terms, .sum = sum}, nullptr,
                       [&](const auto& outcome) { done = outcome.ok(); });
  trainer_.reset();
  store_.clear();
  rig_.loop.RunUntil([] { return false; });
  EXPECT_TRUE(done);
}

double Calibrated(VirtualLoop& loop, Trainer& trainer) {
  std::optional<double> speed;
  trainer.Calibrate(nullptr, [&](Result<double> result) {
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_FALSE(speed.has_value());
    speed = *result;
  });
  loop.RunUntil([] { return false; });
  return speed.value();
}

TEST_F(ModelTrainer, CalibrationFindsTheSpeedOfAPacedDevice) {
  for (const double speed : {0.25, 1.0, 3.0}) {
    for (const auto unit : {std::chrono::microseconds(1), std::chrono::microseconds(5000)}) {
      const auto paced = MakePacedDevice(rig_.loop, *rig_.device, {unit, speed});
      const auto trainer = MakeModelTrainer(rig_.loop, *paced, *model_, store_, schedule_);
      const double wanted = speed / ToSeconds(unit);
      EXPECT_NEAR(Calibrated(rig_.loop, *trainer), wanted, 1e-3 * wanted);
    }
  }
}

// Two samples at half a second each, or one at 12 seconds.
TEST_F(ModelTrainer, CalibrationOfASlowDeviceIsShort) {
  for (const auto& [seconds, samples] : {std::pair(0.5, 2), std::pair(12.0, 1)}) {
    const auto paced = MakePacedDevice(rig_.loop, *rig_.device, {FromSeconds(seconds)});
    const auto trainer = MakeModelTrainer(rig_.loop, *paced, *model_, store_, schedule_);
    const Time start = rig_.loop.Now();
    EXPECT_NEAR(Calibrated(rig_.loop, *trainer), 1 / seconds, 1e-3);
    EXPECT_NEAR(ToSeconds(rig_.loop.Now() - start), samples * seconds, 1e-3);
  }
}

TEST_F(ModelTrainer, CancelledCalibrationBeginsNoOtherSample) {
  const auto paced = MakePacedDevice(rig_.loop, *rig_.device, {std::chrono::seconds(1)});
  const auto trainer = MakeModelTrainer(rig_.loop, *paced, *model_, store_, schedule_);
  const auto cancel = std::make_shared<std::atomic<bool>>(true);
  const Time start = rig_.loop.Now();
  bool done = false;
  trainer->Calibrate(cancel, [&](const Result<double>&) { done = true; });
  rig_.loop.RunUntil([] { return false; });
  EXPECT_TRUE(done);
  EXPECT_NEAR(ToSeconds(rig_.loop.Now() - start), 1, 1e-3);
}

// Counts how often work takes memory of the device.
struct CountingDevice : ForwardingDevice<> {
  using ForwardingDevice::ForwardingDevice;
  Result<Buffer> Allocate(size_t size_bytes) override {
    ++allocated;
    return inner_.Allocate(size_bytes);
  }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }
  int allocated = 0;
};

// The worker needs the memory of long vectors as soon as it does not wait any more.
TEST_F(ModelTrainer, CancelledCalibrationComputesNothing) {
  for (const bool cancelled : {false, true}) {
    CountingDevice device(*rig_.device);
    const auto trainer = MakeModelTrainer(rig_.loop, device, *model_, store_, schedule_);
    const auto cancel = std::make_shared<std::atomic<bool>>(cancelled);
    bool done = false;
    trainer->Calibrate(cancel, [&](const Result<double>& speed) { done = speed.ok(); });
    rig_.loop.RunUntil([] { return false; });
    EXPECT_TRUE(done);
    EXPECT_EQ(device.allocated > 0, !cancelled);
  }
}

TEST_F(ModelTrainer, CalibrationEndsWhereTimeStandsStill) {
  const double speed = Calibrated(rig_.loop, *trainer_);
  EXPECT_GT(speed, 1e9);
  EXPECT_TRUE(std::isfinite(speed));
}

TEST_F(SparseModelTrainer, CalibrationNeedsNoSamples) {
  EXPECT_GT(Calibrated(rig_.loop, *trainer_), 0);
  store_.clear();
  EXPECT_GT(Calibrated(rig_.loop, *trainer_), 0);
}

}  // namespace
}  // namespace motley
