// SPDX-License-Identifier: Apache-2.0
// A trainer that gets all samples at once, beside one that gets a call for each run.
#include "training/trainers/weighted_call.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "coding/decode/part_sums.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using Complex = std::complex<double>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kParameters = 5;

float GradientOf(uint64_t sample, size_t parameter) {
  return static_cast<float>((sample * 7 + parameter * 3) % 11) - 5;
}
double LossOf(uint64_t sample) { return 0.5 + static_cast<double>(sample % 13); }
double TokensOf(uint64_t sample) { return static_cast<double>(1 + sample % 7); }

class Weighted : public testing::Test {
 protected:
  Weighted() {
    for (PartitionId p = 0; p < sizes_.size(); ++p) {
      store_[p] = std::make_shared<MemorySource>(Dataset());
    }
    by_run_->parameter_count = whole_->parameter_count = kParameters;
    by_run_->accumulate = [](const ForeignWork& work) {
      *work.weight = 0;
      for (const uint64_t sample : work.samples) {
        for (size_t i = 0; i < kParameters; ++i) {
          work.sum[i] += static_cast<float>(work.coefficient) * GradientOf(sample, i);
        }
        *work.loss += work.coefficient * LossOf(sample);
        *work.weight += TokensOf(sample);
      }
      return Status::Ok();
    };
    whole_->accumulate_weighted = [this](const WeightedWork& work) {
      ++calls_;
      vectors_ = work.sums.size();
      EXPECT_EQ(work.seed, 7U);
      EXPECT_EQ(work.job, 23U);
      for (size_t r = 0; r < work.runs.size(); ++r) {
        const WeightedWork::Run& run = work.runs[r];
        EXPECT_EQ(run.weights.size(), work.sums.size());
        EXPECT_EQ(work.weights[r], static_cast<double>(run.count));
        work.weights[r] = 0;
        for (const uint64_t sample : work.samples.subspan(run.first, run.count)) {
          for (size_t v = 0; v < work.sums.size(); ++v) {
            for (size_t i = 0; i < kParameters; ++i) {
              work.sums[v][i] += static_cast<float>(run.weights[v]) * GradientOf(sample, i);
            }
          }
          work.losses[r] += LossOf(sample);
          work.weights[r] += TokensOf(sample);
        }
      }
      return on_call_ ? on_call_(work) : Status::Ok();
    };
  }

  Result<Trainer::Outcome> Run(const std::shared_ptr<ForeignTrainer>& foreign,
                               const std::vector<PartitionTerm>& terms, std::vector<float>& sum) {
    const auto trainer =
        MakeCallbackTrainer(rig_.loop, *rig_.device, foreign, {.job = 23}, store_, schedule_);
    EXPECT_EQ(trainer->cuts_work(), foreign == whole_);
    const auto parts = static_cast<uint32_t>(1 + terms.front().other_parts.size());
    const size_t length =
        AnswerEnds(Field::kComplexPacked, VectorLength(kParameters), {}, parts).back();
    sum.assign(length, 1.0f);
    std::optional<Result<Trainer::Outcome>> outcome;
    GradientWork work{.step = 3,
                      .version = 17,
                      .parameters = parameters_,
                      .terms = terms,
                      .sum = sum,
                      .parts = parts,
                      .progress = [this](uint64_t samples) { reported_ = samples; },
                      .final =
                          [this](size_t begin, size_t end, const Tally& tally) {
                            final_.emplace_back(begin, end);
                            EXPECT_LT(std::abs(tally.weight - early_weight_), 1e-9);
                          }};
    trainer->Accumulate(std::move(work), cancel_,
                        [&](Result<Trainer::Outcome> result) { outcome = std::move(result); });
    rig_.loop.RunUntil([] { return false; });
    return outcome.value();
  }

