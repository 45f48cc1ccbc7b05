// SPDX-License-Identifier: Apache-2.0
// A program's own gradient, with workers in this process and in others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::HasSubstr;

std::array<double, POINT_DIMENSIONS> MeanPoint(uint64_t samples) {
  std::array<double, POINT_DIMENSIONS> mean{};
  for (uint64_t i = 0; i < samples; ++i) {
    for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
      mean[axis] += static_cast<double>(PointCoordinate(i, axis)) / samples;
    }
  }
  return mean;
}

void ExpectMean(const std::vector<float>& parameters) {
  const auto mean = MeanPoint(200);
  ASSERT_EQ(parameters.size(), mean.size());
  for (size_t axis = 0; axis < mean.size(); ++axis) {
    EXPECT_NEAR(parameters[axis], mean[axis], 1e-5);
  }
}

TEST(ApiTrainerJob, LearnsWhatItsGradientSays) {
  for (const char* code : {"none", "cyclic", "rs"}) {
    motley_job_options options = PointJob();
    options.code = code;
    TestJob job(options);
    ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
    job.RunFine();
    ExpectMean(job.Parameters());
    EXPECT_THAT(motley_job_report(job.get()), HasSubstr("\"model\": \"trainer\""));
  }
}

// The error is relative to the gradient, which is nearly 0 when the points' mean is found.
TEST(ApiTrainerJob, DecodesWhatItsGradientSays) {
  for (const char* code : {"none", "cyclic", "rs"}) {
    SCOPED_TRACE(code);
    motley_job_options options = PointJob();
    options.code = code;
    options.steps = 4;
    TestJob job(options);
    ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
    job.RunFine();
    EXPECT_LT(job.Metrics().max_decode_error, 1e-4);
    EXPECT_GT(job.Report("audited_steps"), 0);
  }
}

double TokensOf(uint64_t sample) { return static_cast<double>(1 + sample % 7); }

// The loss of a point counts once per token.
motley_trainer TokenTrainer() {
  motley_trainer trainer = PointTrainer();
  trainer.accumulate = [](void*, const motley_work* work) {
    *work->weight = 0;
    for (uint64_t i = 0; i < work->sample_count; ++i) {
      const double tokens = TokensOf(work->samples[i]);
      *work->weight += tokens;
      for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
        const double away = work->parameters[axis] - PointCoordinate(work->samples[i], axis);
        work->sum[axis] += static_cast<float>(work->coefficient * tokens * away);
        *work->loss += work->coefficient * tokens * 0.5 * away * away;
      }
    }
    return motley_status{MOTLEY_OK};
  };
  return trainer;
}

// The result does not depend on the code or on which worker computed which samples.
TEST(ApiTrainerJob, AMeanOverTokensIsExact) {
  std::array<double, POINT_DIMENSIONS> mean{};
  double tokens = 0, loss = 0;
  for (uint64_t i = 0; i < 200; ++i) tokens += TokensOf(i);
  for (uint64_t i = 0; i < 200; ++i) {
    for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
      const double value = PointCoordinate(i, axis);
      mean[axis] += TokensOf(i) * value / tokens;
      loss += TokensOf(i) * 0.5 * value * value / tokens;
    }
  }
  for (const char* code : {"none", "adaptive", "repetition", "multi-message", "cyclic",
                           "heterogeneous", "rs", "group", "short", "partial-coded", "auto"}) {
    SCOPED_TRACE(code);
    motley_job_options options = PointJob();
    options.code = code;
    options.workers = 4;
    options.steps = 2;
    TestJob job(options);
    ASSERT_EQ(job.SetTrainer(TokenTrainer()), MOTLEY_OK) << motley_last_error();
    std::vector<double> losses;
    job.OnEvent([&](const motley_event& event) {
      if (event.kind == MOTLEY_EVENT_STEP_APPLIED) losses.push_back(event.loss);
    });
    job.RunFine();
    const auto parameters = job.Parameters();
    for (size_t axis = 0; axis < mean.size(); ++axis) {
      // Two steps from 0, each half of the way.
      EXPECT_NEAR(parameters[axis], 0.75 * mean[axis], 1e-6);
    }
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_NEAR(losses[0], loss, 1e-6 * loss);
  }
}

TEST(ApiTrainerJob, ABatchThatWeighsNothingChangesNothing) {
  motley_trainer trainer = PointTrainer();
  trainer.accumulate = [](void*, const motley_work* work) {
    *work->weight = 0;
    return motley_status{MOTLEY_OK};
  };
  motley_job_options options = PointJob();
  options.code = "cyclic";
  options.steps = 2;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  job.RunFine();
  EXPECT_EQ(job.Parameters(), std::vector<float>(POINT_DIMENSIONS, 0.0f));
}

