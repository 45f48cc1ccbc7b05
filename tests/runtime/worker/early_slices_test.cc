// SPDX-License-Identifier: Apache-2.0
// Slices that leave while the rest of their vector is computed (docs/decisions/0034).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "data/index_source.h"
#include "tests/runtime/forwarding_transport.h"
#include "tests/runtime/job_world.h"
#include "tests/runtime/worker/executor_rig.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- A whole job ---

// For each step, the offsets of the slices that the server has, in the order of arrival.
class Arrivals final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  std::map<StepId, std::vector<uint64_t>> of_step;

 private:
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    ForwardingTransport::OnPayloadDone(peer, header, discarded);
    if (header.kind == FrameKind::kGradient) of_step[header.step].push_back(header.offset);
  }
};

constexpr size_t kSamples = 600;
constexpr size_t kParameters = 7;  // An eighth value pads the vector.
constexpr size_t kHigh = 4;        // Parameters from here on are done first.

double Target(uint64_t sample, size_t parameter) {
  return std::cos(0.1 * static_cast<double>(sample * (parameter + 1)));
}

// Adds half of the squared distance to each sample's target.
void AddSquares(std::span<const uint64_t> samples, std::span<const float> parameters, size_t begin,
                size_t end, std::span<float> sum) {
  for (const uint64_t sample : samples) {
    for (size_t i = begin; i < end; ++i) {
      sum[i] += static_cast<float>(parameters[i] - Target(sample, i));
    }
  }
}
double LossOf(std::span<const uint64_t> samples, std::span<const float> parameters) {
  double loss = 0;
  for (const uint64_t sample : samples) {
    for (size_t i = 0; i < kParameters; ++i) {
      loss += std::pow(parameters[i] - Target(sample, i), 2) / 2;
    }
  }
  return loss;
}

// Computes the last parameters and hands them out. It computes the first ones only when the server
// has the slices of the last ones.
class TwoRanges final : public Trainer {
 public:
  TwoRanges(Loop& loop, BatchSchedule schedule, const Arrivals& arrivals)
      : loop_(loop), schedule_(std::move(schedule)), arrivals_(arrivals) {}

  size_t parameter_count() const override { return kParameters; }
  bool cuts_work() const override { return true; }
  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override {
    return SamplesOf(step, terms).size();
  }
  void Calibrate(std::shared_ptr<const std::atomic<bool>>,
                 std::function<void(Result<double>)> done) override {
    loop_.Post([done = std::move(done)] { done(1000.0); });
  }
  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>>, Done done) override {
    loop_.Post([this, call = std::make_shared<std::pair<GradientWork, Done>>(std::move(work),
                                                                             std::move(done))] {
      const GradientWork& begun = call->first;
      const std::vector<uint64_t> samples = SamplesOf(begun.step, begun.terms);
      AddSquares(samples, begun.parameters, kHigh, kParameters, begun.sum);
      const Tally tally{LossOf(samples, begun.parameters), static_cast<double>(samples.size())};
      begun.final(kHigh, kParameters, tally);
      Continue(*call, samples, tally, call);
    });
  }

 private:
  void Continue(const std::pair<GradientWork, Done>& call, const std::vector<uint64_t>& samples,
                const Tally& tally, std::shared_ptr<const void> keep) {
    const GradientWork& work = call.first;
    const auto arrived = arrivals_.of_step.find(work.step);
    if (arrived == arrivals_.of_step.end() || arrived->second.size() < 2) {
      loop_.After(std::chrono::milliseconds(1),
                  [this, &call, samples, tally, keep] { Continue(call, samples, tally, keep); });
      return;
    }
    AddSquares(samples, work.parameters, 0, kHigh, work.sum);
    call.second(Outcome{.samples = samples.size(), .compute = Duration(1), .tally = tally});
  }
  std::vector<uint64_t> SamplesOf(StepId step, std::span<const PartitionTerm> terms) const {
    std::vector<uint64_t> samples;
    for (const PartitionTerm& term : terms) {
      for (PartitionId p = term.begin; p < term.end; ++p) {
        const BatchSchedule::Range range = (*schedule_.SharedRanges(step))[p];
        std::vector<uint32_t> rows;
        schedule_.At(step).AppendRows(range.begin, range.count, schedule_.first_sample(p), rows);
        for (const uint32_t row : rows) samples.push_back(schedule_.first_sample(p) + row);
      }
    }
    return samples;
  }

  Loop& loop_;
  BatchSchedule schedule_;
  const Arrivals& arrivals_;
};

