// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/callback_trainer.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "tests/devices/thread_loop.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using Complex = std::complex<double>;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kParameters = 3;
constexpr uint32_t kFeatures = 2;

// Gradient of sample i: exact in float, and different for each.
float GradientOf(uint64_t sample, size_t parameter) {
  return static_cast<float>(parameter == 0 ? sample + 1 : sample * sample % (parameter + 5));
}
double LossOf(uint64_t sample) { return 2.0 * static_cast<double>(sample); }
double TokensOf(uint64_t sample) { return static_cast<double>(1 + sample % 7); }

// The arguments of a call.
struct Seen {
  PartitionId begin, end;
  double coefficient;
  std::vector<uint64_t> samples;
  std::optional<Dataset> batch;
};

// A job of 5 partitions, all on one worker, whose samples the caller has.
class CallbackTrainer : public testing::Test {
 protected:
  CallbackTrainer() {
    foreign_->parameter_count = kParameters;
    foreign_->accumulate = [this](const ForeignWork& work) { return Accumulate(work); };
    for (PartitionId p = 0; p < sizes_.size(); ++p)
      store_[p] = std::make_shared<MemorySource>(Dataset());
    Make(rig_.loop, *rig_.device);
  }

  void Make(Loop& loop, Device& device, ForeignShape shape = {}) {
    trainer_ = MakeCallbackTrainer(loop, device, foreign_, shape, store_, schedule_);
  }

  Status Accumulate(const ForeignWork& work) {
    seen_.push_back({work.begin,
                     work.end,
                     work.coefficient,
                     {work.samples.begin(), work.samples.end()},
                     work.batch == nullptr ? std::nullopt : std::optional(*work.batch)});
    EXPECT_EQ(work.step, step_);
    EXPECT_EQ(work.version, 17u);
    EXPECT_EQ(work.parameters.data(), parameters_.data());
    for (const uint64_t sample : work.samples) {
      for (size_t i = 0; i < kParameters; ++i) {
        work.sum[i] += static_cast<float>(work.coefficient * GradientOf(sample, i));
      }
      *work.loss += work.coefficient * LossOf(sample);
    }
    EXPECT_EQ(*work.weight, static_cast<double>(work.samples.size()));
    if (counts_tokens_) {
      *work.weight = 0;
      for (const uint64_t sample : work.samples) *work.weight += TokensOf(sample);
    }
    return on_call_ ? on_call_(work) : Status::Ok();
  }

  Result<Trainer::Outcome> Run(StepId step, const std::vector<PartitionTerm>& terms,
                               std::vector<float>& sum) {
    step_ = step;
    std::optional<Result<Trainer::Outcome>> outcome;
    GradientWork work{.step = step,
                      .version = 17,
                      .parameters = parameters_,
                      .terms = terms,
                      .sum = sum,
                      .progress = [this](uint64_t samples) { told_.push_back(samples); },
                      .final =
                          [this](size_t begin, size_t end, const Tally& tally) {
                            final_.emplace_back(begin, end);
                            early_ = tally;
                          }};
    trainer_->Accumulate(std::move(work), cancel_, [&](Result<Trainer::Outcome> result) {
      EXPECT_FALSE(outcome.has_value()) << "done ran twice";
      outcome = std::move(result);
    });
    EXPECT_FALSE(outcome.has_value()) << "done ran inside the call";
    rig_.loop.RunUntil([] { return false; });
    return outcome.value();
  }

  // The batch's samples in partitions [begin, end), as positions in the data set.
  std::vector<uint64_t> BatchOf(StepId step, PartitionId begin, PartitionId end) const {
    const auto first = std::accumulate(sizes_.begin(), sizes_.begin() + begin, uint64_t{0});
    const auto last = std::accumulate(sizes_.begin(), sizes_.begin() + end, uint64_t{0});
    std::vector<uint64_t> samples;
    for (const uint32_t sample : schedule_.Rows(step)) {
      if (sample >= first && sample < last) samples.push_back(sample);
    }
    return samples;
  }

