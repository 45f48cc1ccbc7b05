// SPDX-License-Identifier: Apache-2.0
// A resumed job takes some options from its checkpoint and refuses others.
#include "api/request/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

// A job of 12 steps with seed 9 and L2, and its checkpoints of steps 6 and 12.
class Resume : public ::testing::Test {
 protected:
  Resume() {
    motley_job_options options = SmallJob();
    options.seed = 9;
    options.l2 = 0.01;
    options.checkpoint = folder_.c_str();
    options.checkpoint_every = 6;
    options.checkpoint_code = "3+2";
    TestJob job(options);
    job.RunFine();
    parameters_ = job.Parameters();
    loss_ = job.Report("final_loss");
  }
  ~Resume() override { std::filesystem::remove_all(folder_); }

  // Only the data are given.
  motley_job_options Resumed() const {
    motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
    options.data = SampleFile().c_str();
    options.shares = "equal";
    options.threads = 1;
    options.resume = folder_.c_str();
    return options;
  }

  const std::string folder_ = TemporaryPath("resume");
  std::vector<float> parameters_;
  double loss_ = 0;
};

TEST_F(Resume, OfAFinishedJobStartsNoWorkersAndHasItsResults) {
  motley_job_options options = Resumed();
  options.checkpoint = folder_.c_str();
  TestJob job(options);
  std::string said;
  int workers = 0;
  job.OnEvent([&](const motley_event& event) {
    said += event.text;
    workers += event.kind == MOTLEY_EVENT_WORKER_JOINED ? 1 : 0;
  });
  job.RunFine();
  EXPECT_EQ(workers, 0);
  EXPECT_THAT(said, HasSubstr("nothing is left to train"));
  EXPECT_EQ(job.Parameters(), parameters_);
  EXPECT_EQ(job.Report("steps"), 12);
  EXPECT_EQ(job.Report("final_loss"), loss_);
  EXPECT_EQ(job.Metrics().checkpoint_step, 12U);
}

TEST_F(Resume, OfFewerStepsThanThereAreIsRefused) {
  motley_job_options options = Resumed();
  options.steps = 11;
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("12"));
}

TEST_F(Resume, GoesBackToAnOlderStepInAnotherFolder) {
  motley_job_options options = Resumed();
  options.resume_step = 6;
  options.checkpoint = folder_.c_str();
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("newer checkpoint of this job: step 12"));
  const std::string other = TemporaryPath("other");
  options.checkpoint = other.c_str();
  TestJob job(options);
  job.RunFine();
  EXPECT_EQ(job.Report("resumed_from"), 6);
  EXPECT_EQ(job.Parameters(), parameters_) << "the same steps again";
  std::filesystem::remove_all(other);
  options.resume_step = 5;
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_NOT_FOUND);
}

// Five workers have different partitions from two.
TEST_F(Resume, GoesOnWithAnotherNumberOfWorkers) {
  motley_job_options options = Resumed();
  options.resume_step = 6;
  options.workers = 5;
  TestJob job(options);
  job.RunFine();
  EXPECT_EQ(job.Report("resumed_from"), 6);
  EXPECT_NEAR(job.Report("final_loss"), loss_, 1e-5 * loss_);
  EXPECT_THAT(job.Parameters(), Pointwise(FloatNear(1e-5f), parameters_));
}

TEST_F(Resume, TheDefaultSplitMayBeSpelledOut) {
  motley_job_options options = Resumed();
  options.split = 0.8;
  TestJob job(options);
  job.RunFine();
  EXPECT_EQ(job.Parameters(), parameters_);
  options.split = 0.7;
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`split` 0.7: the job of the checkpoint has 0.8"));
}

// 7 and 0 are the defaults of a new job, so only `given` shows that they are meant.
TEST_F(Resume, DefaultsThatAreMeantCount) {
  motley_job_options options = Resumed();
  options.resume_step = 6;
  TestJob open(options);
  open.RunFine();
  EXPECT_EQ(open.Parameters(), parameters_);

  options.given = MOTLEY_GIVEN_L2;
  TestJob without(options);
  without.RunFine();
  EXPECT_NE(without.Parameters(), parameters_) << "no L2 from step 6 on";

  options.given = MOTLEY_GIVEN_SEED;
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`seed` 7"));
}

// The folder's checkpoints keep their interval and code, unless others are given.
TEST_F(Resume, SavesAsTheJobDidBefore) {
  const auto said = [this](const char* code, uint64_t every) {
    motley_job_options options = Resumed();
    options.steps = 14;
    options.resume_step = 12;
    const std::string other = TemporaryPath("other");
    options.checkpoint = other.c_str();
    options.checkpoint_code = code;
    options.checkpoint_every = every;
    TestJob job(options);
    std::string text;
    job.OnEvent([&](const motley_event& event) {
      if (event.kind == MOTLEY_EVENT_NOTICE) text += event.text;
    });
    job.RunFine();
    std::filesystem::remove_all(other);
    return text;
  };
  EXPECT_THAT(said(nullptr, 0), HasSubstr("saves a checkpoint (3+2) every 6 steps in "));
  EXPECT_THAT(said("2+1", 1), HasSubstr("saves a checkpoint (2+1) every 1 step in "));
}

