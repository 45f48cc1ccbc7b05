/* SPDX-License-Identifier: Apache-2.0 */
/* Trains with a gradient of its own: least squares over samples that only this program has.
 *
 *   trainer                   server and workers as threads of this process
 *   trainer processes         the same, but each worker is a process that the job starts
 *   trainer serve HOST:PORT   a server, whose two workers come from other machines
 *   trainer join HOST:PORT    one of them
 *   motley run --workers 4 trainer   a server and four workers, one process each
 *
 * A worker is let in if it shows the server's token. Set the environment variable MOTLEY_TOKEN to
 * the same 16 characters or more for `serve` and for `join`. Workers read it by themselves. A
 * server takes what options.token says, or else MOTLEY_TOKEN. Without both it makes a token up, and
 * the event MOTLEY_EVENT_LISTENING reports it. `motley run` sets MOTLEY_ROLE, and the library finds
 * the rest in the environment.
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

/* Adds the gradients and losses of the work's samples. Called from several threads. */
static motley_status accumulate(void* context, const motley_work* work) {
  (void)context;
  for (uint64_t k = 0; k < work->sample_count; ++k) {
    if (k % 1024 == 0 && motley_work_cancelled(work)) return MOTLEY_CANCELLED;
    double x[WEIGHTS], gap = 0;
    for (int i = 0; i < WEIGHTS; ++i) {
      x[i] = input(work->samples[k], i);
      gap += (work->parameters[i] - true_weight(i)) * x[i];
    }
    for (int i = 0; i < WEIGHTS; ++i) work->sum[i] += (float)(work->coefficient * gap * x[i]);
    *work->loss += work->coefficient * gap * gap / 2;
  }
  return MOTLEY_OK;
}

static void on_event(void* context, const motley_event* event) {
  const motley_job_options* options = context;
  if (event->kind == MOTLEY_EVENT_LISTENING && options->role == MOTLEY_SERVER) {
    printf("serving at %s\n", event->text); /* And the token, if it was made up. */
    fflush(stdout);
  }
  if (event->kind != MOTLEY_EVENT_STEP_APPLIED || event->step % 50 != 0) return;
  printf("step %3u: loss %.6f\n", (unsigned)event->step, event->loss);
}

/* True if the arguments are one of the forms above, or those of a process that the job starts. */
static int understood(int argc, char** argv) {
  static const char* const forms[] = {"processes", "worker", "serve", "join"};
  static const int arguments[] = {2, 2, 3, 3};
  if (argc < 2) return 1;
  for (int i = 0; i < 4; ++i) {
    if (strcmp(argv[1], forms[i]) == 0) return argc == arguments[i];
  }
  return 0;
}

int main(int argc, char** argv) {
  if (!understood(argc, argv)) {
    fprintf(stderr, "usage: trainer [processes | serve HOST:PORT | join HOST:PORT]\n");
    return 2;
  }
  const char* form = argc > 1 ? argv[1] : "";
  const char* address = argc > 2 ? argv[2] : NULL;
  const char* role = argc > 1 ? NULL : getenv("MOTLEY_ROLE"); /* Set by `motley run`. */
  const char* const worker[] = {argv[0], "worker", NULL};
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  if (strcmp(form, "worker") == 0 || (role != NULL && strcmp(role, "worker") == 0)) {
    options.role = MOTLEY_WORKER; /* Where its server is, it finds in its environment. */
  } else if (strcmp(form, "join") == 0) {
    options.role = MOTLEY_WORKER;
    options.server = address;
  } else {
    options.sample_count = SAMPLES;
    options.learning_rate = 0.1;
    options.steps = 300;
    if (role != NULL) {
      options.role = MOTLEY_SERVER; /* Where it listens, and how many workers come: as for them. */
    } else {
      options.workers = 4;
      options.code = "cyclic"; /* Each step may miss one worker. */
      options.tolerate = 1;
    }
    if (strcmp(form, "processes") == 0) options.worker_command = worker;
    if (strcmp(form, "serve") == 0) {
      options.role = MOTLEY_SERVER;
      options.listen = address;
      options.workers = options.min_workers = 2;
    }
  }
  motley_trainer trainer = MOTLEY_TRAINER_INIT;
  trainer.parameter_count = WEIGHTS;
  trainer.accumulate = accumulate;

  motley_job* job = NULL;
  motley_metrics metrics = MOTLEY_METRICS_INIT;
  float weights[WEIGHTS];
  const int failed = motley_job_create(&options, &job) || motley_job_set_trainer(job, &trainer) ||
                     motley_job_set_events(job, on_event, &options) || motley_job_run(job);
  if (failed) fprintf(stderr, "trainer: %s\n", motley_last_error());
  if (!failed && options.role != MOTLEY_WORKER) {
    motley_job_metrics(job, &metrics);
    motley_job_parameters(job, weights, WEIGHTS, NULL);
    printf("%u steps, %u workers; weights found (true):\n", (unsigned)metrics.steps,
           (unsigned)metrics.workers_wanted);
    for (int i = 0; i < WEIGHTS; ++i) printf("%9.4f (%g)\n", weights[i], true_weight(i));
  }
  motley_job_destroy(job);
  return failed;
}