  void ExpectSum(StepId step, const std::vector<PartitionTerm>& terms) {
    std::vector<float> sum(VectorLength(kParameters), 1.0f);
    const auto outcome = Run(step, terms, sum);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_EQ(outcome->samples, trainer_->Samples(step, terms));
    std::vector<double> wanted(sum.size(), 1.0);
    Tally tally;
    for (const PartitionTerm& term : terms) {
      for (const uint64_t sample : BatchOf(step, term.begin, term.end)) {
        std::vector<double> one(sum.size(), 0.0);
        for (size_t i = 0; i < kParameters; ++i) one[i] = GradientOf(sample, i);
        tally.Add(term.coefficient, {LossOf(sample), counts_tokens_ ? TokensOf(sample) : 1});
        for (size_t i = 0; i < sum.size(); i += 2) {
          const Complex scaled = term.coefficient * Complex(one[i], one[i + 1]);
          wanted[i] += scaled.real();
          wanted[i + 1] += scaled.imag();
        }
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      EXPECT_NEAR(sum[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << "at " << i;
    }
    EXPECT_LE(std::abs(outcome->tally.loss - tally.loss), 1e-12 * std::abs(tally.loss));
    EXPECT_LE(std::abs(outcome->tally.weight - tally.weight), 1e-12 * std::abs(tally.weight));
  }

  TestRig rig_;
  std::vector<uint32_t> sizes_ = {30, 20, 0, 50, 3};
  BatchSchedule schedule_{7, sizes_, 40};
  PartitionStore store_;
  std::vector<float> parameters_ = {1, 2, 3};
  std::shared_ptr<ForeignTrainer> foreign_ = std::make_shared<ForeignTrainer>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::function<Status(const ForeignWork&)> on_call_;
  bool counts_tokens_ = false;  // Samples weigh their number of tokens.
  std::unique_ptr<Trainer> trainer_;
  StepId step_ = 0;
  std::vector<Seen> seen_;
  std::vector<uint64_t> told_;
  std::vector<std::pair<size_t, size_t>> final_;  // In the order in which they were handed out.
  Tally early_;                                   // The tally that goes with them.
};

TEST_F(CallbackTrainer, SumsGradientsAndLossesWithEveryKindOfCoefficient) {
  for (const StepId step : {0, 1, 2, 7}) ExpectSum(step, {{0, 5, 1.0}});
  ExpectSum(1, {{0, 1, 0.5}, {1, 3, -2.0}, {3, 4, -2.0}, {4, 5, 3.0}});
  ExpectSum(1, {{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}});
  ExpectSum(4, {{0, 2, 1.0}, {1, 4, {0.28, 0.96}}, {4, 5, 2.0}});
}

TEST_F(CallbackTrainer, SamplesWeighWhatTheCallSays) {
  counts_tokens_ = true;
  ExpectSum(2, {{0, 5, 1.0}});
  ExpectSum(1, {{0, 1, 0.5}, {1, 3, -2.0}, {3, 4, -2.0}, {4, 5, 3.0}});
  ExpectSum(1, {{0, 2, {0.6, -0.8}}, {2, 4, {0, 1}}, {4, 5, {-1, 0.25}}});
}

TEST_F(CallbackTrainer, AWeightThatNothingCanBeDividedByIsTheTrainersFault) {
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  for (const double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    on_call_ = [weight](const ForeignWork& work) {
      *work.weight = weight;
      return Status::Ok();
    };
    for (const Complex coefficient : {Complex(1), Complex(0, 1)}) {
      const auto outcome = Run(1, {{0, 2, coefficient}}, sum);
      EXPECT_EQ(outcome.code(), StatusCode::kCallback);
      EXPECT_THAT(outcome.status().message(),
                  HasSubstr("a weight must be finite and not negative"));
    }
  }
}

TEST_F(CallbackTrainer, OneCallForEachRunOfPartitionsWithOneCoefficient) {
  ExpectSum(1, {{0, 2, 0.5}, {3, 4, 0.5}, {4, 5, 2.0}});  // Partition 2 is empty.
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].begin, 0u);
  EXPECT_EQ(seen_[0].end, 4u);
  EXPECT_EQ(seen_[0].coefficient, 0.5);
  EXPECT_EQ(seen_[0].samples, BatchOf(1, 0, 4));
  EXPECT_EQ(seen_[1].begin, 4u);
  EXPECT_EQ(seen_[1].samples, BatchOf(1, 4, 5));
  seen_.clear();
  ExpectSum(1, {{0, 1, 0.5}, {3, 4, 0.5}});  // Partition 1 is between them.
  EXPECT_EQ(seen_.size(), 2u);
  seen_.clear();
  ExpectSum(1, {{0, 1, {0.6, 0.8}}});
  EXPECT_EQ(seen_.at(0).coefficient, 1) << "the library applies complex ones";
}

TEST_F(CallbackTrainer, EveryStepHasItsBatchWhoeverAsks) {
  std::vector<uint64_t> whole;
  for (StepId step = 0; step < schedule_.steps_per_epoch(); ++step) {
    seen_.clear();
    ExpectSum(step, {{0, 5, 1.0}});
    whole.insert(whole.end(), seen_.at(0).samples.begin(), seen_.at(0).samples.end());
  }
  std::sort(whole.begin(), whole.end());
  std::vector<uint64_t> all(103);
  std::iota(all.begin(), all.end(), uint64_t{0});
  EXPECT_EQ(whole, all) << "an epoch has every sample once";
}

TEST_F(CallbackTrainer, SamplesOfTheJobComeWithTheCall) {
  const Dataset data = MakeSamples(kFeatures, 3, true, 103, 2);
  uint32_t start = 0;
  for (PartitionId p = 0; p < sizes_.size(); start += sizes_[p++]) {
    store_[p] = std::make_shared<MemorySource>(Select(data, Iota(start, start + sizes_[p])));
  }
  Make(rig_.loop, *rig_.device, {kFeatures, 3});
  ExpectSum(2, {{0, 3, 1.0}, {3, 5, -1.0}});
  ASSERT_EQ(seen_.size(), 2u);
  for (const Seen& call : seen_) {
    ASSERT_TRUE(call.batch);
    const std::vector<uint32_t> rows(call.samples.begin(), call.samples.end());
    const Dataset wanted = Select(data, rows);
    EXPECT_EQ(call.batch->label, wanted.label);
    EXPECT_EQ(call.batch->row_begin, wanted.row_begin);
    EXPECT_EQ(call.batch->column, wanted.column);
    EXPECT_EQ(call.batch->value, wanted.value);
  }
}

TEST_F(CallbackTrainer, ErrorsSayWhereAndKeepTheirCode) {
  on_call_ = [](const ForeignWork&) { return Status::Callback("accumulate returned 42"); };
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  auto outcome = Run(1, {{3, 5, 1.0}}, sum);
  EXPECT_EQ(outcome.code(), StatusCode::kCallback);
  EXPECT_THAT(outcome.status().ToString(), HasSubstr("accumulate returned 42"));
  EXPECT_THAT(outcome.status().ToString(), HasSubstr("step 1"));
  EXPECT_THAT(outcome.status().ToString(), HasSubstr("partitions 3 to 4"));
  on_call_ = [](const ForeignWork&) { return Status::Cancelled("why not"); };
  EXPECT_EQ(Run(1, {{3, 5, 1.0}}, sum).code(), StatusCode::kCallback) << "nobody cancelled";
  on_call_ = [](const ForeignWork&) -> Status { throw 7; };
  EXPECT_EQ(Run(1, {{3, 5, 1.0}}, sum).code(), StatusCode::kInternal);
}

TEST_F(CallbackTrainer, CancelledWorkEndsAtTheNextCall) {
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  on_call_ = [this](const ForeignWork& work) {
    *cancel_ = true;
    EXPECT_TRUE(work.cancelled);
    return Status::Callback("stopped half-way");
  };
  EXPECT_EQ(Run(1, {{0, 5, 1.0}}, sum).code(), StatusCode::kCancelled);
  EXPECT_EQ(Run(1, {{0, 5, 1.0}}, sum).code(), StatusCode::kCancelled);
  EXPECT_EQ(seen_.size(), 1u) << "what is cancelled before it begins is not begun";
}

TEST_F(CallbackTrainer, ProgressCountsTheSamplesOfAllCalls) {
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  on_call_ = [](const ForeignWork& work) {
    work.progress(2);
    work.progress(1u << 20);  // A number beyond the samples is clamped.
    return Status::Ok();
  };
  ASSERT_TRUE(Run(1, {{0, 3, 1.0}, {3, 5, 2.0}}, sum).ok());
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back(), schedule_.batch_size(1));
}

