// SPDX-License-Identifier: Apache-2.0
// Work that an executor lets its trainer begin ahead of the next order.
#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/runtime/worker/executor_rig.h"

namespace motley {
namespace {

using testing::IsEmpty;

class GoesAhead final : public Trainer {
 public:
  struct Begun {
    StepId step;
    std::vector<PartitionTerm> terms;
  };

  explicit GoesAhead(std::unique_ptr<Trainer> inner) : inner_(std::move(inner)) {}
  size_t parameter_count() const override { return inner_->parameter_count(); }
  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override {
    return inner_->Samples(step, terms);
  }
  void Calibrate(std::shared_ptr<const std::atomic<bool>> cancel,
                 std::function<void(Result<double>)> done) override {
    inner_->Calibrate(std::move(cancel), std::move(done));
  }
  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    ordered.emplace_back(work.step, work.ahead);
    inner_->Accumulate(std::move(work), std::move(cancel), std::move(done));
  }
  bool cuts_work() const override { return true; }  // An order is one call.
  bool goes_ahead() const override { return true; }
  void GoAhead(StepId step, std::span<const PartitionTerm> terms, Done done) override {
    begun.push_back({step, {terms.begin(), terms.end()}});
    end = std::move(done);
  }
  void LetGo() override { ++dropped; }

  std::vector<std::pair<StepId, bool>> ordered;
  std::vector<Begun> begun;
  Done end;
  int dropped = 0;

 private:
  const std::unique_ptr<Trainer> inner_;
};

class Ahead : public ExecutorRig {
 protected:
  static constexpr uint32_t kPartitions = 4;

  Ahead() : ExecutorRig(kPartitions) {
    auto made = std::make_unique<GoesAhead>(std::move(shop->trainer));
    trainer = made.get();
    shop->trainer = std::move(made);
    for (PartitionId p = 0; p < kPartitions; ++p) GivePartition(p);
    GiveParameters(1);
  }
  Status Give(StepId step, uint32_t order, bool ahead = false) {
    WorkOrder::What row = Row(step, order, {{0, 2, 1.0}});
    row.version = 1;
    row.ahead = ahead;
    return executor->Take(std::move(row));
  }

  GoesAhead* trainer = nullptr;
};

TEST_F(Ahead, BeginsWhenTheAnswerIsHandedOver) {
  ASSERT_TRUE(Give(1, 1).ok());
  EXPECT_THAT(trainer->begun, IsEmpty());
  Run();
  ASSERT_EQ(trainer->begun.size(), 1u);
  EXPECT_EQ(trainer->begun[0].step, 2u);
  ASSERT_EQ(trainer->begun[0].terms.size(), 1u);
  EXPECT_EQ(trainer->begun[0].terms[0].end, 2u);
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 1u) << "the answer does not wait for it";
  ASSERT_TRUE(Give(2, 1, /*ahead=*/true).ok());
  Run();
  ASSERT_TRUE(Give(3, 1).ok());
  Run();
  EXPECT_EQ(trainer->ordered,
            (std::vector<std::pair<StepId, bool>>{{1, false}, {2, true}, {3, false}}));
}

TEST_F(Ahead, DoesNotBeginAfterAnOrderThatIsCancelledOrIfAnotherWaits) {
  ASSERT_TRUE(Give(1, 1).ok());
  executor->Cancel(1, 0);
  Run();
  EXPECT_THAT(trainer->begun, IsEmpty());
  ASSERT_TRUE(Give(2, 1).ok());
  ASSERT_TRUE(Give(2, 2).ok());
  Run();
  EXPECT_EQ(trainer->begun.size(), 1u) << "after the last of them";
}

TEST_F(Ahead, AFailureIsTheWorkers) {
  ASSERT_TRUE(Give(1, 1).ok());
  Run();
  trainer->end(Status::Cancelled("dropped"));
  EXPECT_FALSE(failed);
  trainer->end(Status::Internal("the device is broken"));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), StatusCode::kInternal);
}

TEST_F(Ahead, EndsWithTheExecutor) {
  ASSERT_TRUE(Give(1, 1).ok());
  Run();
  executor->Stop();
  EXPECT_EQ(trainer->dropped, 1);
  trainer->end(Status::Internal("the device is broken"));
  executor.reset();
  EXPECT_EQ(trainer->dropped, 2);
  trainer->end(Status::Internal("the device is broken"));
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace motley