TEST(EarlySlices, ArriveBeforeTheLastRangeIsComputed) {
  JobWorld world(JobWorld::Options(1, "none"), kSamples);
  const IndexSource numbers(kSamples);
  world.job_source = &numbers;
  world.options.slice_length = 2;
  world.options.optimizer.learning_rate = 0.1;
  auto tap = std::make_unique<Arrivals>(std::move(world.server_transport));
  const Arrivals& arrivals = *tap;
  world.server_transport = std::move(tap);
  ForeignTrainer whole;
  whole.parameter_count = kParameters;
  whole.accumulate = [](const ForeignWork& work) {
    AddSquares(work.samples, work.parameters, 0, kParameters, work.sum);
    *work.loss += LossOf(work.samples, work.parameters);
    return Status::Ok();
  };
  world.options.foreign = std::make_shared<const ForeignTrainer>(whole);
  ForeignTrainer in_ranges = whole;
  in_ranges.make = [&arrivals](Loop& loop, Device&, const PartitionStore&,
                               const BatchSchedule& schedule) {
    return std::make_unique<TwoRanges>(loop, schedule, arrivals);
  };
  world.brought = std::make_shared<const ForeignTrainer>(in_ranges);
  world.StartServer();
  world.StartWorker(0);
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.audited_steps, 12u);
  EXPECT_LT(result.max_decode_error, 1e-6);
  EXPECT_LT(result.batch_loss.back(), result.batch_loss.front());
  ASSERT_EQ(arrivals.of_step.size(), 12u);
  for (const auto& [step, offsets] : arrivals.of_step) {
    EXPECT_THAT(offsets, ElementsAre(4, 6, 0, 2)) << step;
  }
}

class EarlySlicesOfCodes : public testing::TestWithParam<const char*> {};

// Layers are done from the last one on.
TEST_P(EarlySlicesOfCodes, OfLayersLeaveInTheOrderInWhichTheyAreDone) {
  JobOptions options = JobWorld::Options(3, GetParam());
  options.model = {"mlp:10", 7, 4};  // 80 parameters, then 44.
  options.slice_length = 16;
  options.parts = 1;
  JobWorld world(options);
  auto tap = std::make_unique<Arrivals>(std::move(world.server_transport));
  const Arrivals& arrivals = *tap;
  world.server_transport = std::move(tap);
  world.StartServer();
  world.StartWorkers();
  world.ExpectSerial(2e-5);
  for (const auto& [step, offsets] : arrivals.of_step) {
    EXPECT_EQ(offsets.front(), 80u) << step;
    EXPECT_EQ(std::set<uint64_t>(offsets.begin(), offsets.end()).size(), 8u) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, EarlySlicesOfCodes,
                         testing::Values("none", "repetition", "cyclic", "rs", "heterogeneous"));

// --- A worker's executor ---

// Reports values as final when the test wants it.
class ByHand final : public Trainer {
 public:
  explicit ByHand(size_t count) : count_(count) {}
  size_t parameter_count() const override { return count_; }
  bool cuts_work() const override { return true; }
  uint64_t Samples(StepId, std::span<const PartitionTerm>) const override { return 200; }
  void Calibrate(std::shared_ptr<const std::atomic<bool>>,
                 std::function<void(Result<double>)>) override {}
  void Accumulate(GradientWork begun, std::shared_ptr<std::atomic<bool>> stop,
                  Done ended) override {
    work = std::move(begun);
    cancel = std::move(stop);
    done = std::move(ended);
  }
  void Final(size_t begin, size_t end, float value) {
    std::fill(work.sum.begin() + static_cast<std::ptrdiff_t>(begin),
              work.sum.begin() + static_cast<std::ptrdiff_t>(end), value);
    if (work.final) work.final(begin, end, {.loss = 3, .weight = 200});
  }
  void Forget() {
    work = {};
    done = nullptr;
  }
  void End() {
    const Done ended = std::exchange(done, nullptr);
    if (*cancel) return ended(Status::Cancelled("not wanted"));
    ended(Outcome{.samples = 200, .compute = Duration(1), .tally = {.loss = 3, .weight = 200}});
  }

  GradientWork work;
  std::shared_ptr<std::atomic<bool>> cancel;
  Done done;

 private:
  const size_t count_;
};

// 18 parameters in slices of 8.
class EarlyExecutor : public ExecutorRig {
 protected:
  EarlyExecutor() : ExecutorRig(2) {
    auto made = std::make_unique<ByHand>(shop->model->parameter_count());
    trainer = made.get();
    shop->trainer = std::move(made);
    GivePartition(0);
    GivePartition(1);
    GiveParameters(0);
  }
  // The trainer's work holds the workshop, which holds the trainer.
  ~EarlyExecutor() override { trainer->Forget(); }
  void Order(uint32_t order = 1) { EXPECT_TRUE(executor->Take(Row(0, order, {{0, 2, 1.0}})).ok()); }
  std::vector<uint64_t> Offsets() const {
    std::vector<uint64_t> offsets;
    for (const auto& [id, message] : transport.held) {
      const Header& header = message.header;
      if (header.kind == FrameKind::kGradient) offsets.push_back(header.offset);
    }
    return offsets;
  }
  std::vector<wire::AnswerEndT> Ends() const { return Said<wire::AnswerEndT>(); }

  ByHand* trainer = nullptr;
};

TEST_F(EarlyExecutor, ASliceLeavesWhenAllOfItIsFinal) {
  Order();
  trainer->Final(10, 18, 2);
  EXPECT_THAT(Offsets(), ElementsAre(16)) << "of the one before, two values are missing";
  trainer->Final(0, 9, 1);
  EXPECT_THAT(Offsets(), ElementsAre(16, 0));
  trainer->Final(9, 10, 3);
  EXPECT_THAT(Offsets(), ElementsAre(16, 0, 8));
  EXPECT_THAT(Ends(), IsEmpty());
  trainer->End();
  EXPECT_THAT(Offsets(), ElementsAre(16, 0, 8)) << "once each";
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_TRUE(Ends()[0].finished);
  const Header header = transport.sent[2];
  EXPECT_DOUBLE_EQ(header.norm, std::sqrt(1 + 9 + 6 * 4.0)) << "its own";
  EXPECT_EQ(header.tally, (Tally{.loss = 3, .weight = 200}));
  EXPECT_EQ(header.total, 18u);
}

TEST_F(EarlyExecutor, WhatIsNotHandedOutLeavesAtTheEnd) {
  Order();
  trainer->Final(8, 16, 2);
  trainer->Final(0, 5, 1);
  EXPECT_THAT(Offsets(), ElementsAre(8));
  trainer->End();
  EXPECT_THAT(Offsets(), ElementsAre(8, 0, 16));
}

TEST_F(EarlyExecutor, SaysWhichSlicesTheLinkDidNotWaitFor) {
  Order();
  trainer->Final(16, 18, 2);
  trainer->Final(8, 16, 2);  // The previous slice has not left.
  while (!Offsets().empty()) transport.LetGo(FrameKind::kGradient);
  trainer->Final(0, 8, 2);
  std::vector<bool> paused;
  for (const Header& header : transport.sent) paused.push_back(header.paused);
  EXPECT_THAT(paused, ElementsAre(false, false, true));
}

TEST_F(EarlyExecutor, AVectorThatIsStillComputedIsNotUsedForAnother) {
  Order(1);
  trainer->Final(0, 8, 1);
  transport.LetGo(FrameKind::kGradient);
  Order(2);
  Run();
  trainer->End();  // The first row ends, so the second begins in the other vector.
  EXPECT_THAT(Offsets(), ElementsAre(8, 16));
  ASSERT_TRUE(trainer->done);
  trainer->Final(0, 18, 5);
  trainer->End();
  EXPECT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Offsets().size(), 5u);
}