// Calls of earlier runs, and of runs with complex coefficients, cannot know what is final.
TEST_F(CallbackTrainer, OnlyTheLastCallHandsOutRanges) {
  using Range = std::pair<size_t, size_t>;
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  on_call_ = [](const ForeignWork& work) {
    work.ready(2, 3);
    return Status::Ok();
  };
  const auto outcome = Run(1, {{0, 3, 1.0}, {3, 5, 2.0}}, sum);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_THAT(final_, ElementsAre(Range(2, 4)));
  EXPECT_EQ(early_, outcome->tally);
  final_.clear();
  ASSERT_TRUE(Run(1, {{0, 3, 1.0}, {3, 5, {0, 2.0}}}, sum).ok());
  EXPECT_THAT(final_, IsEmpty());
  on_call_ = [](const ForeignWork& work) {
    work.ready(2, 3);
    *work.weight += 1;
    return Status::Ok();
  };
  EXPECT_THAT(Run(1, {{0, 5, 1.0}}, sum).status().ToString(), HasSubstr("was changed after"));
}

TEST_F(CallbackTrainer, HoldsOnTheDeviceInOrderBeforeTheWork) {
  std::vector<std::string> calls;
  foreign_->hold = [&](PartitionId partition, uint64_t first, uint64_t count) {
    calls.push_back("hold " + std::to_string(partition) + " at " + std::to_string(first) + ", " +
                    std::to_string(count));
    return partition == 3 ? Status::Callback("hold returned 5") : Status::Ok();
  };
  on_call_ = [&](const ForeignWork&) {
    calls.push_back("work");
    return Status::Ok();
  };
  Status failed;
  trainer_->Hold(1, [&](const Status& why) { failed = why; });
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  ASSERT_TRUE(Run(1, {{1, 2, 1.0}}, sum).ok());
  EXPECT_TRUE(failed.ok());
  EXPECT_THAT(calls, ElementsAre("hold 1 at 30, 20", "work"));
  trainer_->Hold(3, [&](const Status& why) { failed = why; });
  rig_.loop.RunUntil([] { return false; });
  EXPECT_EQ(failed.code(), StatusCode::kCallback);
  EXPECT_THAT(failed.ToString(), HasSubstr("hold returned 5"));
  EXPECT_THAT(failed.ToString(), HasSubstr("partition 3"));
}