TEST(ApiTrainerJob, AWeightThatCannotBeIsRefused) {
  motley_trainer trainer = PointTrainer();
  trainer.accumulate = [](void*, const motley_work* work) {
    *work->weight = -1;
    return motley_status{MOTLEY_OK};
  };
  TestJob job(PointJob());
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  EXPECT_NE(job.Run(), MOTLEY_OK);
  EXPECT_THAT(motley_last_error(), HasSubstr("a weight must be finite and not negative"));
}

TEST(ApiTrainerJob, IsRequiredForSamplesWithoutData) {
  TestJob job(PointJob());
  EXPECT_EQ(job.Run(), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("trainer"));
}

TEST(ApiTrainerJob, ParametersAreSavedAsOneTensor) {
  TestJob job(PointJob());
  ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK);
  job.RunFine();
  const std::string path = TemporaryPath("points.safetensors");
  ASSERT_EQ(motley_job_save(job.get(), path.c_str()), MOTLEY_OK) << motley_last_error();
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(content, HasSubstr(R"("parameters":{"dtype":"F32","shape":[3])"));
  const auto parameters = job.Parameters();
  const std::string tail(reinterpret_cast<const char*>(parameters.data()), 12);
  EXPECT_EQ(content.substr(content.size() - 12), tail);
}

TEST(ApiTrainerJob, InitializeAndHoldAreCalled) {
  struct Seen {
    std::mutex mutex;
    uint64_t seed = 0;
    std::set<uint64_t> held;
  } seen;
  motley_trainer trainer = PointTrainer();
  trainer.context = &seen;
  trainer.initialize = [](void* context, uint64_t seed, float* parameters, uint64_t count) {
    static_cast<Seen*>(context)->seed = seed;
    std::fill(parameters, parameters + count, 3.0f);
    return motley_status{MOTLEY_OK};
  };
  trainer.hold = [](void* context, uint32_t, uint64_t first, uint64_t count) {
    auto& all = *static_cast<Seen*>(context);
    const std::lock_guard lock(all.mutex);
    for (uint64_t i = first; i < first + count; ++i) all.held.insert(i);
    return motley_status{MOTLEY_OK};
  };
  motley_job_options options = PointJob();
  options.steps = 1;
  options.seed = 99;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  job.RunFine();
  EXPECT_EQ(seen.seed, 99U);
  EXPECT_EQ(seen.held.size(), 200U);
  // One step of rate 0.5 from 3.
  EXPECT_NEAR(job.Parameters()[0], 3 - 0.5 * (3 - MeanPoint(200)[0]), 1e-5);
}

TEST(ApiTrainerJob, FailingCallbacksEndItWithTheirNumber) {
  const auto fails = [](const char* number, const std::function<void(motley_trainer&)>& set) {
    motley_trainer trainer = PointTrainer();
    set(trainer);
    TestJob job(PointJob());
    ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
    EXPECT_EQ(job.Run(), MOTLEY_CALLBACK) << motley_last_error();
    EXPECT_THAT(motley_last_error(), HasSubstr(number));
  };
  fails("accumulate returned 4711", [](motley_trainer& trainer) {
    trainer.accumulate = [](void*, const motley_work*) { return motley_status{4711}; };
  });
  fails("initialize returned -3", [](motley_trainer& trainer) {
    trainer.initialize = [](void*, uint64_t, float*, uint64_t) { return motley_status{-3}; };
  });
  fails("hold returned 77", [](motley_trainer& trainer) {
    trainer.hold = [](void*, uint32_t, uint64_t, uint64_t) { return motley_status{77}; };
  });
}

TEST(ApiTrainerJob, ExceptionsOfCallbacksEndIt) {
  const auto fails = [](const char* why, const std::function<void(motley_trainer&)>& set) {
    motley_trainer trainer = PointTrainer();
    set(trainer);
    TestJob job(PointJob());
    ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
    EXPECT_EQ(job.Run(), MOTLEY_CALLBACK) << motley_last_error();
    EXPECT_THAT(motley_last_error(), HasSubstr(why));
  };
  fails("accumulate threw an exception: stoi", [](motley_trainer& trainer) {
    trainer.accumulate = [](void*, const motley_work*) { return motley_status{std::stoi("no")}; };
  });
  fails("initialize threw an exception: stoi", [](motley_trainer& trainer) {
    trainer.initialize = [](void*, uint64_t, float*, uint64_t) {
      return motley_status{std::stoi("no")};
    };
  });
  fails("hold threw an exception: stoi", [](motley_trainer& trainer) {
    trainer.hold = [](void*, uint32_t, uint64_t, uint64_t) {
      return motley_status{std::stoi("no")};
    };
  });
}