  void ExpectTheSame(const std::vector<PartitionTerm>& terms, size_t vectors) {
    std::vector<float> sum, wanted;
    calls_ = 0;
    const auto outcome = Run(whole_, terms, sum);
    const auto by_run = Run(by_run_, terms, wanted);
    ASSERT_TRUE(outcome.ok() && by_run.ok()) << outcome.status().ToString();
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(vectors_, vectors);
    EXPECT_EQ(outcome->samples, by_run->samples);
    EXPECT_LT(std::abs(outcome->tally.loss - by_run->tally.loss), 1e-9);
    EXPECT_LT(std::abs(outcome->tally.weight - by_run->tally.weight), 1e-9);
    ASSERT_EQ(sum.size(), wanted.size());
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], wanted[i], 1e-3) << "at " << i;
  }

  TestRig rig_;
  std::vector<uint32_t> sizes_ = {30, 20, 0, 50, 3};
  BatchSchedule schedule_{7, sizes_, 40};
  PartitionStore store_;
  std::vector<float> parameters_ = std::vector<float>(kParameters, 1.0f);
  std::shared_ptr<ForeignTrainer> by_run_ = std::make_shared<ForeignTrainer>();
  std::shared_ptr<ForeignTrainer> whole_ = std::make_shared<ForeignTrainer>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::function<Status(const WeightedWork&)> on_call_;
  int calls_ = 0;
  size_t vectors_ = 0;
  uint64_t reported_ = 0;
  std::vector<std::pair<size_t, size_t>> final_;  // In the order in which they were handed out.
  std::complex<double> early_weight_;             // The weight that goes with them.
};

// Sums that are not the answer lie in the caller's memory, which serves all later calls.
TEST_F(Weighted, SumsLieInMemoryOfTheCaller) {
  std::vector<void*> blocks;
  auto memory = std::make_shared<VectorMemory>();
  memory->allocate = [&](size_t bytes) -> Result<void*> {
    blocks.push_back(std::aligned_alloc(VectorMemory::kAlignment, bytes));
    return blocks.back();
  };
  size_t released = 0;
  memory->release = [&](void* block, size_t bytes) {
    EXPECT_EQ(bytes, VectorMemory::kAlignment);
    std::free(block);
    ++released;
  };
  whole_->memory = memory;
  std::vector<float> sum;
  on_call_ = [&](const WeightedWork& work) {
    for (float* const each : work.sums) {
      EXPECT_TRUE(each == sum.data() || std::count(blocks.begin(), blocks.end(), each) == 1);
    }
    return Status::Ok();
  };
  ASSERT_TRUE(Run(whole_, {{0, 1, {1, 2}}, {1, 2, {3, 4}}, {3, 5, {5, 6}}}, sum).ok());
  EXPECT_EQ(blocks.size(), 1U) << "one of two sums is the answer";
  EXPECT_EQ(released, 1U) << "with the trainer";
  memory->allocate = [](size_t) {
    return Result<void*>(Status::Resource("64 bytes are too many"));
  };
  const auto failed = Run(whole_, {{0, 5, {1, 2}}}, sum);
  EXPECT_EQ(failed.code(), StatusCode::kResource);
  EXPECT_THAT(failed.status().ToString(),
              HasSubstr("memory for a trainer's sums: 64 bytes are too many"));
}

TEST_F(Weighted, RealCoefficientsNeedOneSum) {
  ExpectTheSame({{0, 5, 1.0, {}}}, 1);
  ExpectTheSame({{0, 1, 0.5, {}}, {1, 3, -2.0, {}}, {3, 5, 0.5, {}}}, 1);
}

TEST_F(Weighted, ComplexCoefficientsNeedTwo) {
  ExpectTheSame({{0, 1, {0.6, -0.8}, {}}, {1, 2, {0, 1}, {}}, {3, 5, {-1, 0.25}, {}}}, 2);
  ExpectTheSame({{0, 1, 1.0, {}}, {1, 2, {0, 1}, {}}, {3, 5, {-1, 0.25}, {}}}, 2);
}

TEST_F(Weighted, AGroupAloneNeedsOne) {
  ExpectTheSame({{0, 2, {0.6, -0.8}, {}}}, 1);
  ExpectTheSame({{0, 1, {0.6, -0.8}, {}}, {3, 5, {0.6, -0.8}, {}}}, 1);
  ExpectTheSame({{0, 2, 0.5, {2.0}}}, 1);
}

TEST_F(Weighted, PartsNeedASumEach) {
  ExpectTheSame({{0, 1, 0.5, {2.0}}, {1, 2, -1.0, {0.25}}, {3, 5, 3.0, {1.0}}}, 2);
  ExpectTheSame(
      {{0, 1, {0.5, 1}, {2.0}}, {1, 2, -1.0, {{0.25, -1}}}, {3, 4, 3.0, {1.0}}, {4, 5, 2.0, {7.0}}},
      4);
}

