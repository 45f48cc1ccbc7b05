// SPDX-License-Identifier: Apache-2.0
// Tests what a checkpoint says about its job, and in what another job may differ.
#include "runtime/saving/saved_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "runtime/memory_need.h"
#include "runtime/saving/job_record.h"
#include "tests/runtime/job_world.h"
#include "tests/training/test_data.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

JobDescription Example() {
  JobDescription about;
  about.model = {"mlp:8", 7, 4};
  about.parameters = 100;
  about.optimizer.name = "adam";
  about.samples = 600;
  about.sparse = true;
  about.fingerprint = 0xfedcba9876543210u;
  about.batch = 60;
  about.meaning = {{1, 2.5, -3}, 1.0f / 255, 0.8};
  about.optimizer.l2 = 1e-4;
  about.steps = 1000;
  about.history = {.wall_seconds = 1.5,
                   .discarded_steps = 2,
                   .max_amplification = 4,
                   .approximate = {.steps = 2, .error_sum = 0.5, .max_error = 0.375},
                   .first_loss = 0,
                   .batch_loss = {1.0 / 3, 0.2}};
  static_cast<AuditCounts&>(about.history) = {3, 2, 1e-7};
  return about;
}

CheckpointState StateOf(const JobDescription& about) {
  CheckpointState state;
  state.step = about.history.batch_loss.size();
  state.seed = 7;
  state.description = ToJson(about);
  state.parameters = std::make_shared<std::vector<float>>(about.parameters);
  state.optimizer_state = std::make_shared<std::vector<float>>();
  return state;
}

TEST(JobDescription, KnowsTheStorageOfItsSamples) {
  JobDescription about = Example();
  EXPECT_EQ(ToJson(about).find("storage"), std::string::npos) << "older readers read it";
  about.meaning.storage = Storage::kBf16;
  EXPECT_EQ(ParseJobDescription(ToJson(about))->meaning.storage, Storage::kBf16);
}

TEST(JobDescription, KnowsHowCheckpointsAreSaved) {
  JobDescription about = Example();
  EXPECT_EQ(ParseJobDescription(ToJson(about))->checkpoint_every, 0U) << "unknown";
  about.checkpoint_every = 6;
  about.checkpoint_code = {.data = 3, .parity = 1, .technique = ErasureTechnique::kCauchy};
  const auto back = ParseJobDescription(ToJson(about));
  EXPECT_EQ(back->checkpoint_every, 6U);
  EXPECT_EQ(ToText(back->checkpoint_code), "cauchy:3+1");
}

TEST(JobDescription, KnowsIntoHowManyPartsSamplesWereCut) {
  JobDescription about = Example();
  EXPECT_EQ(ParseJobDescription(ToJson(about))->partitions, 0U) << "unknown";
  about.partitions = 64;
  EXPECT_EQ(ParseJobDescription(ToJson(about))->partitions, 64U);
}

TEST(JobDescription, KnowsWhatClassesWeigh) {
  JobDescription about = Example();
  EXPECT_EQ(ToJson(about).find("class_weights"), std::string::npos) << "older readers read it";
  about.model.class_weights = {0.1f, 1, 1.0f / 3, 20};
  const std::string text = ToJson(about);
  EXPECT_EQ(ParseJobDescription(text)->model.class_weights, about.model.class_weights);
  EXPECT_THAT(text, HasSubstr("\"version\":5")) << "older readers would not weigh anything";
}

TEST(JobDescription, KnowsTheDropout) {
  JobDescription about = Example();
  EXPECT_EQ(ToJson(about).find("dropout"), std::string::npos) << "older readers read it";
  about.model.dropout = 0.1;
  EXPECT_EQ(ParseJobDescription(ToJson(about))->model.dropout, 0.1);
  EXPECT_THAT(ToJson(about), HasSubstr("\"version\":5"));
}

TEST(JobDescription, KnowsEveryOptionOfEveryOptimizer) {
  JobDescription about = Example();
  double value = 0.25;
  for (const RuleOption* option : RuleOptions()) about.optimizer.*option->value = value += 0.125;
  const auto back = ParseJobDescription(ToJson(about));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  for (const RuleOption* option : RuleOptions()) {
    EXPECT_EQ(back->optimizer.*option->value, about.optimizer.*option->value) << option->name;
  }
}

