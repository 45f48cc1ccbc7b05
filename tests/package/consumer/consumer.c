/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the mean of values that follow from the samples' numbers. */
#include <motley/motley.h>
#include <stdio.h>

static motley_status accumulate(void* context, const motley_work* work) {
  (void)context;
  for (uint64_t i = 0; i < work->sample_count; ++i) {
    const double gap = work->parameters[0] - (double)(work->samples[i] % 5);
    work->sum[0] += (float)(work->coefficient * gap);
    *work->loss += work->coefficient * gap * gap / 2;
  }
  return MOTLEY_OK;
}

int main(void) {
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  options.sample_count = 500;
  options.batch = 500;
  options.learning_rate = 0.9;
  options.steps = 20;
  motley_trainer trainer = MOTLEY_TRAINER_INIT;
  trainer.parameter_count = 1;
  trainer.accumulate = accumulate;
  motley_job* job = NULL;
  motley_metrics metrics = MOTLEY_METRICS_INIT;
  float mean = 0;
  if (motley_job_create(&options, &job) || motley_job_set_trainer(job, &trainer) ||
      motley_job_run(job) || motley_job_metrics(job, &metrics) ||
      motley_job_parameters(job, &mean, 1, NULL)) {
    fprintf(stderr, "%s\n", motley_last_error());
    motley_job_destroy(job);
    return 1;
  }
  printf("motley %s: %llu steps, mean %.3f\n", motley_version(), (unsigned long long)metrics.steps,
         mean);
  motley_job_destroy(job);
  return 0;
}