// Each worker may stop the job, and more than once.
TEST(ApiTrainerJob, ManyCallbacksMayStopIt) {
  motley_job_options options = PointJob();
  options.steps = 1'000'000;
  TestJob job(options);
  motley_trainer trainer = PointTrainer();
  trainer.context = job.get();
  trainer.accumulate = [](void* context, const motley_work* work) {
    for (int i = 0; i < 3 && work->step >= 2; ++i) {
      motley_job_stop(static_cast<motley_job*>(context));
    }
    return motley_status{MOTLEY_OK};
  };
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED) << motley_last_error();
  EXPECT_GE(job.Metrics().steps, 2U);
  EXPECT_FALSE(job.Parameters().empty());
}

// Fits the label by its mean, and checks that the batch has the samples that it names.
motley_status AccumulateLabels(void* context, const motley_work* work) {
  const motley_batch* batch = work->batch;
  if (batch == nullptr || batch->rows != work->sample_count) return 1;
  if (batch->columns_count != 6 || batch->row_begin != nullptr) return 2;
  for (uint64_t i = 0; i < batch->rows; ++i) {
    // The file's labels are 0, 1, 2, 0, 1, 2, ...
    if (batch->labels[i] != static_cast<float>(work->samples[i] % 3)) return 3;
    const double away = work->parameters[0] - batch->labels[i];
    work->sum[0] += static_cast<float>(work->coefficient * away);
    *work->loss += work->coefficient * 0.5 * away * away;
  }
  static_cast<std::atomic<uint64_t>*>(context)->fetch_add(batch->rows);
  return MOTLEY_OK;
}

// Accepts only batches with the unscaled features of the file below.
motley_status CheckLargeFeatures(void*, const motley_work* work) {
  const motley_batch* batch = work->batch;
  for (uint64_t i = 0; i < batch->rows; ++i) {
    if (batch->features[i] != 10.0f * static_cast<float>(work->samples[i])) return 1;
  }
  return MOTLEY_OK;
}

TEST(ApiTrainerJob, FeaturesAreThoseOfTheFile) {
  const std::string path = testing::TempDir() + "/motley_trainer_features.csv";
  {
    std::ofstream file(path);
    for (int i = 0; i < 100; ++i) file << 10 * i << ",1\n";
  }
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.parameter_count = 1;
  trainer.accumulate = CheckLargeFeatures;
  motley_job_options options = SmallJob();
  options.data = path.c_str();
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  // Class weights and dropout are up to the trainer, so the options are refused.
  const auto refused = [&](motley_job_options wish) {
    TestJob other(wish);
    EXPECT_EQ(other.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
    EXPECT_EQ(other.Run(), MOTLEY_INVALID_ARGUMENT);
    return std::string(motley_last_error());
  };
  options.class_weights = "balanced";
  EXPECT_THAT(refused(options), testing::HasSubstr("motley_work.weight"));
  options.class_weights = nullptr;
  options.dropout = 0.5;
  EXPECT_THAT(refused(options), testing::HasSubstr("`dropout`"));
  std::remove(path.c_str());
}

// The `data` that a job of one step passes to its trainer: each sample's features, then its label.
std::vector<std::vector<float>> SeenByATrainer(const std::string& data,
                                               const motley_job_options& more) {
  std::vector<std::vector<float>> seen;
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.context = &seen;
  trainer.parameter_count = 1;
  trainer.accumulate = [](void* context, const motley_work* work) -> motley_status {
    auto& rows = *static_cast<std::vector<std::vector<float>>*>(context);
    const motley_batch& batch = *work->batch;
    rows.resize(3);
    for (uint64_t i = 0; i < batch.rows; ++i) {
      const float* row = batch.features + i * batch.columns_count;
      rows[work->samples[i]].assign(row, row + batch.columns_count);
      rows[work->samples[i]].push_back(batch.labels[i]);
    }
    return MOTLEY_OK;
  };
  motley_job_options options = more;
  options.data = data.c_str();
  options.workers = 1;
  options.code = "none";
  options.steps = 1;
  options.audit = -1;
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  return seen;
}

// trainer.h promises this.
TEST(ApiTrainerJob, GetsFeaturesAsTheHeaderSays) {
  using Rows = std::vector<std::vector<float>>;
  const std::string path = testing::TempDir() + "/motley_trainer_table.csv";
  std::ofstream(path) << "size,colour,n,y\n100,red,1,1.5\n200,blue,,2.5\n300,red,3,3.5\n";
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  EXPECT_EQ(SeenByATrainer(path, options),
            (Rows{{100, 0, 1, 1, 1.5}, {200, 1, 0, 2, 2.5}, {300, 0, 1, 3, 3.5}}));
  options.scale = "largest";
  const Rows largest = SeenByATrainer(path, options);
  EXPECT_FLOAT_EQ(largest[2][0], 1);
  EXPECT_FLOAT_EQ(largest[2][3], 0.01f);
  EXPECT_EQ(largest[2].back(), 3.5);
  // A scale applies to features; targets stay.
  options.scale = "standard";
  const Rows standard = SeenByATrainer(path, options);
  EXPECT_FLOAT_EQ(standard[0][0], -1.2247449f);
  EXPECT_EQ(standard[0][1], 0);
  EXPECT_EQ(standard[0].back(), 1.5);
  std::ofstream(path) << "n,kind\n5,b\n6,a\n7,b\n";
  options.scale = nullptr;
  options.task = "classify";
  EXPECT_EQ(SeenByATrainer(path, options), (Rows{{5, 1}, {6, 0}, {7, 1}}));
  std::remove(path.c_str());
}

TEST(ApiTrainerJob, GetsTheSamplesOfItsData) {
  std::atomic<uint64_t> computed{0};
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.context = &computed;
  trainer.parameter_count = 1;
  trainer.accumulate = AccumulateLabels;
  motley_job_options options = SmallJob();
  options.steps = 40;
  options.batch = 400;
  options.learning_rate = 0.5;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  EXPECT_GE(computed, 40U * 400);
  EXPECT_NEAR(job.Parameters()[0], 399.0 / 400, 1e-5);
}

TEST(ApiTrainerJob, WorkersMayBeProcesses) {
  const std::string peer = PeerProgram();
  const char* const command[] = {peer.c_str(), "worker", nullptr};
  motley_job_options options = PointJob();
  options.worker_command = command;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK);
  job.RunFine();
  ExpectMean(job.Parameters());
}

