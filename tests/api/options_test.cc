// SPDX-License-Identifier: Apache-2.0
// Checks options that motley_job_create and related functions refuse, and structs of other
// releases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::HasSubstr;

void ExpectRefused(const motley_job_options& options, const char* why) {
  motley_job* job = reinterpret_cast<motley_job*>(1);
  EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT) << why;
  EXPECT_EQ(job, nullptr);
  EXPECT_THAT(motley_last_error(), HasSubstr(why));
}

TEST(ApiStatus, CodesHaveNames) {
  EXPECT_STREQ(motley_status_name(MOTLEY_OK), "ok");
  EXPECT_STREQ(motley_status_name(MOTLEY_INVALID_ARGUMENT), "invalid argument");
  EXPECT_STREQ(motley_status_name(-1), "unknown");
  EXPECT_STREQ(motley_status_name(MOTLEY_CALLBACK + 1), "unknown");
  for (motley_status code = MOTLEY_OK; code <= MOTLEY_CALLBACK; ++code) {
    EXPECT_STRNE(motley_status_name(code), "unknown") << code;
  }
}

TEST(ApiStatus, VersionIsThatOfTheHeaders) {
  const std::string version = std::to_string(MOTLEY_VERSION_MAJOR) + "." +
                              std::to_string(MOTLEY_VERSION_MINOR) + "." +
                              std::to_string(MOTLEY_VERSION_PATCH);
  EXPECT_EQ(motley_version(), version);
  EXPECT_EQ(motley_abi_version(), 1U);
}

TEST(ApiOptions, DefaultsAreThoseOfTheProgram) {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.data = SampleFile().c_str();
  TestJob job(options);
  EXPECT_EQ(job.Metrics().steps_wanted, 0U);  // Not known before the data are read.
  job.RunFine();
  // 320 samples in batches of 16, for at most 300 epochs, which are not needed.
  EXPECT_EQ(job.Metrics().steps_per_epoch, 20U);
  EXPECT_EQ(job.Metrics().steps_wanted, 300U * 20);
  EXPECT_LT(job.Metrics().steps, 300U * 20);
  EXPECT_EQ(job.Metrics().workers_wanted, 2U);
  EXPECT_EQ(job.Report("seed"), 7);
}

TEST(ApiOptions, OlderAndSmallerStructsGetDefaults) {
  struct Old {
    uint32_t struct_size;
    int32_t role;
    const char* data;
  } old{sizeof(Old), MOTLEY_ALL_IN_ONE, SampleFile().c_str()};
  motley_job* job = nullptr;
  ASSERT_EQ(motley_job_create(reinterpret_cast<const motley_job_options*>(&old), &job), MOTLEY_OK)
      << motley_last_error();
  motley_job_destroy(job);
}

TEST(ApiOptions, NewerStructsMayOnlyLeaveOutWhatIsNew) {
  struct New {
    motley_job_options known;
    uint64_t wish;
  } wide{SmallJob(), 0};
  wide.known.struct_size = sizeof(New);
  motley_job* job = nullptr;
  ASSERT_EQ(motley_job_create(&wide.known, &job), MOTLEY_OK) << motley_last_error();
  motley_job_destroy(job);
  wide.wish = 1;
  ExpectRefused(wide.known, "newer libmotley");
}

TEST(ApiOptions, SizesThatAreNoneAreRefused) {
  for (const uint32_t size : {0U, 4U, 12U, 1U << 30, UINT32_MAX}) {
    motley_job_options options = SmallJob();
    options.struct_size = size;
    ExpectRefused(options, "MOTLEY_JOB_OPTIONS_INIT");
  }
}