TEST(JobDescription, KnowsGroupsOfParameters) {
  JobDescription about = Example();
  EXPECT_EQ(ToJson(about).find("groups"), std::string::npos) << "older readers read it";
  about.optimizer.groups = {{.end = 60, .learning_rate = 1.0 / 3, .l2 = 1e-4},
                            {.end = (uint64_t{1} << 40) - 1, .weight_decay = 0.1}};
  const auto back = ParseJobDescription(ToJson(about));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->optimizer.groups, about.optimizer.groups);
  EXPECT_THAT(ToJson(about), HasSubstr("\"version\":6")) << "older readers would ignore them";
}

TEST(JobDescription, KnowsWhoAppliedTheUpdatesOfATrainer) {
  JobDescription about = Example();
  about.own_trainer = true;
  EXPECT_FALSE(ParseJobDescription(ToJson(about))->own_rule) << "unknown";
  for (const bool own : {false, true}) {
    about.own_rule = own;
    EXPECT_EQ(ParseJobDescription(ToJson(about))->own_rule, own);
  }
}

TEST(JobDescription, IsReadBackToTheBit) {
  const JobDescription about = Example();
  const auto back = ParseJobDescription(ToJson(about));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(ToJson(*back), ToJson(about));
  EXPECT_EQ(back->history.batch_loss, about.history.batch_loss);
  EXPECT_EQ(back->history.audit_failures, 2u);
  EXPECT_EQ(back->history.approximate.steps, about.history.approximate.steps);
  EXPECT_EQ(back->history.approximate.error_sum, about.history.approximate.error_sum);
  EXPECT_EQ(back->history.approximate.max_error, about.history.approximate.max_error);
  EXPECT_EQ(back->meaning.input_scale, about.meaning.input_scale);
  EXPECT_EQ(back->fingerprint, about.fingerprint);
}

TEST(JobDescription, WithNumbersThatJsonLacksCanStillBeRead) {
  JobDescription about = Example();
  about.history.max_decode_error = std::numeric_limits<double>::infinity();
  about.history.batch_loss[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(ParseJobDescription(ToJson(about)).ok());
}

TEST(JobDescription, OfAnotherKindIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"version\":1}", "{\"version\":\"1\"}"}) {
    EXPECT_EQ(ParseJobDescription(text).code(), StatusCode::kDataError) << text;
  }
  EXPECT_EQ(ParseJobDescription("{\"version\":7}").code(), StatusCode::kConflict);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The first version of the format did not store momentum and the constants after it.
TEST(JobDescription, OfTheFirstVersionHasTheConstantsOfItsTime) {
  std::string text = Replaced(ToJson(Example()), "\"version\":4", "\"version\":1");
  const size_t begin = text.find(",\"momentum\"");
  text.erase(begin, text.find('}', begin) - begin);
  const auto old = ParseJobDescription(text);
  ASSERT_TRUE(old.ok()) << old.status().ToString();
  EXPECT_EQ(ToJson(*old), ToJson(Example()));
  EXPECT_EQ(ParseJobDescription(Replaced(text, "\"version\":1", "\"version\":4")).code(),
            StatusCode::kDataError);
}

TEST(JobDescription, ValuesOfAnotherKindOrSizeAreRefused) {
  const std::string whole = ToJson(Example());
  const std::pair<const char*, const char*> changes[] = {
      {"\"batch\":60", "\"batch\":1e300"},
      {"\"batch\":60", "\"batch\":-1"},
      {"\"batch\":60", "\"batch\":4294967296"},
      {"\"batch\":60", "\"batch\":60.5"},
      {"\"batch\":60", "\"batch\":true"},
      {"\"batch\":60", "\"batch\":\"60\""},
      {"\"batch\":60", "\"batch\":[60]"},
      {"\"batch\":60", "\"batch\":NaN"},
      {"\"split\":0.8", "\"split\":1e999"},
      {"\"split\":0.8", "\"split\":null"},
      {"\"split\":0.8", "\"split\":0.8,\"storage\":\"int8\""},
      {"\"split\":0.8", "\"split\":0.8,\"storage\":2"},
      {"\"input_scale\":", "\"input_scale\":1e300,\"was\":"},
      {"\"sparse\":true", "\"sparse\":1"},
      {"\"name\":\"adam\"", "\"name\":{}"},
      {"[1,2.5,-3]", "[1,\"a\",-3.0]"},
      {"[1,2.5,-3]", "{\"0\":1}"},
      {"\"steps\":1000", "\"steps\":18446744073709551616"}};
  for (const auto& [from, to] : changes) {
    EXPECT_EQ(ParseJobDescription(Replaced(whole, from, to)).code(), StatusCode::kDataError) << to;
  }
}

