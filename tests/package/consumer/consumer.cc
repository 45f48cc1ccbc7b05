// SPDX-License-Identifier: Apache-2.0
// The same as consumer.c in C++: the trainer is an object.
#include <motley/motley.h>

#include <cstdio>
#include <memory>

namespace {

struct Mean {
  double modulus;
  motley_status Add(const motley_work& work) const {
    for (uint64_t i = 0; i < work.sample_count; ++i) {
      const double gap = work.parameters[0] - static_cast<double>(work.samples[i] % 5);
      work.sum[0] += static_cast<float>(work.coefficient * gap);
      *work.loss += work.coefficient * gap * gap / modulus;
    }
    return MOTLEY_OK;
  }
};

motley_status Accumulate(void* context, const motley_work* work) {
  return static_cast<const Mean*>(context)->Add(*work);
}

}  // namespace

int main() {
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  options.sample_count = 500;
  options.batch = 500;
  options.learning_rate = 0.9;
  options.steps = 20;
  options.code = "repetition";
  options.tolerate = 1;
  Mean mean{2};
  motley_trainer trainer = MOTLEY_TRAINER_INIT;
  trainer.context = &mean;
  trainer.parameter_count = 1;
  trainer.accumulate = Accumulate;
  motley_job* made = nullptr;
  const motley_status created = motley_job_create(&options, &made);
  const std::unique_ptr<motley_job, decltype(&motley_job_destroy)> job(made, motley_job_destroy);
  motley_metrics metrics = MOTLEY_METRICS_INIT;
  float found = 0;
  if (created != MOTLEY_OK || motley_job_set_trainer(job.get(), &trainer) != MOTLEY_OK ||
      motley_job_run(job.get()) != MOTLEY_OK ||
      motley_job_metrics(job.get(), &metrics) != MOTLEY_OK ||
      motley_job_parameters(job.get(), &found, 1, nullptr) != MOTLEY_OK) {
    std::fprintf(stderr, "%s\n", motley_last_error());
    return 1;
  }
  std::printf("motley %s: %llu steps, mean %.3f\n", motley_version(),
              static_cast<unsigned long long>(metrics.steps), found);
  return 0;
}
