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
#include <motley/status.h>
#include <motley/trainer.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_job motley_job;

enum { MOTLEY_ALL_IN_ONE = 0, MOTLEY_SERVER = 1, MOTLEY_WORKER = 2 };

/**
 * What a job is to be. Texts may be NULL for the default, which is what MOTLEY_JOB_OPTIONS_INIT
 * stands for; they have the form of the flags of `motley train`. A worker reads `role`, `server`,
 * `token`, `name`, `threads`, `devices` and `memory_bytes` alone: the server tells it the rest.
 */
typedef struct motley_job_options {
  uint32_t struct_size;
  int32_t role; /**< MOTLEY_ALL_IN_ONE, MOTLEY_SERVER, MOTLEY_WORKER */

  /* The data: a file, or, with a trainer, only a number of samples that the trainer knows. */
  /**
   * "PATH[:test=FILE]" as for `motley train --data`. The server or all-in-one process reads it and
   * sends the workers their samples. A model gets columns of a table (CSV) standardised, texts as
   * one feature per category, and other features above 1 divided by their largest magnitude (see
   * `scale` and docs/reference/tables.md); what a trainer gets stands in trainer.h.
   * PATH "-" is the standard input.
   */
  const char* data;
  const char* label;     /**< Column of a CSV file; default: the last. */
  double split;          /**< Part that trains, in (0, 1); 0: 0.8, and all with a trainer. */
  uint64_t sample_count; /**< Without data: N, below 2^32. */
  uint64_t memory_bytes; /**< Samples kept in memory per process; more go to a file. 0: chosen. */

  /* The model and how it learns. */
  const char* model; /**< "softmax", "cnn:16,32", ...; NULL: by the labels; with a trainer NULL. */
  /* What is 0 or NULL here is chosen from model and data, and said in a notice; a trainer's job has
     sgd at 0.1 (adam at 0.001), batches of 256 and 5 epochs. */
  const char* optimizer; /**< sgd, momentum, nag, adam, adamw */
  double learning_rate;
  double l2;
  uint32_t batch; /**< Samples of a step. */
  /** Passes over the data: exactly these. 0, and no steps: it ends when it makes no progress. */
  uint32_t epochs;
  uint64_t steps; /**< Instead of epochs. */
  uint64_t seed;  /**< Everything random follows from it. The default is 7. */

  /* The workers. */
  uint32_t workers;          /**< 0: as many as speeds, or 2. Of a server the most, 0: 8. */
  uint32_t tolerate;         /**< Workers that may be missing without delay; of auto a least. */
  const char* code;          /**< auto (default: chosen while it runs), none, repetition, cyclic,
                                 heterogeneous, group, rs, graph, multi-message, approximate,
                                 short, partial-coded, adaptive */
  const char* shares;        /**< proportional (default), equal */
  const char* worker_speeds; /**< All-in-one: emulated speeds, "1,1,0.5". */
  const char* sample_time;   /**< Modelled time of a sample at speed 1, "2ms". */
  const char* faults; /**< All-in-one, to see for yourself: "kill:2@step=50 pause:1@step=20,2s" */
  /** All-in-one: the program and arguments of a worker's process, ended by NULL. It is started once
      for each worker, with its address, token and number in the environment (MOTLEY_SERVER, ...): a
      job of role MOTLEY_WORKER without `server` finds them. Its standard input belongs to the job,
      and it does not outlive this process. NULL: threads of this process. Server: starts one. */
  const char* const* worker_command;

  /* Addresses. */
  /** Server: "HOST:PORT", port 0 for any. Default: 127.0.0.1:0. Workers of the same machine send
      large vectors through shared memory there; "tcp://HOST:PORT": by TCP, as others do. */
  const char* listen;
  const char* server; /**< Worker: where the server is. */
  /** What workers must show. Not given: a server makes one up, a worker takes MOTLEY_TOKEN. */
  const char* token;
  const char* name; /**< Worker, for people; NULL: this machine's name. */
  uint32_t threads; /**< Of each worker; 0: chosen. */
  uint32_t forever; /**< Worker: 1 serves the next job, too, until motley_job_stop. */

  /* Checkpoints (checkpoint.h). Failing to write them ends no job: see the report's
     checkpoint.error, which is there when the last one failed, and checkpoint.degraded, when the
     newest that is safe had to do without some of its shards. */
  const char* checkpoint;      /**< Folder; NULL: none. */
  uint64_t checkpoint_every;   /**< Steps; 0: 100. */
  const char* checkpoint_code; /**< Data + parity blocks: "4+2" (default), "cauchy:10+4". */
  const char* resume;          /**< Folder to go on from; what is not given is as it was then. */
  /** Which checkpoint of that folder: the one of so many steps; 0: the newest. An older one is only
      taken when it is given here, and the newer goes aside, if it cannot be restored. */
  uint64_t resume_step;
  uint64_t given; /**< MOTLEY_GIVEN_...: meant, though they have the value of the default. */
  /** Of approximate: "50ms" ends a step with one answer or more; NULL: when others are overdue. */
  const char* step_deadline;
  uint32_t quorum; /**< Or with so many answers; 0: all but `tolerate`, which are exact. */
  /** Of short and partial-coded: answers are 1/parts of a gradient, for tolerate + parts copies. */
  uint32_t parts; /**< 0: 2. */
  /** All-in-one, server: at the end a profile of the cluster as the run found it is written here
      ("lab.toml"), and what each step took ("lab.trace.csv"), for `motley simulate`. A failure ends
      no job: see the report's recording.error. */
  const char* record_profile;
  const char* devices; /**< Of workers, in turn: "cpu,cuda:0+cuda:1". NULL: cards, one each. */
  const char* storage; /**< Dense samples are rounded to, sent, kept as: float32, fp16, bf16. */
  /** Server, all-in-one: ends with MOTLEY_UNAVAILABLE after so many seconds without progress. */
  double step_limit;
  /** For a lost server or last worker: "10min"; at the start for more than min_workers: "30s" where
      only `workers` is given, else none. */
  const char* wait;
  /** Server, all-in-one: 1 evaluates the model on all training samples at the end (final_loss). 0:
      only where that takes under 10^9 multiplications. last_epoch_loss costs nothing. */
  uint32_t evaluate_training;
  /** Server: it begins with no fewer. 0: one more than worker_command starts here. */
  uint32_t min_workers;
  /** Server, all-in-one: the share of steps, 0 to 1, whose answers are checked against the server's
      own sums. Training waits for audits. 0: 0.02, within 1 % of the time. Below 0: none. Who is
      wrong while another is right is named (MOTLEY_EVENT_WARNING, the report's audit.warnings) and
      sent away; with a trainer it is only named. Updates that it has spoilt stay. */
  double audit;
  /* More of how it learns. */
  /** The rate from step to step: constant (default), "cosine:warmup=100", "plateau:patience=3,
      factor=0.1,times=3" (lowered where the loss no longer falls), "step:every=1000,factor=0.1". */
  const char* schedule;
  /** How often progress is judged: "200" steps or "1epoch". NULL: each epoch, where judging is
      needed. Judged is the loss of validation samples, or without those that of the steps. */
  const char* evaluate_every;
  /** Part of the training samples, in (0, 1), that is held out for that; 0: a tenth for networks
      with 1,000 samples and where evaluate_every is given, else none; below 0: none. */
  double validation;
  /** Judgements without progress after which the job ends, and leaves its best version; 0: none
      where epochs or steps are given, else 10; below 0: none. */
  int32_t patience;
  uint32_t reserved_last; /**< 0 */
  double momentum;        /**< Of momentum and nag; 0: 0.9. */
  double beta1;           /**< Of adam and adamw; 0: 0.9. */
  double beta2;           /**< 0: 0.999 */
  double epsilon;         /**< 0: 1e-8 */
  double weight_decay;    /**< Of adamw, decoupled from the gradient; 0: 0.01. */
  double clip;            /**< Gradients are scaled down to this norm; 0: as they are. */
  /* Tables: docs/reference/tables.md. A trainer's labels are real numbers without `task`. */
  const char* task;    /**< "classify", "regress"; NULL: as the labels look. */
  const char* missing; /**< CSV: "median" (default), "indicator", "error". */
  const char* scale;   /**< "standard" (default of CSV), "largest" (of other data), "none" (of
                            trainers). */
  const char* drop;    /**< CSV: columns that are no features, "name,date". */
  /** Begins with the parameters of this model file: one that motley_job_save wrote, whose reading
     of the data is kept, or PyTorch's tensors (docs/how-to/pytorch.md). Not with a trainer or
     `resume`. */
  const char* init;
  const char* format; /**< Of motley_job_save: "motley" (default), "torch". */
  /** What samples of a class weigh in training: "balanced" (n / (k m): n samples of k classes, m of
      this one), or "setosa=2,virginica=0.5", by name or number; others weigh 1. */
  const char* class_weights;
  /** Chance, below 1, that a unit of a hidden layer is left out of a sample's step (mlp, cnn). */
  double dropout;
} motley_job_options;

/** What else would mean "as it was" (with `resume`), and of tolerate "whatever" (with auto). */
enum {
  MOTLEY_GIVEN_SEED = 1,
  MOTLEY_GIVEN_L2 = 2,
  MOTLEY_GIVEN_TOLERATE = 4,
  MOTLEY_GIVEN_DROPOUT = 8
};

#define MOTLEY_JOB_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(motley_job_options), MOTLEY_ALL_IN_ONE, NULL, NULL, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, \
        7, 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, NULL,  \
        NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, 0, NULL, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0,  \
        0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0                                       \
  }

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
