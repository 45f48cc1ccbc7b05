// SPDX-License-Identifier: Apache-2.0
#include "tests/api/api_world.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "nlohmann/json.hpp"
#include "test_paths.h"

namespace motley {
namespace {

void WriteSamples(const std::string& path) {
  std::ofstream file(path);
  for (int row = 0; row < 400; ++row) {
    const int label = row % 3;
    for (int feature = 0; feature < 6; ++feature) {
      // Looks like noise, but is the same everywhere.
      const double noise = static_cast<double>((row * 7919 + feature * 104729) % 1000) / 1000;
      file << (feature % 3 == label ? 1.0 : 0.0) + 0.8 * noise << ',';
    }
    file << label << '\n';
  }
}

// Files of the tests. The process that created them removes them; its children do not.
class Leftovers {
 public:
  ~Leftovers() {
    std::error_code ignored;
    for (const std::string& path : paths_) {
      if (getpid() == owner_) std::filesystem::remove_all(path, ignored);
    }
  }
  const std::string& Add(std::string path) { return *paths_.insert(std::move(path)).first; }

 private:
  const pid_t owner_ = getpid();
  std::set<std::string> paths_;
};

}  // namespace

std::string TemporaryPath(const std::string& name) {
  static Leftovers leftovers;
  return leftovers.Add(testing::TempDir() + "motley-api-" + std::to_string(getpid()) + "-" + name);
}

const std::string& SampleFile() {
  static const std::string path = [] {
    std::string made = TemporaryPath("samples.csv");
    WriteSamples(made);
    return made;
  }();
  return path;
}

std::string PeerProgram() { return std::string(MOTLEY_BINARY_DIR) + "/tests/api_peer"; }
std::string MotleyProgram() { return std::string(MOTLEY_BINARY_DIR) + "/motley"; }

motley_job_options SmallJob() {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.data = SampleFile().c_str();
  options.shares = "equal";  // Shares that follow speeds change the order of sums.
  options.batch = 50;
  options.steps = 12;
  options.workers = 2;
  options.threads = 1;
  return options;
}

motley_job_options PointJob() {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.sample_count = 200;
  options.batch = 200;
  options.steps = 30;
  options.learning_rate = 0.5;
  options.workers = 2;
  options.threads = 1;
  return options;
}

TestJob::TestJob(const motley_job_options& options) {
  EXPECT_EQ(motley_job_create(&options, &job_), MOTLEY_OK) << motley_last_error();
}

void TestJob::OnEvent(std::function<void(const motley_event&)> handler) {
  handler_ = std::move(handler);
  const auto pass_on = [](void* self, const motley_event* event) {
    static_cast<TestJob*>(self)->handler_(*event);
  };
  EXPECT_EQ(motley_job_set_events(job_, pass_on, this), MOTLEY_OK) << motley_last_error();
}

void TestJob::RunFine() { ASSERT_EQ(Run(), MOTLEY_OK) << motley_last_error(); }

std::vector<float> TestJob::Parameters() const {
  uint64_t all = 0;
  EXPECT_EQ(motley_job_parameters(job_, nullptr, 0, &all), MOTLEY_OK) << motley_last_error();
  std::vector<float> values(all);
  EXPECT_EQ(motley_job_parameters(job_, values.data(), all, nullptr), MOTLEY_OK);
  return values;
}

double TestJob::Report(const std::string& number) {
  const char* report = motley_job_report(job_);
  EXPECT_NE(report, nullptr) << motley_last_error();
  if (report == nullptr) return -1;
  const auto json = nlohmann::json::parse(report);
  EXPECT_TRUE(json.contains(number) && json[number].is_number()) << number;
  return json.value(number, -1.0);
}

motley_metrics TestJob::Metrics() const {
  motley_metrics metrics MOTLEY_METRICS_INIT;
  EXPECT_EQ(motley_job_metrics(job_, &metrics), MOTLEY_OK) << motley_last_error();
  return metrics;
}

}  // namespace motley