TEST_F(Resume, ErrorsNameOptionsAndNoFlags) {
  motley_job_options options = SmallJob();
  options.checkpoint = folder_.c_str();
  EXPECT_EQ(TestJob(options).Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`resume`"));
  EXPECT_THAT(motley_last_error(), Not(HasSubstr("--")));
}

TEST_F(Resume, SaysInOneWordIfTheCheckpointIsLost) {
  const auto run = [](const motley_job_options& options) -> std::string {
    TestJob job(options);
    EXPECT_STREQ(motley_job_failure(job.get()), "");
    EXPECT_NE(job.Run(), MOTLEY_OK);
    return motley_job_failure(job.get());
  };
  motley_job_options options = Resumed();
  options.batch = 20;
  EXPECT_EQ(run(options), "other");
  options = Resumed();
  options.data = "/absent.csv";
  EXPECT_EQ(run(options), "data");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 10);
  }
  EXPECT_EQ(run(Resumed()), "checkpoint");
  options = Resumed();
  options.resume = "/absent";
  EXPECT_EQ(run(options), "checkpoint");
}

// Runs a job with a trainer of its own, and counts the partitions that it computes.
struct CountedRun {
  motley_status status = MOTLEY_OK;
  uint32_t partitions = 0;
};

CountedRun Count(const motley_job_options& options) {
  std::atomic<uint32_t> most = 0;
  motley_trainer trainer = PointTrainer();
  trainer.context = &most;
  trainer.accumulate = [](void* context, const motley_work* work) {
    auto& seen = *static_cast<std::atomic<uint32_t>*>(context);
    uint32_t before = seen;
    while (before < work->end_partition &&
           !seen.compare_exchange_weak(before, work->end_partition)) {
    }
    return AccumulatePoints(context, work);
  };
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  const motley_status status = job.Run();
  return {status, most};
}

// A trainer may draw random numbers for each partition.
TEST(ResumeWithATrainer, KeepsThePartitions) {
  const std::string folder = TemporaryPath("partitions");
  motley_job_options options = PointJob();
  options.partitions = 16;
  options.steps = 6;
  options.checkpoint = folder.c_str();
  options.checkpoint_every = 6;
  EXPECT_EQ(Count(options).partitions, 16U);

  options.checkpoint = nullptr;
  options.checkpoint_every = 0;
  options.resume = folder.c_str();
  options.steps = 9;
  options.partitions = 0;
  options.workers = 5;
  const CountedRun open = Count(options);
  EXPECT_EQ(open.status, MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(open.partitions, 16U);

  options.partitions = 8;
  EXPECT_EQ(Count(options).status, MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(),
              HasSubstr("`partitions` 8: the job of the checkpoint has 16, and "
                        "its loss curve depends on it"));

  options.partitions = 0;
  options.workers = 17;
  EXPECT_EQ(Count(options).status, MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`partitions` 16"));
  EXPECT_THAT(motley_last_error(), HasSubstr("give fewer `workers`"));
  std::filesystem::remove_all(folder);
}

TEST(ResumeWithATrainer, KeepsPartitionsThatWereChosen) {
  const std::string folder = TemporaryPath("chosen");
  motley_job_options options = PointJob();
  options.steps = 6;
  options.checkpoint = folder.c_str();
  options.checkpoint_every = 6;
  EXPECT_EQ(Count(options).partitions, 64U);
  options.resume = folder.c_str();
  options.steps = 9;
  options.workers = 6;  // A new job would have 96.
  EXPECT_EQ(Count(options).partitions, 64U);
  std::filesystem::remove_all(folder);
}

// Checkpoints of older releases do not say how many there were, and a model does not follow them.
TEST(ResumeWithATrainer, ThePartitionsMayChangeIfTheyAreUnknown) {
  SavedJob saved;
  saved.about.own_trainer = true;
  saved.about.batch = 200;
  JobRequest request;
  request.partitions = 32;
  const Status taken = TakeUp(saved, request);
  EXPECT_TRUE(taken.ok()) << taken.ToString();
  EXPECT_EQ(request.partitions, 32U);
  EXPECT_FALSE(request.keeps_partitions);
}

TEST_F(Resume, OfAModelMayChangeThePartitions) {
  motley_job_options options = Resumed();
  options.resume_step = 6;
  options.partitions = 16;
  TestJob job(options);
  job.RunFine();
  EXPECT_THAT(job.Parameters(), Pointwise(FloatNear(1e-5f), parameters_));
}

TEST(JobFailure, IsTheReasonInOneWord) {
  EXPECT_STREQ(motley_job_failure(nullptr), "");
  motley_job_options options = SmallJob();
  TestJob fine(options);
  fine.RunFine();
  EXPECT_STREQ(motley_job_failure(fine.get()), "");

  options.optimizer = "sgd";
  options.learning_rate = 1e30;
  options.l2 = 1e6;
  TestJob diverges(options);
  EXPECT_EQ(diverges.Run(), MOTLEY_DATA_ERROR);
  EXPECT_STREQ(motley_job_failure(diverges.get()), "diverged");

  const std::string path = TemporaryPath("wrong.csv");
  std::ofstream(path) << "a,b\n1,2\n1\n";
  options = SmallJob();
  options.data = path.c_str();
  TestJob malformed(options);
  EXPECT_EQ(malformed.Run(), MOTLEY_DATA_ERROR);
  EXPECT_STREQ(motley_job_failure(malformed.get()), "data");
  std::filesystem::remove(path);

  TestJob stopped(SmallJob());
  motley_job_stop(stopped.get());
  EXPECT_EQ(stopped.Run(), MOTLEY_CANCELLED);
  EXPECT_STREQ(motley_job_failure(stopped.get()), "stopped");
}

TEST(ResumeOptions, ThatMeanNothingAreRefused) {
  motley_job* job = nullptr;
  motley_job_options options = SmallJob();
  options.resume_step = 6;
  EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`resume_step` 6"));
  options = SmallJob();
  options.given = 32;
  EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`given` 0x20"));
  EXPECT_EQ(job, nullptr);
}

}  // namespace
}  // namespace motley