// The server takes a row's end for that of the oldest assigned row.
TEST_F(EarlyExecutor, RowsEndInOrderAlsoWhenAllSlicesHaveLeftBefore) {
  Order(1);
  Order(2);
  executor->Cancel(0, 2);
  trainer->Final(0, 18, 1);
  while (!Offsets().empty()) transport.LetGo(FrameKind::kGradient);
  trainer->End();
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[0].order, 1u);
  EXPECT_TRUE(Ends()[0].finished);
  EXPECT_EQ(Ends()[1].order, 2u);
}

TEST_F(EarlyExecutor, ACancelledRowTakesItsSlicesBackAndSendsNoMore) {
  for (const bool whole_step : {false, true}) {
    Order(7);
    trainer->Final(0, 8, 1);
    trainer->Final(16, 18, 1);
    transport.LetGo(FrameKind::kGradient);
    if (whole_step) {
      executor->Cancel(0, 0);
    } else {
      executor->Cancel(0, 7);
    }
    EXPECT_THAT(Offsets(), IsEmpty());
    trainer->Final(8, 16, 1);
    EXPECT_THAT(Offsets(), IsEmpty());
    EXPECT_TRUE(*trainer->cancel);
    trainer->End();
    EXPECT_THAT(Offsets(), IsEmpty());
    ASSERT_FALSE(Ends().empty());
    EXPECT_FALSE(Ends().back().finished);
  }
  Order(8);
  trainer->Final(0, 18, 4);
  EXPECT_THAT(Offsets(), ElementsAre(0, 8, 16)) << "nothing of the row before is left";
}

TEST_F(EarlyExecutor, AFilterSeesTheWholeVectorBeforeAnyOfItLeaves) {
  size_t filtered = 0;
  executor->SetAnswerFilter([&](StepId, std::span<float> sum) {
    ++filtered;
    for (float& value : sum) value *= 2;
  });
  Order();
  trainer->Final(0, 18, 1);
  EXPECT_THAT(Offsets(), IsEmpty());
  trainer->End();
  EXPECT_EQ(filtered, 1u);
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(8 * 4.0));
}

TEST_F(EarlyExecutor, OnceStoppedNothingMoreLeaves) {
  Order();
  trainer->Final(0, 8, 1);
  executor->Stop();
  EXPECT_THAT(Offsets(), IsEmpty());
  trainer->Final(8, 18, 1);
  trainer->End();
  EXPECT_THAT(Offsets(), IsEmpty());
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace motley