TEST(JobDescription, DeepAndHugeTextsAreErrors) {
  const std::string deep(1 << 22, '[');
  EXPECT_EQ(ParseJobDescription(deep).code(), StatusCode::kDataError);
  EXPECT_EQ(ParseJobDescription(deep + std::string(deep.size(), ']')).code(),
            StatusCode::kDataError);
  std::string objects;
  for (int i = 0; i < 1 << 18; ++i) objects += "{\"version\":";
  EXPECT_EQ(ParseJobDescription(objects).code(), StatusCode::kDataError);
  // Unknown values may be nested deeply.
  const std::string nested =
      "{\"more\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + ",";
  EXPECT_TRUE(ParseJobDescription(nested + ToJson(Example()).substr(1)).ok());
}

TEST(SavedJob, ThatDoesNotFitItsNumbersIsRefused) {
  EXPECT_TRUE(Understand(StateOf(Example())).ok());
  CheckpointState state = StateOf(Example());
  state.step = 3;
  EXPECT_EQ(Understand(state).code(), StatusCode::kDataError);
  state = StateOf(Example());
  state.parameters = std::make_shared<std::vector<float>>(99);
  EXPECT_EQ(Understand(state).code(), StatusCode::kDataError);
  JobDescription wrapped = Example();
  // With 2 losses it wraps to step 1.
  wrapped.history.first_loss = std::numeric_limits<uint64_t>::max();
  state = StateOf(wrapped);
  state.step = 1;
  EXPECT_EQ(Understand(state).code(), StatusCode::kDataError);
}

TEST(SavedJob, OfADivergedJobIsRefused) {
  const float infinity = std::numeric_limits<float>::infinity();
  CheckpointState state = StateOf(Example());
  state.optimizer_state = std::make_shared<std::vector<float>>(3, infinity);
  EXPECT_THAT(Understand(state).status().message(), HasSubstr("`resume_step`"));
  state = StateOf(Example());
  state.parameters = std::make_shared<std::vector<float>>(100, -infinity);
  EXPECT_EQ(Understand(state).code(), StatusCode::kDataError);
}

// The model of such a job can be exported, but its training cannot be resumed.
TEST(SavedJob, OfAnOlderReleaseIsReadAndNotResumed) {
  CheckpointState state = StateOf(Example());
  state.description = Replaced(state.description, "\"version\":4", "\"version\":2");
  state.description = Replaced(state.description, "\"steps\"", "\"partitions\":64,\"steps\"");
  const auto saved = Understand(state);
  ASSERT_TRUE(saved.ok()) << saved.status().ToString();
  const Status refused = CheckSameJob(*saved, Example(), 7);
  EXPECT_EQ(refused.code(), StatusCode::kConflict);
  EXPECT_THAT(refused.message(), HasSubstr("finish the job with that release"));
  EXPECT_THAT(refused.message(), HasSubstr("motley checkpoint export"));
}

// Anybody may have written the folder, so its model may have any size.
TEST(SavedJob, WhoseModelDoesNotFitItsParametersHasNone) {
  for (const char* name : {"mlp:99999999999999999999", "mlp:4294967295,4294967295", "softmax", "",
                           "a trainer", "mlp:0"}) {
    JobDescription about = Example();
    about.model = {name, std::numeric_limits<uint32_t>::max(), 4};
    const auto saved = Understand(StateOf(about));
    ASSERT_TRUE(saved.ok()) << saved.status().ToString();
    EXPECT_FALSE(ModelOf(*saved).ok()) << name;
  }
}

