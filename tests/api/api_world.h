// SPDX-License-Identifier: Apache-2.0
// Common code of the C API's tests: small data, and jobs that end by themselves.
#pragma once

#include <gtest/gtest.h>
#include <motley/motley.h>

#include <functional>
#include <string>
#include <vector>

namespace motley {

// A CSV file with 400 samples of 6 features in 3 classes, always the same.
const std::string& SampleFile();
std::string TemporaryPath(const std::string& name);
std::string PeerProgram();    // tests/api/peer.c
std::string MotleyProgram();  // The built `motley`.

// Options of a short job on SampleFile(): softmax, 12 steps of 50 samples, 2 workers.
motley_job_options SmallJob();
// The same for the trainer of point_trainer.h: 200 points, 30 steps over all of them.
motley_job_options PointJob();

// Owns a job. Creation failures fail the test.
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
  // Runs the job; failures fail the test.
  void RunFine();

  std::vector<float> Parameters() const;
  double Report(const std::string& number);  // A number of the report.
  motley_metrics Metrics() const;

 private:
  motley_job* job_ = nullptr;
  std::function<void(const motley_event&)> handler_;
};

}  // namespace motley
