/* SPDX-License-Identifier: Apache-2.0 */
/* Trains in a loop of its own: least squares over samples that only this program has, with an
 * optimizer of its own. The library calls no function of this program but on_event.
 *
 *   loop                   server and workers as threads of this process
 *   loop serve HOST:PORT   a server, whose two workers come from other machines
 *   loop join HOST:PORT    one of them
 *
 * Set the environment variable MOTLEY_TOKEN to the same 16 characters or more for `serve` and for
 * `join`.
 */
#include <motley/motley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS = 8, SAMPLES = 20000 };

/* The weights that training should find. */
static double true_weight(int i) { return i % 2 ? 0.5 * i : -1.0; }

/* Input i of sample n, computed from n: every process has the same samples. */
static double input(uint64_t n, int i) {
  const uint64_t mixed = (n * WEIGHTS + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
  return (double)((mixed ^ (mixed >> 29)) % 1000003) / 500001.5 - 1;
}

/* Adds the gradients of a worker's samples to the sums. */
static motley_status add_gradients(motley_job* job, const motley_step* step) {
  for (uint32_t r = 0; r < step->run_count; ++r) {
    const motley_run* run = &step->runs[r];
    for (uint64_t k = run->first; k < run->first + run->count; ++k) {
      double x[WEIGHTS], gap = 0;
      for (int i = 0; i < WEIGHTS; ++i) {
        x[i] = input(step->samples[k], i);
        gap += (step->parameters[i] - true_weight(i)) * x[i];
      }
      for (uint32_t v = 0; v < step->vectors; ++v) {
        for (int i = 0; i < WEIGHTS; ++i) step->sums[v][i] += (float)(run->weights[v] * gap * x[i]);
      }
      step->losses[r] += gap * gap / 2;
    }
    /* Another worker may have been faster. */
    if (motley_step_partial(job, step, run->first + run->count) == MOTLEY_CANCELLED) {
      return MOTLEY_CANCELLED;
    }
  }
  return MOTLEY_OK;
}

/* Momentum. The state is the velocity, which checkpoints would save. */
static void apply(const motley_step* step) {
  for (uint64_t i = 0; i < step->parameter_count; ++i) {
    step->state[i] = 0.9f * step->state[i] + step->gradient[i];
    step->new_parameters[i] -= (float)step->learning_rate * step->state[i];
  }
}

/* Does all work that the job has for this process, until the job ends. */
static motley_status work(motley_job* job) {
  motley_step step = MOTLEY_STEP_INIT;
  for (;;) {
    motley_status status = motley_step_begin(job, -1, &step);
    if (status != MOTLEY_OK || step.kind == MOTLEY_STEP_END) return status;
    if (step.kind == MOTLEY_STEP_GRADIENT) status = add_gradients(job, &step);
    if (step.kind == MOTLEY_STEP_APPLY) {
      apply(&step);
      if (step.step % 50 == 0) printf("step %3u\n", (unsigned)step.step);
    }
    status = motley_step_end(job, &step, status);
    if (status != MOTLEY_OK) return status;
  }
}

static void on_event(void* context, const motley_event* event) {
  (void)context;
  if (event->kind != MOTLEY_EVENT_LISTENING) return;
  printf("serving at %s\n", event->text);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int joins = argc == 3 && strcmp(argv[1], "join") == 0;
  const int serves = argc == 3 && strcmp(argv[1], "serve") == 0;
  if (argc != 1 && !joins && !serves) {
    fprintf(stderr, "usage: loop [serve HOST:PORT | join HOST:PORT]\n");
    return 2;
  }
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  if (joins) {
    options.role = MOTLEY_WORKER;
    options.server = argv[2];
  } else {
    options.sample_count = SAMPLES;
    options.workers = 4;
    options.code = "repetition"; /* Each step may miss one worker. */
    options.learning_rate = 0.1;
    options.steps = 200;
  }
  if (serves) {
    options.role = MOTLEY_SERVER;
    options.listen = argv[2];
    options.token = getenv("MOTLEY_TOKEN");
    options.workers = options.min_workers = 2;
  }
  motley_loop loop = MOTLEY_LOOP_INIT;
  loop.flags = MOTLEY_LOOP_APPLY;
  loop.parameter_count = loop.state_count = WEIGHTS;

  motley_job* job = NULL;
  float weights[WEIGHTS];
  const int failed = motley_job_create(&options, &job) || motley_job_set_loop(job, &loop) ||
                     motley_job_set_events(job, on_event, NULL) || motley_job_start(job) ||
                     work(job) || motley_job_wait(job, -1, NULL);
  if (failed) fprintf(stderr, "loop: %s\n", motley_last_error());
  if (!failed && !joins) {
    motley_job_parameters(job, weights, WEIGHTS, NULL);
    printf("weights found (true):\n");
    for (int i = 0; i < WEIGHTS; ++i) printf("%9.4f (%g)\n", weights[i], true_weight(i));
  }
  motley_job_destroy(job);
  return failed;
}
