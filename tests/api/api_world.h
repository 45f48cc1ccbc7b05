// SPDX-License-Identifier: Apache-2.0
// What the tests of the C API have in common: small data, jobs that end by themselves.
#pragma once

#include <gtest/gtest.h>
#include <motley/motley.h>

#include <functional>
#include <string>
#include <vector>

namespace motley {

// 400 samples of 6 features in 3 classes, as a CSV file; the same every time.
const std::string& SampleFile();
std::string TemporaryPath(const std::string& name);
std::string PeerProgram();    // tests/api/peer.c
std::string MotleyProgram();  // The built `motley`.

// Options of a short job on SampleFile(): softmax, 12 steps of 50 samples, 2 workers.
motley_job_options SmallJob();
// The same for the trainer of point_trainer.h: 200 points, 30 steps of all of them.
motley_job_options PointJob();

// A job, destroyed with it. Fails the test when it cannot be made.
class TestJob {
 public:
  explicit TestJob(const motley_job_options& options);
  ~TestJob() { motley_job_destroy(job_); }
  TestJob(const TestJob&) = delete;
  TestJob& operator=(const TestJob&) = delete;

  motley_job* get() const { return job_; }
  motley_status SetTrainer(const motley_trainer& trainer) {
    return motley_job_set_trainer(job_, &trainer);
  }
  void OnEvent(std::function<void(const motley_event&)> handler);
  motley_status Run() { return motley_job_run(job_); }
  // Runs it and fails the test when that fails.
  void RunFine();

  std::vector<float> Parameters() const;
  double Report(const std::string& number);  // A number of the report.
  motley_metrics Metrics() const;

 private:
  motley_job* job_ = nullptr;
  std::function<void(const motley_event&)> handler_;
};

}  // namespace motley