TEST(SavedJob, OnlyWhatTheBatchesDoNotDependOnMayChange) {
  const SavedJob saved = Understand(StateOf(Example())).value();
  JobDescription now = Example();
  now.optimizer.learning_rate = 1;
  now.optimizer.l2 = 0;
  now.optimizer.momentum = 0.5;  // Adam does not read it.
  now.steps = 5;
  EXPECT_TRUE(CheckSameJob(saved, now, 7).ok());
  EXPECT_THAT(CheckSameJob(saved, now, 8).message(), HasSubstr("seed"));
  const std::pair<const char*, std::function<void(JobDescription&)>> changes[] = {
      {"model", [](JobDescription& job) { job.model.name = "mlp:9"; }},
      {"class weights none",
       [](JobDescription& job) {
         job.model.class_weights = {1, 2, 1, 1};
       }},
      {"dropout 0", [](JobDescription& job) { job.model.dropout = 0.5; }},
      {"features", [](JobDescription& job) { job.model.features = 8; }},
      {"parameters", [](JobDescription& job) { job.parameters = 101; }},
      {"optimizer", [](JobDescription& job) { job.optimizer.name = "sgd"; }},
      {"beta1", [](JobDescription& job) { job.optimizer.beta1 = 0.5; }},
      {"beta2", [](JobDescription& job) { job.optimizer.beta2 = 0.5; }},
      {"epsilon", [](JobDescription& job) { job.optimizer.epsilon = 1e-4; }},
      {"batch", [](JobDescription& job) { job.batch = 61; }},
      {"samples", [](JobDescription& job) { job.samples = 601; }},
      {"scaled", [](JobDescription& job) { job.meaning.input_scale = 1; }},
      {"storage float32", [](JobDescription& job) { job.meaning.storage = Storage::kFp16; }},
      {"the data", [](JobDescription& job) { job.fingerprint ^= 1; }},
      {"the data", [](JobDescription& job) { job.meaning.class_labels[0] = 9; }},
  };
  for (const auto& [word, change] : changes) {
    JobDescription other = Example();
    change(other);
    const Status refused = CheckSameJob(saved, other, 7);
    EXPECT_EQ(refused.code(), StatusCode::kConflict) << word;
    EXPECT_THAT(refused.message(), HasSubstr(word));
  }
}

TEST(SavedJob, WhosePartitionsAreKnownKeepsThem) {
  JobDescription was = Example();
  JobDescription now = Example();
  now.partitions = 16;
  EXPECT_TRUE(CheckSameJob(Understand(StateOf(was)).value(), now, 7).ok()) << "unknown";
  was.partitions = 64;
  const Status refused = CheckSameJob(Understand(StateOf(was)).value(), now, 7);
  EXPECT_EQ(refused.code(), StatusCode::kConflict);
  EXPECT_THAT(refused.message(), HasSubstr("partitions: 64, this one 16"));
}

TEST(SavedJob, OnlyTheNumbersOfGroupsMayChange) {
  JobDescription was = Example();
  was.optimizer.groups = {{.end = 60, .learning_rate = 0.1}, {.end = 100, .learning_rate = 0.2}};
  const SavedJob saved = Understand(StateOf(was)).value();
  JobDescription now = was;
  now.optimizer.groups[0] = {.end = 60, .learning_rate = 0.5, .l2 = 0.1};
  EXPECT_TRUE(CheckSameJob(saved, now, 7).ok());
  now.optimizer.groups[0].end = 61;
  EXPECT_THAT(CheckSameJob(saved, now, 7).message(),
              HasSubstr("groups of parameters that end at 60, 100, this one that end at 61, 100"));
  now.optimizer.groups.clear();
  EXPECT_THAT(CheckSameJob(saved, now, 7).message(), HasSubstr("this one none"));
}

TEST(SavedJob, OwnUpdatesAreNotThoseOfAnOptimizer) {
  JobDescription was = Example();
  was.own_trainer = was.own_rule.emplace(true);
  const SavedJob saved = Understand(StateOf(was)).value();
  JobDescription now = was;
  EXPECT_TRUE(CheckSameJob(saved, now, 7).ok());
  now.own_rule = false;
  EXPECT_THAT(CheckSameJob(saved, now, 7).message(),
              HasSubstr("this job uses the library's adam, whose state is another"));
  was.own_rule.reset();  // As in an older description.
  was.optimizer.name = "sgd";
  EXPECT_THAT(CheckSameJob(Understand(StateOf(was)).value(), now, 7).message(),
              HasSubstr("server_step=True"));
}

TEST(SavedJob, AnOptionThatShapesTheStateMayNotChange) {
  JobDescription was = Example();
  was.optimizer.name = "momentum";
  const SavedJob saved = Understand(StateOf(was)).value();
  EXPECT_TRUE(CheckSameJob(saved, was, 7).ok());
  was.optimizer.momentum = 0.5;
  EXPECT_THAT(CheckSameJob(saved, was, 7).message(), HasSubstr("momentum"));
}

TEST(SavedJob, OtherDataAreToldByTheirShape) {
  const SavedJob saved = Understand(StateOf(Example())).value();
  EXPECT_TRUE(CheckSameShape(saved, Example().model, true).ok());
  const Status other = CheckSameShape(saved, {"mlp:8", 10, 4}, false);
  EXPECT_EQ(other.code(), StatusCode::kConflict);
  EXPECT_THAT(other.message(), HasSubstr("these data have 10 features, 4 classes, those of"));
  EXPECT_THAT(other.message(), HasSubstr("had 7 features, 4 classes, sparse"));
}

