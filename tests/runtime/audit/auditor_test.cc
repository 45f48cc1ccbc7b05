// SPDX-License-Identifier: Apache-2.0
// Tests what an audit compares, when the job waits for it, and what the log keeps for it.
#include "runtime/audit/auditor.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "coding/kernels/sketch.h"
#include "devices/host_device.h"
#include "devices/paced_device.h"
#include "runtime/audit/answer_log.h"
#include "runtime/audit/audit.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

using testing::HasSubstr;

// One hidden unit with an input that is 0 up to rounding for the first of two samples.
class Kinks : public testing::Test {
 protected:
  Kinks() {
    options_.model = {"mlp:1", 2, 2};
    data_ = {.features = 2, .classes = 2, .dense = {1, 1, 3, 1}, .label = {0, 1}};
    data_.sparse = false;
    gradient_ = JobGradient::Create(options_, MemorySource(data_).shape()).value();
  }

  Result<AuditResult> AuditOf(const std::vector<float>& server, const std::vector<float>& worker,
                              float factor = 1) {
    const MemorySource source(data_);
    const BatchSchedule schedule(7, {2}, 2);
    const std::atomic<bool> never = false;
    const std::vector<uint32_t> rows = {0, 1};
    std::vector<float> answer(VectorLength(worker.size()), 0);
    Tally tally;
    MOTLEY_RETURN_IF_ERROR(gradient_->Sum(*device_, {0, 0, 0, 1, rows}, worker, source, never,
                                          std::span(answer).first(worker.size()), tally));
    for (float& value : answer) value *= factor;
    auto form = std::make_shared<CodeForm>();
    form->partitions = form->workers = 1;
    form->rows = {{{0, 1}}};
    AuditRequest request;
    request.parameters = std::make_shared<const std::vector<float>>(server);
    const Slicing cut{answer.size(), answer.size()};
    request.answers = {0, 5, 9, cut, {}, form, {}};
    const double sketch = SketchOf(answer, SignsAt(5, 0, 0)).projection;
    declared_ = SketchOf(answer, SignsAt(9, 0, 0)).projection;
    request.answers.answers.push_back({0, 0, 0, {sketch}, tally});
    answer.resize(server.size());
    request.decoded = answer;
    return Audit(*device_, *gradient_, source, schedule, std::move(request), never);
  }

  JobOptions options_;
  Dataset data_;
  VirtualLoop loop_;
  const std::unique_ptr<Device> device_ = MakeInlineDevice(loop_).value();
  std::shared_ptr<JobGradient> gradient_;
  double declared_ = 0;  // The last answer's sketch as its header declares it.
};

TEST_F(Kinks, ThatRoundingExplainsAreExcused) {
  // The unit has two weights and a bias, and two weights and two biases follow it.
  std::vector<float> server(gradient_->parameter_count(), 0.5F);
  server[0] = 0.75F;
  server[1] = -0.75F;
  server[2] = 0;
  server[3] = 1.5F;
  std::vector<float> worker = server;
  worker[0] = std::nextafter(worker[0], 1.0F);  // Another order of summation would give this.
  const auto honest = AuditOf(server, worker);
  ASSERT_TRUE(honest.ok()) << honest.status().ToString();
  EXPECT_GT(honest->verdicts[0].difference, 1e-2) << "else nothing is shown";
  EXPECT_FALSE(honest->Agrees({0, 0, 0, declared_})) << "of what is excused nothing can be told";
  EXPECT_EQ(honest->verdicts[0].off, nullptr);
  server[0] = worker[0] = 1;
  const auto same = AuditOf(server, worker);
  ASSERT_TRUE(same.ok()) << same.status().ToString();
  EXPECT_TRUE(same->Agrees({0, 0, 0, declared_}));
  EXPECT_FALSE(same->Agrees({0, 0, 0, -0.5 * declared_}));
  EXPECT_FALSE(same->Agrees({0, 1, 0, declared_})) << "there is no such row";
  const auto liar = AuditOf(server, worker, -0.5F);
  ASSERT_TRUE(liar.ok()) << liar.status().ToString();
  EXPECT_STREQ(liar->verdicts[0].off, "gradient");
}

TEST_F(Kinks, NothingIsRightBesideASumThatIsNotFinite) {
  const std::vector<float> worker(gradient_->parameter_count(), 0.5F);
  std::vector<float> server = worker;
  server[0] = std::numeric_limits<float>::infinity();
  const auto audit = AuditOf(server, worker);
  ASSERT_FALSE(audit.ok()) << audit->verdicts[0].difference;
  EXPECT_THAT(audit.status().ToString(), HasSubstr("the server's own sum is not finite"));
}