TEST(ApiOptions, WeightsAndChancesThatAreNoneAreNamed) {
  for (const auto& [weights, why] : {std::pair{"heavy", "`class_weights` 'heavy'"},
                                     std::pair{"0=2,1=x", "`class_weights` '1=x'"}}) {
    motley_job_options options = SmallJob();
    options.class_weights = weights;
    ExpectRefused(options, why);
  }
  for (const double chance : {1.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    motley_job_options options = SmallJob();
    options.dropout = chance;
    ExpectRefused(options, "`dropout`");
  }
}

TEST(ApiOptions, WhatDoesNotFitAModeIsRefused) {
  const auto refused = [](const char* why, const std::function<void(motley_job_options&)>& set) {
    motley_job_options options = SmallJob();
    set(options);
    ExpectRefused(options, why);
  };
  refused("`sync` dssp:4,1: use one of bsp, backup:B, asp", [](auto& o) { o.sync = "dssp:4,1"; });
  refused("`sync` backup:2: of 2 workers at least one", [](auto& o) { o.sync = "backup:2"; });
  refused("`sync` backup:1 and `code` cyclic", [](auto& o) {
    o.sync = "backup:1";
    o.code = "cyclic";
  });
  refused("Leave `quorum` out", [](auto& o) {
    o.sync = "backup:1";
    o.quorum = 1;
  });
  refused("use `optimizer` nag", [](auto& o) {
    o.sync = "dana";
    o.optimizer = "adam";
  });
  refused("change that of each worker's own steps", [](auto& o) {
    o.sync = "local:3";
    o.schedule = "plateau:linear=64";
  });
  refused("`partitions` 1: a worker computes whole ones, and the job has at most 2 workers",
          [](auto& o) { o.partitions = 1; });
  refused("`partitions` 250001: at most 250000", [](auto& o) { o.partitions = 250'001; });
  refused("`staleness` 'age' is not known", [](auto& o) { o.staleness = "age"; });
  refused("`staleness` gap: gradients are never old", [](auto& o) { o.staleness = "gap"; });
  refused("`staleness` rate: gradients are never old", [](auto& o) { o.staleness = "rate"; });
  refused("`staleness` rate: with `sync` dana", [](auto& o) {
    o.sync = "dana";
    o.staleness = "rate";
  });
}

TEST(ApiOptions, EachWrongValueIsNamed) {
  const auto refused = [](const char* why, const std::function<void(motley_job_options&)>& set) {
    motley_job_options options = SmallJob();
    set(options);
    ExpectRefused(options, why);
  };
  refused("`role`", [](auto& o) { o.role = MOTLEY_SHARD_SERVER + 1; });
  refused("`evaluate_training` 2", [](auto& o) { o.evaluate_training = 2; });
  refused("`quorum`: with `code` auto every step waits", [](auto& o) { o.quorum = 1; });
  refused("`step_deadline`: with `code` rs", [](auto& o) {
    o.code = "rs";
    o.step_deadline = "50ms";
  });
  refused("`quorum` 3: with 2 workers at most 2", [](auto& o) {
    o.code = "approximate";
    o.quorum = 3;
  });
  for (const char* text : {"soon", "0ms", "-1s", "50"}) {
    refused("`step_deadline`", [text](auto& o) {
      o.code = "approximate";
      o.step_deadline = text;
    });
  }
  refused("`storage`", [](auto& o) { o.storage = "int8"; });
  refused("`audit` 1.5", [](auto& o) { o.audit = 1.5; });
  refused("`audit` nan", [](auto& o) { o.audit = std::numeric_limits<double>::quiet_NaN(); });
  refused("`split`", [](auto& o) { o.split = 1.5; });
  refused("`memory_bytes`", [](auto& o) { o.memory_bytes = static_cast<uint64_t>(-1); });
  refused("`code`", [](auto& o) { o.code = "cyclical"; });
  refused("`shares`", [](auto& o) { o.shares = "mine"; });
  refused("`model`", [](auto& o) { o.model = "resnet"; });
  refused("`optimizer`", [](auto& o) { o.optimizer = "adamax"; });
  refused("rate", [](auto& o) { o.learning_rate = -1; });
  refused("`tolerate` 3: with 2 workers", [](auto& o) {
    o.code = "rs";
    o.tolerate = 3;
  });
  refused("`parts` 3: the answers of `code` auto", [](auto& o) { o.parts = 3; });
  refused("`code` short `tolerate` 1 `parts` 2", [](auto& o) { o.code = "short"; });
  refused("`parts` 33: at most 32", [](auto& o) {
    o.code = "short";
    o.parts = 33;
  });
  refused("`fastest` 1: `code` auto chooses", [](auto& o) { o.fastest = 1; });
  refused("`worker_speeds`", [](auto& o) { o.worker_speeds = "1,fast"; });
  refused("`workers` 2 does not fit", [](auto& o) { o.worker_speeds = "1,1,1"; });
  refused("`sample_time`", [](auto& o) { o.sample_time = "2ms"; });
  refused("`workers` 257", [](auto& o) { o.workers = 257; });
  refused("`threads`", [](auto& o) { o.threads = 100000; });
  refused("`steps`", [](auto& o) { o.steps = UINT64_MAX; });
  refused("'kil'", [](auto& o) { o.faults = "kil:0@step=1"; });
  refused("`worker_speeds`", [](auto& o) { o.faults = "slow:0@step=1,5x"; });
  refused("`data`", [](auto& o) { o.data = nullptr; });
  refused("`sample_count`", [](auto& o) { o.sample_count = 5; });
  static const char* const kNoProgram[] = {nullptr};
  refused("`worker_command`", [](auto& o) { o.worker_command = kNoProgram; });
  refused("`min_workers` 2", [](auto& o) { o.min_workers = 2; });
  refused("`min_workers` 5", [](auto& o) {
    o.role = MOTLEY_SERVER;
    o.workers = 4;
    o.min_workers = 5;
  });
  refused("`forever`", [](auto& o) { o.forever = 2; });
  refused("`faults`", [](auto& o) {
    o.role = MOTLEY_SERVER;
    o.faults = "kill:0@step=1";
  });
}

TEST(ApiOptions, ModelsToBeginWithAndToWriteAreChecked) {
  motley_job_options options = SmallJob();
  options.format = "onnx";
  ExpectRefused(options, "`format`");
  options = SmallJob();
  options.init = "m.safetensors";
  options.resume = "runs";
  ExpectRefused(options, "`init` m.safetensors: with `resume`");
}

TEST(ApiOptions, SamplesCanBeNumberedIn32Bits) {
  motley_job_options options = PointJob();
  for (const uint64_t count : {uint64_t{1} << 32, uint64_t{1} << 40, uint64_t{UINT64_MAX}}) {
    options.sample_count = count;
    ExpectRefused(options, "`sample_count`");
  }
  options.sample_count = UINT32_MAX;
  TestJob{options};
}

TEST(ApiOptions, WorkerNeedsAServerAndAToken) {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.role = MOTLEY_WORKER;
  ExpectRefused(options, "`server`");
  options.server = "127.0.0.1:1";
  ExpectRefused(options, "`token`");
}

TEST(ApiArguments, NullIsAnErrorAndNeverMore) {
  motley_job_options options = SmallJob();
  EXPECT_EQ(motley_job_create(&options, nullptr), MOTLEY_INVALID_ARGUMENT);
  motley_job* none = nullptr;
  EXPECT_EQ(motley_job_create(nullptr, &none), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("options is NULL"));
  const motley_trainer trainer = PointTrainer();
  motley_metrics metrics MOTLEY_METRICS_INIT;
  motley_evaluation evaluation MOTLEY_EVALUATION_INIT;
  float value = 0;
  for (const motley_status status :
       {motley_job_set_trainer(nullptr, &trainer), motley_job_set_events(nullptr, nullptr, nullptr),
        motley_job_run(nullptr), motley_job_metrics(nullptr, &metrics),
        motley_job_parameters(nullptr, &value, 1, nullptr), motley_job_save(nullptr, "x"),
        motley_evaluate(nullptr, "x", nullptr, &evaluation),
        motley_evaluate("x", nullptr, nullptr, &evaluation),
        motley_evaluate("x", "x", nullptr, nullptr)}) {
    EXPECT_EQ(status, MOTLEY_INVALID_ARGUMENT);
    EXPECT_THAT(motley_last_error(), HasSubstr("is NULL"));
  }
  EXPECT_EQ(motley_job_report(nullptr), nullptr);
  motley_job_stop(nullptr);
  motley_job_destroy(nullptr);
  EXPECT_EQ(motley_work_cancelled(nullptr), 0);
  motley_work_progress(nullptr, 1);

  TestJob job(options);
  EXPECT_EQ(motley_job_set_trainer(job.get(), nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(motley_job_metrics(job.get(), nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(motley_job_save(job.get(), nullptr), MOTLEY_INVALID_ARGUMENT);
}

// C does not define the order in which arguments are evaluated.
TEST(ApiLastError, MayStandBesideTheCallThatFails) {
  const char* const before = motley_last_error();
  motley_job* job = nullptr;
  EXPECT_EQ(motley_job_create(nullptr, &job), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(motley_last_error(), before);
  EXPECT_THAT(before, HasSubstr("options is NULL"));
  motley_job_options options = SmallJob();
  options.code = "cyclik";
  char line[400];
  std::snprintf(line, sizeof line, "%s|%d|%s", motley_last_error(),
                motley_job_create(&options, &job), motley_last_error());
  const std::string said = line;
  EXPECT_THAT(said, testing::EndsWith(std::string("|2|") + motley_last_error()));
  EXPECT_THAT(said, testing::StartsWith(std::string(motley_last_error()) + "|2|"));
  EXPECT_THAT(said, HasSubstr("Did you mean"));
}

TEST(ApiLastError, BelongsToItsThreadAndHasAnEnd) {
  EXPECT_EQ(motley_job_create(nullptr, nullptr), MOTLEY_INVALID_ARGUMENT);
  const std::string here = motley_last_error();
  std::string there = "?";
  std::thread([&] { there = motley_last_error(); }).join();
  EXPECT_EQ(there, "");
  EXPECT_EQ(motley_last_error(), here);
  // At one of the two offsets the cut would fall inside a character.
  for (std::string path : {"", "x"}) {
    for (int i = 0; i < 10000; ++i) path += "\u00e9";
    motley_evaluation evaluation MOTLEY_EVALUATION_INIT;
    EXPECT_NE(motley_evaluate(path.c_str(), "x", nullptr, &evaluation), MOTLEY_OK);
    const std::string cut = motley_last_error();
    EXPECT_GE(cut.size(), 7999U);
    EXPECT_LE(cut.size(), 8000U);
    EXPECT_EQ(cut.back(), '\xa9');
  }
}

TEST(ApiTrainer, IsCheckedBeforeItIsTaken) {
  motley_job_options options = PointJob();
  TestJob job(options);
  motley_trainer trainer = PointTrainer();
  trainer.parameter_count = 0;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  options.init = "m.safetensors";
  TestJob with_model(options);
  EXPECT_EQ(with_model.SetTrainer(PointTrainer()), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`init`"));
  trainer = PointTrainer();
  trainer.accumulate = nullptr;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("accumulate"));
  trainer = PointTrainer();
  trainer.flags = 64;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  trainer = PointTrainer();
  trainer.struct_size = 0;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  options = SmallJob();
  options.model = "softmax";
  TestJob both(options);
  EXPECT_EQ(both.SetTrainer(PointTrainer()), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`model`"));
}

TEST(ApiMetrics, OnlyWhatTheProgramKnowsIsWritten) {
  struct Old {
    uint32_t struct_size;
    uint32_t workers;
    uint64_t steps;
    uint64_t beyond;
  } old{16, 9, 9, 9};
  TestJob job(SmallJob());
  ASSERT_EQ(motley_job_metrics(job.get(), reinterpret_cast<motley_metrics*>(&old)), MOTLEY_OK);
  EXPECT_EQ(old.struct_size, 16U);
  EXPECT_EQ(old.workers, 0U);
  EXPECT_EQ(old.steps, 0U);
  EXPECT_EQ(old.beyond, 9U);
  old.struct_size = 3;
  EXPECT_EQ(motley_job_metrics(job.get(), reinterpret_cast<motley_metrics*>(&old)),
            MOTLEY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace motley