TEST_F(Weighted, EqualCoefficientsAreOneGroup) {
  std::vector<uint32_t> groups, partitions;
  on_call_ = [&](const WeightedWork& work) {
    for (const WeightedWork::Run& run : work.runs) {
      groups.push_back(run.group);
      partitions.push_back(run.partition);
    }
    work.progress(1 << 20);  // A number beyond the samples is clamped.
    return Status::Ok();
  };
  std::vector<float> sum;
  ASSERT_TRUE(Run(whole_, {{0, 1, 2.0, {}}, {1, 2, 3.0, {}}, {2, 5, 2.0, {}}}, sum).ok());
  EXPECT_THAT(groups, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(partitions, ElementsAre(0, 1, 3, 4)) << "an empty partition is no run";
  EXPECT_EQ(reported_, schedule_.batch_size(3));
}

// There are five values, and a sixth pads them.
TEST_F(Weighted, RangesThatAreReadyAreHandedOutWithinTheCall) {
  using Range = std::pair<size_t, size_t>;
  const std::vector<std::vector<PartitionTerm>> answers = {
      {{0, 5, 1.0, {}}},
      {{0, 1, {0.6, -0.8}, {}}, {1, 2, {0, 1}, {}}, {3, 5, {-1, 0.25}, {}}},
      {{0, 2, {0.6, -0.8}, {}}}};
  for (const std::vector<PartitionTerm>& terms : answers) {
    std::vector<float> sum, wanted, inside;
    const auto whole = Run(by_run_, terms, wanted);
    ASSERT_TRUE(whole.ok());
    early_weight_ = whole->tally.weight;
    on_call_ = [&](const WeightedWork& work) {
      work.ready(1, 3);
      work.ready(0, 0);
      work.ready(3, 5);
      inside = sum;
      work.ready(2, 4);
      work.ready(0, 100);
      return Status::Ok();
    };
    final_.clear();
    const auto outcome = Run(whole_, terms, sum);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_THAT(final_, ElementsAre(Range(2, 6), Range(0, 2)));
    ASSERT_EQ(sum.size(), wanted.size());
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], wanted[i], 1e-3) << "at " << i;
    for (size_t i = 2; i < sum.size(); ++i) EXPECT_EQ(inside[i], sum[i]) << "at " << i;
  }
}

TEST_F(Weighted, AnswersInPartsHandOutNothing) {
  on_call_ = [](const WeightedWork& work) {
    work.ready(0, kParameters);
    return Status::Ok();
  };
  ExpectTheSame({{0, 1, 0.5, {2.0}}, {1, 2, -1.0, {0.25}}, {3, 5, 3.0, {1.0}}}, 2);
  EXPECT_THAT(final_, IsEmpty());
}

TEST_F(Weighted, LossAndWeightStayWhenARangeIsReady) {
  for (const bool loss : {false, true}) {
    std::vector<float> sum;
    on_call_ = [&](const WeightedWork& work) {
      early_weight_ = 0;
      for (const double weight : work.weights) early_weight_ += weight;
      work.ready(0, 2);
      (loss ? work.losses : work.weights)[0] += 1;
      return Status::Ok();
    };
    const auto outcome = Run(whole_, {{0, 5, 1.0, {}}}, sum);
    EXPECT_EQ(outcome.code(), StatusCode::kCallback);
    EXPECT_THAT(outcome.status().ToString(), HasSubstr("was changed after a range"));
  }
}

TEST_F(Weighted, FailuresAreThoseOfTheCaller) {
  std::vector<float> sum;
  on_call_ = [](const WeightedWork& work) {
    work.weights[0] = -1;
    return Status::Ok();
  };
  EXPECT_THAT(Run(whole_, {{0, 5, 1.0, {}}}, sum).status().ToString(), HasSubstr("weight -1"));
  on_call_ = [](const WeightedWork&) { return Status::Cancelled("why not"); };
  EXPECT_EQ(Run(whole_, {{0, 5, 1.0, {}}}, sum).code(), StatusCode::kCallback);
  on_call_ = [this](const WeightedWork&) {
    *cancel_ = true;
    return Status::Cancelled("no longer needed");
  };
  EXPECT_EQ(Run(whole_, {{0, 5, 1.0, {}}}, sum).code(), StatusCode::kCancelled);
  calls_ = 0;
  EXPECT_EQ(Run(whole_, {{0, 5, 1.0, {}}}, sum).code(), StatusCode::kCancelled);
  EXPECT_EQ(calls_, 0) << "what is cancelled before it begins is not begun";
}

}  // namespace
}  // namespace motley