// The output of a running program, line by line.
class Running {
 public:
  explicit Running(const std::string& command) : pipe_(popen(command.c_str(), "r")) {}
  ~Running() { Finish(); }
  std::string Line() {
    std::array<char, 512> line{};
    if (pipe_ == nullptr || fgets(line.data(), line.size(), pipe_) == nullptr) return "";
    std::string text(line.data());
    return text.substr(0, text.find('\n'));
  }
  int Finish() { return pipe_ == nullptr ? -1 : pclose(std::exchange(pipe_, nullptr)); }

 private:
  std::FILE* pipe_;
};

TEST(ApiRoles, ServerAndWorkersAreProcessesOfTheirOwn) {
  Running server(PeerProgram() + " server");
  const std::string listening = server.Line();
  const std::string address = listening.substr(0, listening.find(' '));
  const std::string token = listening.substr(listening.find(' ') + 1);
  ASSERT_FALSE(token.empty()) << listening;
  const std::string command = "MOTLEY_TOKEN=" + token + " " + PeerProgram() + " worker " + address;
  Running first(command);
  Running second(command);
  float found[POINT_DIMENSIONS] = {};
  const std::string line = server.Line();
  ASSERT_EQ(std::sscanf(line.c_str(), "%f %f %f", &found[0], &found[1], &found[2]), 3) << line;
  ExpectMean({std::begin(found), std::end(found)});
  EXPECT_EQ(server.Finish(), 0);
  EXPECT_EQ(first.Finish(), 0);
  EXPECT_EQ(second.Finish(), 0);
}

TEST(ApiRoles, WorkerWithTheWrongTokenIsRefused) {
  Running server(PeerProgram() + " server");
  const std::string listening = server.Line();
  const std::string address = listening.substr(0, listening.find(' '));
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.role = MOTLEY_WORKER;
  options.server = address.c_str();
  options.token = "guessed";
  TestJob stranger(options);
  ASSERT_EQ(stranger.SetTrainer(PointTrainer()), MOTLEY_OK);
  EXPECT_EQ(stranger.Run(), MOTLEY_PERMISSION) << motley_last_error();
  motley_metrics metrics MOTLEY_METRICS_INIT;
  EXPECT_EQ(motley_job_metrics(stranger.get(), &metrics), MOTLEY_CONFLICT);
  // The server waits for more workers, and is stopped when its own workers end.
  const std::string token = listening.substr(listening.find(' ') + 1);
  const std::string command = "MOTLEY_TOKEN=" + token + " " + PeerProgram() + " worker " + address;
  Running first(command);
  Running second(command);
  EXPECT_FALSE(server.Line().empty());
}

}  // namespace
}  // namespace motley
