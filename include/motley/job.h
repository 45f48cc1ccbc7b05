/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A training job: create it from options, run it once, then read its results.
 *
 * Roles. MOTLEY_ALL_IN_ONE is the server and its workers, which are threads of this process or,
 * with worker_command, one process each. MOTLEY_SERVER accepts workers that are started elsewhere,
 * at any time. MOTLEY_WORKER is one of those workers.
 *
 * Threads. A job belongs to one thread. The functions that say "any thread" may be called from
 * others, too, until the job is destroyed.
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
 * Checks the options and creates a job. Nothing is opened or started yet. *job is NULL on failure;
 * otherwise the caller frees it with motley_job_destroy. MOTLEY_INVALID_ARGUMENT names the option
 * and the values that are possible.
 */
MOTLEY_API motley_status motley_job_create(const motley_job_options* options, motley_job** job);

/**
 * Frees a job; NULL is fine. A running job is not freed, and motley_last_error says so: end it with
 * motley_job_stop from a callback, and free it after motley_job_run has returned.
 */
MOTLEY_API void motley_job_destroy(motley_job* job);

/**
 * Sets the job's trainer, before motley_job_run. The struct is copied; its context is borrowed
 * until the job is destroyed. The server and all workers of a job must have trainers of the same
 * parameter count.
 */
MOTLEY_API motley_status motley_job_set_trainer(motley_job* job, const motley_trainer* trainer);

/**
 * Sets the function that gets the job's events, before motley_job_run. It is called on the thread
 * of motley_job_run and should return soon. It must not throw: an exception that leaves it ends the
 * job with MOTLEY_CALLBACK.
 */
MOTLEY_API motley_status motley_job_set_events(motley_job* job, motley_event_callback callback,
                                               void* context);

/**
 * Runs the job on this thread until it ends. Reads the data, starts workers or waits for them, and
 * trains. A job can run once. For a worker, MOTLEY_OK means that its server ended the job.
 *
 * MOTLEY_CANCELLED: motley_job_stop was called. MOTLEY_UNAVAILABLE: the server was not found, or no
 * workers are left. MOTLEY_CALLBACK: a callback failed. MOTLEY_CONFLICT: the job has already run.
 *
 * Signals keep their handlers, except SIGCHLD with worker_command. SIGPIPE is blocked on this
 * thread during the call.
 */
MOTLEY_API motley_status motley_job_run(motley_job* job);

/**
 * Runs the job as motley_job_run does, on a thread of the library, and returns at once. Callbacks
 * run on that thread, which receives no signals but SIGCHLD. A job with a loop (step.h) needs this
 * call.
 */
MOTLEY_API motley_status motley_job_start(motley_job* job);

/**
 * Any thread. Waits until a job that motley_job_start started has ended, and returns its result
 * with its message. `timeout_seconds` below 0 waits without limit. MOTLEY_UNAVAILABLE may also be a
 * result, so *ended (may be NULL) says whether the job has ended (1) or is still running (0). Do
 * not wait without limit on a thread that holds a step of the job: the job waits for that step.
 */
MOTLEY_API motley_status motley_job_wait(motley_job* job, double timeout_seconds, int32_t* ended);

/**
 * Server, all-in-one; any thread. Opens the gate of a job with the option allowed_steps: the job
 * goes on until it has done `steps` steps in all, and then pauses. The number never goes down.
 * MOTLEY_CONFLICT: the job has no gate.
 */
MOTLEY_API motley_status motley_job_allow_steps(motley_job* job, uint64_t steps);

/**
 * Server, all-in-one; any thread. Ends the job as if its last step were done: with the newest
 * version, its last checkpoint, and MOTLEY_OK. A step that is not complete is dropped.
 */
MOTLEY_API motley_status motley_job_finish(motley_job* job);

/**
 * Server, all-in-one; any thread. Sets the learning rate from the next update on, in place of the
 * option; a schedule still multiplies it. Checkpoints do not keep it. MOTLEY_INVALID_ARGUMENT: not
 * a rate. MOTLEY_CONFLICT: the job has groups, with rates of their own.
 */
MOTLEY_API motley_status motley_job_set_rate(motley_job* job, double learning_rate);

/**
 * A range of the parameters with its own numbers, in the place of the options of these names. It
 * begins where the group before it ends.
 */