TEST(SavedJob, OtherDataOfTheSameShapeHaveAnotherFingerprint) {
  const MemorySource one(MakeSamples(7, 4, false, 600, 1));
  const MemorySource same(MakeSamples(7, 4, false, 600, 1));
  const MemorySource other(MakeSamples(7, 4, false, 600, 2));
  EXPECT_EQ(Fingerprint(one).value(), Fingerprint(same).value());
  EXPECT_NE(Fingerprint(one).value(), Fingerprint(other).value());
}

// `Fingerprint` reads only 64 of 600 samples, and not the number that differs.
TEST(SavedJob, DataOfWhichOneNumberDiffersAreOtherData) {
  const MemorySource one(MakeSamples(7, 4, false, 600, 1));
  Dataset changed = MakeSamples(7, 4, false, 600, 1);
  changed.dense[7 * 301 + 3] += 1;
  const MemorySource other(std::move(changed));
  EXPECT_EQ(Fingerprint(one).value(), Fingerprint(other).value()) << "what older releases compare";
  EXPECT_NE(FullFingerprint(one).value(), FullFingerprint(other).value());
  JobDescription was = Example(), now = Example();
  was.digest = FullFingerprint(one).value();
  now.digest = FullFingerprint(other).value();
  const SavedJob saved = Understand(StateOf(was)).value();
  EXPECT_EQ(CheckSameJob(saved, now, 7).code(), StatusCode::kConflict);
  EXPECT_TRUE(CheckSameJob(Understand(StateOf(Example())).value(), now, 7).ok())
      << "a checkpoint from before there were digests";
}

TEST(SavedJob, DescriptionsOfLongJobsAreAsShortAsOfOthers) {
  JobDescription about = Example();
  about.history.batch_loss.assign(150000, 0.123456789012345);
  const std::string text = ToJson(about);
  EXPECT_LT(text.size(), 200000u);
  const JobHistory kept = ParseJobDescription(text).value().history;
  EXPECT_EQ(kept.first_loss + kept.batch_loss.size(),
            about.history.first_loss + about.history.batch_loss.size());
  EXPECT_GE(kept.batch_loss.size(), 1000u);
}

TEST(JobRecord, OfALongJobKeepsTheNewestStepsAndTheSlowest) {
  JobRecord record(1);
  Time now{};
  constexpr uint64_t kSteps = 300000;
  for (uint64_t step = 0; step < kSteps; ++step) {
    record.Opened(step, now);
    now += std::chrono::milliseconds(step == 17 ? 500 : 1);
    record.Decoded(static_cast<double>(step), 1, nullptr);
    record.Applied(now);
  }
  EXPECT_EQ(record.last_batch_loss(), kSteps - 1);
  const JobHistory history = record.history();
  EXPECT_EQ(history.first_loss + history.batch_loss.size(), kSteps);
  EXPECT_EQ(history.batch_loss.front(), static_cast<double>(history.first_loss));
  const JobResult result = record.Take();
  EXPECT_EQ(result.steps, kSteps);
  EXPECT_GE(result.step_seconds.size(), JobRecord::kMostKept);
  EXPECT_LE(result.step_seconds.size(), 2 * JobRecord::kMostKept);
  EXPECT_EQ(result.slowest_step, 17u);
  EXPECT_NEAR(result.slowest_seconds, 0.5, 1e-9);
}

TEST(JobRecord, OfAResumedJobCountsTheSlowestStepFromTheJobsBeginning) {
  JobRecord record(1, 4);
  Time now{};
  for (StepId step = 4; step < 8; ++step) {
    record.Opened(step, now);
    now += std::chrono::milliseconds(step == 6 ? 500 : 1);
    record.Decoded(1, 1, nullptr);
    record.Applied(now);
  }
  EXPECT_EQ(record.Take().slowest_step, 6u);
}

TEST(Memory, CheckpointsHoldAVersionAndTheOptimizersState) {
  JobOptions plain = JobWorld::Options(2, "none");
  plain.optimizer.name = "adam";
  JobOptions saving = plain;
  saving.checkpoint.every = 10;
  EXPECT_EQ(ServerVectors(saving), ServerVectors(plain) + 3);
}

}  // namespace
}  // namespace motley