TEST_F(CallbackTrainer, LetsGoOfWhatItHoldsAfterTheWork) {
  std::vector<std::string> calls;
  const auto said = [&](const char* what, PartitionId partition, uint64_t first, uint64_t count) {
    calls.push_back(what + std::to_string(partition) + " at " + std::to_string(first) + ", " +
                    std::to_string(count));
  };
  foreign_->hold = [&](PartitionId partition, uint64_t first, uint64_t count) {
    said("hold ", partition, first, count);
    return partition == 3 ? Status::Callback("hold returned 5") : Status::Ok();
  };
  foreign_->drop = [&](PartitionId partition, uint64_t first, uint64_t count) {
    said("drop ", partition, first, count);
  };
  const auto ignore = [](const Status&) {};
  trainer_->Hold(1, ignore);
  trainer_->Hold(0, ignore);
  trainer_->Hold(1, ignore);
  trainer_->Hold(3, ignore);
  trainer_->LetGo();
  EXPECT_THAT(calls, ElementsAre("hold 1 at 30, 20", "hold 0 at 0, 30", "drop 1 at 30, 20",
                                 "hold 1 at 30, 20", "hold 3 at 50, 50", "drop 0 at 0, 30",
                                 "drop 1 at 30, 20"))
      << "not what failed";
  calls.clear();
  trainer_->LetGo();
  trainer_->Hold(0, ignore);
  trainer_ = nullptr;
  EXPECT_THAT(calls, IsEmpty()) << "no job is left to hold it for";
  Make(rig_.loop, *rig_.device);
  trainer_->Hold(4, ignore);
  trainer_ = nullptr;
  EXPECT_THAT(calls, ElementsAre("hold 4 at 100, 3", "drop 4 at 100, 3"));
}

// A device that closes runs none of the work that waits, and the partitions are dropped all the
// same, but only when the call that is running has ended.
TEST(CallbackTrainerOnAThread, LetsGoWhenTheDeviceCloses) {
  ThreadLoop loop;
  std::atomic<bool> working = false, dropped = false, at_fault = false;
  auto foreign = std::make_shared<ForeignTrainer>();
  foreign->parameter_count = 1;
  foreign->hold = [](PartitionId, uint64_t, uint64_t) { return Status::Ok(); };
  foreign->drop = [&](PartitionId, uint64_t, uint64_t) {
    at_fault = at_fault || working;
    dropped = true;
  };
  foreign->accumulate = [&](const ForeignWork& work) {
    working = true;
    working.notify_all();
    while (!work.cancelled) std::this_thread::yield();
    EXPECT_FALSE(dropped);
    working = false;
    return Status::Ok();
  };
  auto device = MakeCpuDevice(loop, {.threads = 1}).value();
  PartitionStore store{{0, std::make_shared<MemorySource>(Dataset())}};
  const auto trainer =
      MakeCallbackTrainer(loop, *device, foreign, {}, store, BatchSchedule(1, {10}, 10));
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  const std::vector<float> parameters(1);
  std::vector<float> sum(2);
  const std::vector<PartitionTerm> terms = {{0, 1, 1.0}};
  trainer->Hold(0, [](const Status&) {});
  trainer->Accumulate({.parameters = parameters, .terms = terms, .sum = sum}, cancel,
                      [](const Result<Trainer::Outcome>&) {});
  working.wait(false);
  trainer->LetGo();
  *cancel = true;
  device = nullptr;
  EXPECT_TRUE(dropped);
  EXPECT_FALSE(at_fault);
}