TEST_F(Kinks, WhereNothingIsToBeSentNothingIsConfirmed) {
  std::vector<float> server(gradient_->parameter_count(), 0.5F);
  data_.dense = {0, 0, 0, 0};  // Both classes are as likely as they are frequent.
  const auto audit = AuditOf(server, server);
  ASSERT_TRUE(audit.ok()) << audit.status().ToString();
  EXPECT_EQ(audit->verdicts[0].off, nullptr);
  EXPECT_FALSE(audit->verdicts[0].confirms);
  EXPECT_FALSE(audit->Agrees({0, 0, 0, declared_}));
  data_.dense = {1, 1, 3, 1};
  server[3] = 1.5F;
  const auto usual = AuditOf(server, server);
  ASSERT_TRUE(usual.ok()) << usual.status().ToString();
  EXPECT_TRUE(usual->verdicts[0].confirms);
  EXPECT_TRUE(usual->Agrees({0, 0, 0, declared_}));
}

// Keeps its work until a test does it.
class HeldDevice final : public HostDevice {
 public:
  explicit HeldDevice(const Device& like) : HostDevice(like.info(), like.kernels()) {}
  void* queue() const override { return nullptr; }
  ParallelFor& parallel() override { return *parallel_; }
  void Submit(double, Work work, Done done) override {
    if (full) throw std::bad_alloc();
    work_ = std::move(work);
    done_ = std::move(done);
  }
  void PostFromWork(Task task) override { task(); }
  void DoIt() { done_(work_()); }

  bool full = false;

 private:
  Work work_;
  Done done_;
  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
};

class HeldAudit : public Kinks {
 protected:
  explicit HeldAudit(double time = 0.01, double fraction = 1) {
    options_.audit_fraction = fraction;
    options_.audit_time = time;
    options_.workers = 1;
    auditor_.emplace(loop_, device, options_, gradient_, source_, BatchSchedule(7, {2}, 2),
                     Auditor::Hooks{.found = [](const Auditor::Finding&) {},
                                    .failed = [this](const Status& why) { said = why.ToString(); },
                                    .idle = nullptr});
    auditor_->log().OpenLeases(0, 1, {8, 8}, {8});
    const size_t count = gradient_->parameter_count();
    const auto copy = auditor_->Prepare(0, std::make_shared<std::vector<float>>(count), nullptr);
    *copy = std::vector<float>(count);
  }

  HeldDevice device{*device_};
  std::string said;
  const MemorySource source_{data_};
  std::optional<Auditor> auditor_;
};

// Otherwise a job that runs out of memory would never stop waiting for that audit.
TEST_F(HeldAudit, ThatDidNotBeginIsNotWaitedFor) {
  device.full = true;
  EXPECT_THROW(auditor_->Begin(), std::bad_alloc);
  EXPECT_FALSE(auditor_->busy());
}

TEST_F(HeldAudit, IsGivenUpSomeTimeAfterTheEnd) {
  auditor_->Begin();
  auditor_->End(/*hurry=*/false);
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(60));
  device.DoIt();
  EXPECT_EQ(auditor_->counts().audited_steps, 0u);
  EXPECT_THAT(said, HasSubstr("step 0 could not be audited: "));
  EXPECT_THAT(said, HasSubstr("the job had ended"));
  EXPECT_FALSE(auditor_->busy());
}

TEST_F(HeldAudit, IsWaitedForAMoment) {
  auditor_->Begin();
  auditor_->End(/*hurry=*/false);
  loop_.RunUntilTime(loop_.Now() + std::chrono::milliseconds(100));
  device.DoIt();
  EXPECT_EQ(auditor_->counts().audited_steps, 1u);
  EXPECT_EQ(said, "");
  EXPECT_EQ(loop_.pending(), 0u);
}

class WantedAudit : public HeldAudit {
 protected:
  WantedAudit() : HeldAudit(/*time=*/0) {}
};

TEST_F(WantedAudit, IsWaitedForWhateverItTakes) {
  auditor_->Begin();
  auditor_->End(/*hurry=*/false);
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(600));
  device.DoIt();
  EXPECT_EQ(auditor_->counts().audited_steps, 1u);
}

class RareAudit : public HeldAudit {
 protected:
  RareAudit() : HeldAudit(/*time=*/0, /*fraction=*/1e-12) {}

  // The step is audited after two copies have come, one of 2.5 and one of `other`.
  bool Audited(StepId step, double other) {
    auto form = std::make_shared<CodeForm>();
    form->workers = 2;
    form->partitions = 1;
    form->rows = {{{0, 1}}, {{0, 1}}};
    auditor_->log().Open(step, form, {8, 8}, {8});
    for (const WorkerId worker : {0, 1}) {
      const double sketch = worker == 0 ? 2.5 : other;
      const Claim claim{.norm_limit = 3, .has_projection = true, .projection = sketch};
      auditor_->log().AddSlice(worker, worker, 0, sketch, claim, {}, /*added=*/worker == 0);
    }
    const auto parameters = std::make_shared<std::vector<float>>(gradient_->parameter_count());
    return auditor_->Prepare(auditor_->log().step(), parameters, nullptr) != nullptr;
  }
};

TEST_F(RareAudit, FollowsCopiesThatDifferedWhileAnotherRan) {
  auditor_->Begin();
  EXPECT_FALSE(Audited(1, -2.5)) << "one at a time";
  EXPECT_FALSE(Audited(2, 2.5));
  device.DoIt();
  EXPECT_TRUE(Audited(3, 2.5));
}

