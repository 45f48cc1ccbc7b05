// SPDX-License-Identifier: Apache-2.0
// The C API from C++: a trainer that is an object, and takes whole rows of work at once. Most codes
// ask for weighted sums of gradients. This trainer computes each sample's gradient once, whatever
// the weights, and adds it to all sums that want it.
#include <motley/motley.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

constexpr size_t kWeights = 8;

// Least squares over samples that only this program has.
class LeastSquares {
 public:
  explicit LeastSquares(uint64_t samples) {
    for (uint64_t n = 0; n < samples * kWeights; ++n) {
      const uint64_t mixed = (n + 1) * 0x9e3779b97f4a7c15u;
      inputs_.push_back(static_cast<double>((mixed ^ (mixed >> 29)) % 1000003) / 500001.5 - 1);
    }
  }

  // The weights that training should find.
  static double Wanted(size_t i) { return i % 2 == 1 ? 0.5 * static_cast<double>(i) : -1.0; }

  // Several threads call this at the same time: one for each worker of this process.
  motley_status Add(const motley_weighted_work& work) const {
    uint64_t done = 0;
    for (uint64_t r = 0; r < work.run_count; ++r) {
      const motley_run& run = work.runs[r];
      for (uint64_t k = run.first; k < run.first + run.count; ++k) {
        if (++done % 1024 == 0) motley_weighted_progress(&work, done);
        if (done % 1024 == 0 && motley_weighted_cancelled(&work) != 0) return MOTLEY_CANCELLED;
        const double* x = &inputs_.at(work.samples[k] * kWeights);
        double gap = 0;
        for (size_t i = 0; i < kWeights; ++i) gap += (work.parameters[i] - Wanted(i)) * x[i];
        for (uint32_t v = 0; v < work.vectors; ++v) {
          for (size_t i = 0; i < kWeights; ++i) {
            work.sums[v][i] += static_cast<float>(run.weights[v] * gap * x[i]);
          }
        }
        work.losses[r] += gap * gap / 2;  // Losses are not weighted.
      }
    }
    return MOTLEY_OK;
  }

 private:
  std::vector<double> inputs_;  // Sample after sample.
};

// No exception may leave a callback.
motley_status AddRows(void* context, const motley_weighted_work* work) {
  try {
    return static_cast<const LeastSquares*>(context)->Add(*work);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rows: %s\n", error.what());
    return MOTLEY_CALLBACK;
  }
}

struct Destroy {
  void operator()(motley_job* job) const { motley_job_destroy(job); }
};
using Job = std::unique_ptr<motley_job, Destroy>;

void Check(motley_status status) {
  if (status != MOTLEY_OK) throw std::runtime_error(motley_last_error());
}

Job MakeJob(const motley_job_options& options) {
  motley_job* job = nullptr;
  Check(motley_job_create(&options, &job));
  return Job(job);
}

void Train() {
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  options.sample_count = 20000;
  options.workers = 4;
  options.code = "rs";  // Each step may miss one worker; the coefficients are complex numbers.
  options.tolerate = 1;
  options.learning_rate = 0.1;
  options.steps = 300;
  LeastSquares samples(options.sample_count);
  motley_trainer trainer = MOTLEY_TRAINER_INIT;
  trainer.context = &samples;
  trainer.parameter_count = kWeights;
  trainer.accumulate_weighted = AddRows;

  const Job job = MakeJob(options);
  Check(motley_job_set_trainer(job.get(), &trainer));
  Check(motley_job_run(job.get()));
  std::array<float, kWeights> found{};
  Check(motley_job_parameters(job.get(), found.data(), found.size(), nullptr));
  std::printf("weights found (true):\n");
  for (size_t i = 0; i < kWeights; ++i) {
    std::printf("%9.4f (%g)\n", static_cast<double>(found[i]), LeastSquares::Wanted(i));
  }
}

}  // namespace

int main() {
  try {
    Train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rows: %s\n", error.what());
    return 1;
  }
  return 0;
}
