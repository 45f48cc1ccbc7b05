/* SPDX-License-Identifier: Apache-2.0 */
/* A program that embeds Motley, in plain C: one side of a job of two processes, or all of one.
 * usage: peer all | peer server | peer worker [ADDRESS] | peer builtin-worker
 * `server` prints its address and token first. `all` and `server` print what they learned. */
#include <stdio.h>
#include <string.h>

#include "tests/api/point_trainer.h"

enum { SAMPLES = 200 };

static void OnEvent(void* context, const motley_event* event) {
  (void)context;
  if (event->kind != MOTLEY_EVENT_LISTENING) return;
  printf("%s\n", event->text);
  fflush(stdout);
}

static int Fail(const char* what) {
  fprintf(stderr, "peer: %s: %s\n", what, motley_last_error());
  return 1;
}

static int PrintParameters(const motley_job* job) {
  float values[POINT_DIMENSIONS];
  uint64_t all = 0;
  if (motley_job_parameters(job, values, POINT_DIMENSIONS, &all) != MOTLEY_OK) {
    return Fail("parameters");
  }
  if (all != POINT_DIMENSIONS) return Fail("another number of parameters");
  printf("%.9g %.9g %.9g\n", values[0], values[1], values[2]);
  return 0;
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "all";
  motley_job_options options = MOTLEY_JOB_OPTIONS_INIT;
  options.sample_count = SAMPLES;
  options.batch = SAMPLES;
  options.steps = 30;
  options.learning_rate = 0.5;
  options.workers = 2;
  if (strcmp(part, "server") == 0) options.role = MOTLEY_SERVER;
  const int is_worker = strstr(part, "worker") != NULL;
  if (is_worker) options.role = MOTLEY_WORKER;
  if (argc > 2) options.server = argv[2];

  motley_job* job = NULL;
  if (motley_job_create(&options, &job) != MOTLEY_OK) return Fail("create");
  const motley_trainer trainer = PointTrainer();
  int code = 0;
  if (strcmp(part, "builtin-worker") != 0 && motley_job_set_trainer(job, &trainer) != MOTLEY_OK) {
    code = Fail("trainer");
  } else if (motley_job_set_events(job, OnEvent, NULL) != MOTLEY_OK) {
    code = Fail("events");
  } else if (motley_job_run(job) != MOTLEY_OK) {
    code = Fail("run");
  } else if (!is_worker) {
    code = PrintParameters(job);
  }
  motley_job_destroy(job);
  return code;
}