typedef struct motley_group {
  uint32_t struct_size;
  uint64_t end; /**< The first parameter that is not in the group. */
  double learning_rate;
  double l2;
  double weight_decay; /**< Only adamw has one. 0: none. */
} motley_group;

#define MOTLEY_GROUP_INIT \
  { sizeof(motley_group), 0, 0, 0, 0 }

/**
 * Cuts the parameters into groups, before the job starts. The last group ends at the number of
 * parameters. A schedule multiplies all rates, and the option learning_rate is not used. Workers
 * ignore groups. A job that resumes has the groups of its checkpoint: they may be given again, with
 * other numbers but the same ends. MOTLEY_INVALID_ARGUMENT: a number is out of range. The run fails
 * with the same status if the last group ends elsewhere, or if the job has updates of your own.
 */
MOTLEY_API motley_status motley_job_set_groups(motley_job* job, const motley_group* groups,
                                               uint32_t count);

/**
 * Server, all-in-one; any thread. Sets the learning rates of all groups, in place of their own, in
 * `updates` updates from number `first_update` on: `rates` has a rate for each group, update by
 * update. Later updates have the last of them. The call replaces the rates of an earlier one, from
 * the next update on. Checkpoints do not keep them. MOTLEY_CONFLICT: the job has no groups.
 */
MOTLEY_API motley_status motley_job_set_group_rates(motley_job* job, uint64_t first_update,
                                                    const double* rates, uint64_t updates);

/**
 * Server, all-in-one; any thread. Copies the newest version of the parameters while the job runs,
 * or after it. `parameters` has room for `count` floats, which is the number of parameters.
 * *version (may be NULL) is set to the number of updates in them. MOTLEY_UNAVAILABLE: there is no
 * version yet, or workers hold the newest one (`reduce`). While the job pauses (`allowed_steps`),
 * it always has its version. MOTLEY_INVALID_ARGUMENT: another count.
 */
MOTLEY_API motley_status motley_job_copy_parameters(motley_job* job, float* parameters,
                                                    uint64_t count, uint64_t* version);

/**
 * Ends the run soon. May be called from any thread and from a signal handler. A call before
 * motley_job_run makes that run end at once. After a second call the job no longer waits for its
 * workers to say goodbye. It still waits until the last checkpoint is written, with a notice every
 * 30 s. A program that cannot wait may simply exit; the newest safe checkpoint then stays.
 */
MOTLEY_API void motley_job_stop(motley_job* job);

/** The numbers of a server or all-in-one job, during the run and after it. Any thread. */
MOTLEY_API motley_status motley_job_metrics(const motley_job* job, motley_metrics* metrics);

/**
 * The numbers of one worker, at the same times. Any thread, but the worker's name is valid only
 * during callbacks and after the run. MOTLEY_NOT_FOUND: that worker has not joined.
 */
MOTLEY_API motley_status motley_job_worker(const motley_job* job, uint32_t worker,
                                           motley_worker_metrics* metrics);

/**
 * The report of a server or all-in-one job after its run: the JSON object that
 * `motley train --json` prints. It lives as long as the job. Returns NULL when there is none; see
 * motley_last_error. Times are in seconds and measured from commit to commit. In step_seconds, max
 * is the longest step of this run, and max_step is that step's number, from 0.
 */
MOTLEY_API const char* motley_job_report(motley_job* job);

/**
 * Why a job failed, in one word for programs. "" before its end, if it did well, and for NULL.
 *     diverged    parameters or gradients were no longer finite
 *     checkpoint  the checkpoint of `resume` is damaged or missing
 *     data        the samples are malformed or missing
 *     stopped     the caller or user stopped it
 *     other       anything else; later versions may have more words
 * A static string.
 */
MOTLEY_API const char* motley_job_failure(const motley_job* job);

/**
 * Copies the first `count` parameters after the run, or all if there are fewer. *all (may be NULL)
 * is set to their number.
 */
MOTLEY_API motley_status motley_job_parameters(const motley_job* job, float* parameters,
                                               uint64_t count, uint64_t* all);

/**
 * Writes the model as safetensors after the run, in the option `format`. The file replaces an
 * existing one; on failure the old file stays.
 */
MOTLEY_API motley_status motley_job_save(const motley_job* job, const char* path);

#ifdef __cplusplus
}
#endif

#endif