TEST_F(RareAudit, DoesNotFollowCopiesThatAgree) {
  auditor_->Begin();
  EXPECT_FALSE(Audited(1, 2.5));
  device.DoIt();
  EXPECT_FALSE(Audited(2, 2.5));
}

TEST(AnswerLog, ComparesWhatComesTooLate) {
  AnswerLog log(3, /*job=*/9, /*secret=*/1, [](StepId) { return false; });
  auto form = std::make_shared<CodeForm>();
  form->workers = form->partitions = 3;
  // The first and the last row are equal.
  form->rows = {{{0, 1}, {1, 1}}, {{2, 1}}, {{0, 1}, {1, 1}}};
  const auto answer = [&](StepId step, RowId row, double sketch, double norm) {
    Header header;
    header.step = step;
    header.row_id = row;
    header.offset = 4;
    header.sketch = sketch;
    header.norm = norm;
    log.AddLate(row, header.row_id, header);
    return log.TakeLateDifference();
  };
  const auto add = [&](WorkerId worker, double sketch, bool added) {
    log.AddSlice(worker, worker, 1, sketch,
                 {.norm_limit = 3, .has_projection = true, .projection = sketch}, {}, added);
    return log.copies_differ();
  };
  log.Open(0, form, {8, 4}, {8});
  EXPECT_FALSE(add(0, 2.5, true));
  EXPECT_FALSE(add(2, 2.5, false));
  EXPECT_FALSE(answer(0, 2, 2.5, 3));
  EXPECT_TRUE(answer(0, 2, 2.4, 3));
  log.Open(1, form, {8, 4}, {8});
  EXPECT_TRUE(answer(0, 2, -2.5, 3)) << "the step before";
  EXPECT_FALSE(answer(0, 1, -2.5, 3)) << "nobody else has this row";
  EXPECT_FALSE(answer(1, 2, -2.5, 3)) << "it is the first to come";
  EXPECT_FALSE(add(2, -2.5, false)) << "nothing was added that it could be compared with";
  EXPECT_FALSE(add(0, 2.5, true));
  log.Open(1, form, {8, 4}, {8});
  EXPECT_FALSE(add(0, 2.5, true));
  EXPECT_TRUE(add(2, -2.5, false));
  log.Open(1, form, {8, 4}, {8});
  EXPECT_FALSE(log.copies_differ()) << "the step began again";
  log.Open(3, form, {8, 4}, {8});
  EXPECT_FALSE(answer(0, 2, 7, 3)) << "too long ago";
}

// Otherwise a worker could hide a lie in one slice behind the huge, unchecked norm of another.
TEST(AnswerLog, NormsOfSlicesThatWereNotAddedExcuseNothing) {
  AnswerLog log(2, /*job=*/9, /*secret=*/1, [](StepId) { return false; });
  auto form = std::make_shared<CodeForm>();
  form->workers = 2;
  form->partitions = 1;
  form->rows = {{{0, 1}}, {{0, 1}}};
  for (const bool late : {false, true}) {
    Header header;
    header.step = late ? 1 : 0;
    header.norm = 1e30;
    header.sketch = 1;
    log.Open(header.step, form, {8, 4}, {8});
    const Claim fine{.norm_limit = 3, .has_projection = true, .projection = -2.5};
    log.AddSlice(0, 0, 1, -2.5, fine, {}, true);
    const Claim huge{.norm_limit = 1e30, .has_projection = true, .projection = 1};
    late ? log.AddLate(0, header.row_id, header) : log.AddSlice(0, 0, 0, 1, huge, {}, false);
    header.row_id = 1;
    header.offset = 4;
    header.sketch = 2.5;
    log.AddLate(1, header.row_id, header);
    EXPECT_TRUE(log.TakeLateDifference()) << late;
  }
}

// Rounding in a vector may be large compared with a small slice of it.
TEST(AnswerLog, ComparesCopiesByTheNormOfTheVector) {
  AnswerLog log(2, /*job=*/9, /*secret=*/1, [](StepId) { return false; });
  auto form = std::make_shared<CodeForm>();
  form->workers = 2;
  form->partitions = 1;
  form->rows = {{{0, 1}}, {{0, 1}}};
  const auto add = [&](WorkerId worker, size_t slice, double sketch, double norm) {
    log.AddSlice(worker, worker, slice, sketch,
                 {.norm_limit = norm, .has_projection = true, .projection = sketch}, {},
                 /*added=*/worker == 0);
    return log.copies_differ();
  };
  log.Open(0, form, {8, 4}, {8});
  EXPECT_FALSE(add(0, 1, 1e-3, 1e-3));
  EXPECT_TRUE(add(1, 1, 2e-3, 2e-3)) << "of all that came";
  EXPECT_FALSE(add(0, 0, 100, 100)) << "the slice was small";
  EXPECT_FALSE(add(1, 0, 100.001, 100));
  log.Open(1, form, {8, 4}, {8});
  add(0, 1, 1e-3, 1e-3);
  add(0, 0, 100, 100);
  EXPECT_TRUE(add(1, 0, 99, 100));
}

}  // namespace
}  // namespace motley