TEST_F(CallbackTrainer, WhatDoesNotFitIsRefused) {
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  std::vector<float> tight(VectorLength(kParameters) - 1, 0.0f);
  EXPECT_EQ(Run(0, {{0, 6, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Run(0, {{0, 5, 1.0}}, tight).code(), StatusCode::kInvalidArgument);
  store_.erase(3);
  EXPECT_EQ(Run(0, {{0, 5, 1.0}}, sum).code(), StatusCode::kNotFound);
  store_[3] = std::make_shared<MemorySource>(MakeSamples(kFeatures, 3, false, 50, 1));
  EXPECT_EQ(Run(0, {{0, 5, 1.0}}, sum).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_THAT(sum, Each(0.0f));
  EXPECT_TRUE(CheckForeign(*foreign_).ok());
  foreign_->parameter_count = 0;
  EXPECT_EQ(CheckForeign(*foreign_).code(), StatusCode::kInvalidArgument);
  foreign_->parameter_count = ForeignTrainer::kMostParameters + 1;
  EXPECT_EQ(CheckForeign(*foreign_).code(), StatusCode::kInvalidArgument);
}

TEST_F(CallbackTrainer, SpeedIsNotKnownBeforeThereIsWork) {
  std::optional<double> speed;
  trainer_->Calibrate(nullptr, [&](Result<double> result) { speed = *result; });
  rig_.loop.RunUntil([] { return false; });
  EXPECT_EQ(speed, 0.0);
  EXPECT_THAT(seen_, IsEmpty());
}

// Progress comes from another thread while the loop runs, and work outlives the trainer.
TEST_F(CallbackTrainer, WorksOnADeviceWithItsOwnThread) {
  ThreadLoop loop;
  const auto device =
      MakeCpuDevice(loop, {.threads = 1, .kernels = "baseline", .plain_threads = true});
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  Make(loop, **device);
  on_call_ = [](const ForeignWork& work) {
    for (uint64_t done = 1; done <= work.samples.size(); ++done) work.progress(done);
    return Status::Ok();
  };
  step_ = 1;
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  const std::vector<PartitionTerm> terms = {{0, 5, 1.0}};
  std::optional<Result<Trainer::Outcome>> outcome;
  uint64_t reported = 0;
  trainer_->Accumulate({.step = 1,
                        .version = 17,
                        .parameters = parameters_,
                        .terms = terms,
                        .sum = sum,
                        .progress =
                            [&](uint64_t samples) {
                              EXPECT_FALSE(outcome.has_value());
                              EXPECT_GE(samples, reported);
                              reported = samples;
                            }},
                       nullptr, [&](Result<Trainer::Outcome> result) { outcome = result; });
  trainer_.reset();
  store_.clear();
  loop.RunUntil([&] { return outcome.has_value(); });
  ASSERT_TRUE(outcome->ok()) << outcome->status().ToString();
  EXPECT_EQ((*outcome)->samples, 40u);
  EXPECT_EQ(reported, 40u);
}

// The call goes on only when the loop's thread has heard of the range.
TEST_F(CallbackTrainer, HandsOutRangesWhileItIsCalled) {
  ThreadLoop loop;
  const auto device =
      MakeCpuDevice(loop, {.threads = 1, .kernels = "baseline", .plain_threads = true});
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  Make(loop, **device);
  std::atomic<bool> heard = false;
  on_call_ = [&heard](const ForeignWork& work) {
    work.ready(0, 2);
    heard.wait(false);
    return Status::Ok();
  };
  step_ = 1;
  std::vector<float> sum(VectorLength(kParameters), 0.0f);
  const std::vector<PartitionTerm> terms = {{0, 5, 1.0}};
  std::optional<Result<Trainer::Outcome>> outcome;
  trainer_->Accumulate({.step = 1,
                        .version = 17,
                        .parameters = parameters_,
                        .terms = terms,
                        .sum = sum,
                        .final =
                            [&](size_t begin, size_t end, const Tally&) {
                              EXPECT_EQ(begin, 0u);
                              EXPECT_EQ(end, 2u);
                              heard = true;
                              heard.notify_all();
                            }},
                       nullptr, [&](Result<Trainer::Outcome> result) { outcome = result; });
  loop.RunUntil([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->ok()) << outcome->status().ToString();
}

}  // namespace
}  // namespace motley
