/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A training job: made from options, run once, then asked what came of it.
 *
 * Roles. MOTLEY_ALL_IN_ONE is server and workers: in this process, or, with worker_command, one
 * process for each worker. MOTLEY_SERVER takes in workers that come from elsewhere, at any time;
 * MOTLEY_WORKER is one of them. A job belongs to one thread, save motley_job_stop.
 */
#ifndef MOTLEY_JOB_H
#define MOTLEY_JOB_H

#include <motley/event.h>
#include <motley/metrics.h>
#include <motley/options.h>
#include <motley/status.h>
#include <motley/trainer.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_job motley_job;

/**
 * Checks the options and makes a job; nothing is opened or started yet. *job is NULL on failure.
 * The caller frees it with motley_job_destroy.
 * MOTLEY_INVALID_ARGUMENT names the option and what would do.
 */
MOTLEY_API motley_status motley_job_create(const motley_job_options* options, motley_job** job);

/** Frees a job; NULL is fine. One that is running stays as it is, and motley_last_error says so: a
    callback ends the run by motley_job_stop, and the job is freed after motley_job_run. */
MOTLEY_API void motley_job_destroy(motley_job* job);

/** Before motley_job_run. The struct is copied, its context borrowed until the job is destroyed.
    Server and workers of one job must have trainers of the same parameter count. */
MOTLEY_API motley_status motley_job_set_trainer(motley_job* job, const motley_trainer* trainer);

/** Before motley_job_run. Called on the thread of motley_job_run; it should return soon, and throw
    nothing: an exception that leaves it ends the job with MOTLEY_CALLBACK. */
MOTLEY_API motley_status motley_job_set_events(motley_job* job, motley_event_callback callback,
                                               void* context);

/**
 * Runs the job on this thread until it has ended, once. Reads the data, starts or awaits workers,
 * trains. A worker returns MOTLEY_OK when its server said goodbye. No signal is handled or ignored,
 * save SIGCHLD with worker_command; SIGPIPE is blocked on this thread for the while.
 * MOTLEY_CANCELLED after motley_job_stop; MOTLEY_UNAVAILABLE: no server, or no workers left;
 * MOTLEY_CALLBACK: a callback failed; MOTLEY_CONFLICT: it has run already.
 */
MOTLEY_API motley_status motley_job_run(motley_job* job);

/**
 * From any thread and from a signal handler: ends the run soon. Before a run it ends the next at
 * once. A second call does not wait for workers to say goodbye. The last checkpoint is waited for
 * as long as the disk takes, with a notice every half minute: a program that cannot wait ends
 * itself, and keeps the newest safe one.
 */
MOTLEY_API void motley_job_stop(motley_job* job);

/** Numbers of a server or all-in-one job, during callbacks and after the run. */
MOTLEY_API motley_status motley_job_metrics(const motley_job* job, motley_metrics* metrics);

/** The same of one of its workers. MOTLEY_NOT_FOUND: no worker of that number has joined yet. */
MOTLEY_API motley_status motley_job_worker(const motley_job* job, uint32_t worker,
                                           motley_worker_metrics* metrics);

/**
 * After the run of a server or all-in-one job: all there is to say, as one JSON object, the one
 * that `motley train --json` prints. Lives as long as the job. NULL (see motley_last_error) when
 * there is none. Times are in seconds, from commit to commit; of step_seconds, max is the longest
 * step of this run and max_step its number, from 0.
 */
MOTLEY_API const char* motley_job_report(motley_job* job);

/** After the run: copies min(count, all) parameters; *all (may be NULL) is how many there are. */
MOTLEY_API motley_status motley_job_parameters(const motley_job* job, float* parameters,
                                               uint64_t count, uint64_t* all);

/** After the run: writes the model as safetensors (see `format`), in place of what was there, or
    not at all. */
MOTLEY_API motley_status motley_job_save(const motley_job* job, const char* path);

#ifdef __cplusplus
}
#endif

#endif
