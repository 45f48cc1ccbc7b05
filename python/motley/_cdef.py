# SPDX-License-Identifier: Apache-2.0
"""Made from include/motley by tools/make_cdef.py; do not edit."""

CONSTANTS = {
    "MOTLEY_VERSION_MAJOR": 0,
    "MOTLEY_VERSION_MINOR": 2,
    "MOTLEY_VERSION_PATCH": 0,
    "MOTLEY_NEWEST": 18446744073709551615,
    "MOTLEY_ALL_ROWS": 4294967295,
}

# Initial values of structs that are not 0.
INITIAL: dict[str, dict[str, int]] = {
    "motley_metrics": {},
    "motley_worker_metrics": {},
    "motley_job_options": {"seed": 7, "tolerate": 1},
    "motley_trainer": {},
    "motley_group": {},
    "motley_evaluation": {},
    "motley_predict_options": {},
    "motley_loop": {},
    "motley_step": {},
}

CDEF = """
typedef int32_t motley_status;
enum {
  MOTLEY_OK = 0,
  MOTLEY_CANCELLED = 1,
  MOTLEY_INVALID_ARGUMENT = 2,
  MOTLEY_NOT_FOUND = 3,
  MOTLEY_UNAVAILABLE = 4,
  MOTLEY_PERMISSION = 5,
  MOTLEY_CONFLICT = 6,
  MOTLEY_DATA_ERROR = 7,
  MOTLEY_NOT_DECODABLE = 8,
  MOTLEY_RESOURCE = 9,
  MOTLEY_INTERNAL = 10,
  MOTLEY_CALLBACK = 11
};
const char* motley_status_name(motley_status status);
const char* motley_last_error(void);
const char* motley_version(void);
uint32_t motley_abi_version(void);
motley_status motley_checkpoint_list(const char* folder, char** json);
motley_status motley_checkpoint_verify(const char* folder, uint64_t step, char** json);
motley_status motley_checkpoint_restore(const char* folder, uint64_t step, char** json);
motley_status motley_checkpoint_export(const char* folder, uint64_t step,
                                                  const char* path, const char* format);
void motley_string_destroy(char* text);
enum {
  MOTLEY_EVENT_LISTENING = 1,
  MOTLEY_EVENT_WORKER_JOINED = 2,
  MOTLEY_EVENT_WORKER_LOST = 3,
  MOTLEY_EVENT_STEP_OPENED = 4,
  MOTLEY_EVENT_ROW_ASSIGNED = 5,
  MOTLEY_EVENT_ROW_ARRIVED = 6,
  MOTLEY_EVENT_ROW_CANCELLED = 7,
  MOTLEY_EVENT_STEP_DECODED = 8,
  MOTLEY_EVENT_STEP_APPLIED = 9,
  MOTLEY_EVENT_NOTICE = 10,
  MOTLEY_EVENT_CHECKPOINT = 11,
  MOTLEY_EVENT_WARNING = 12,
  MOTLEY_EVENT_JUDGED = 13,
  MOTLEY_EVENT_DETAIL = 14
};
typedef struct motley_event {
  uint32_t struct_size;
  int32_t kind;
  uint64_t time_ns;
  uint64_t step;
  uint32_t row;
  uint32_t worker;
  double loss;
  const char* text;
  double error;
} motley_event;
typedef void (*motley_event_callback)(void* context, const motley_event* event);
typedef struct motley_metrics {
  uint32_t struct_size;
  uint32_t workers;
  uint64_t steps;
  uint64_t discarded_steps;
  double wall_seconds;
  double batch_loss;
  double max_decode_error;
  uint64_t checkpoint_step;
  uint64_t steps_wanted;
  uint64_t steps_per_epoch;
  uint32_t workers_wanted;
  uint32_t ends_early;
  uint64_t approximate_steps;
  double approximate_error;
  double max_approximate_error;
  double learning_rate;
} motley_metrics;
typedef struct motley_worker_metrics {
  uint32_t struct_size;
  uint32_t state;
  uint64_t samples;
  uint64_t in_time;
  uint64_t late;
  const char* name;
} motley_worker_metrics;
enum {
  MOTLEY_WORKER_UP = 1,
  MOTLEY_WORKER_LEFT = 2,
  MOTLEY_WORKER_LOST = 3,
  MOTLEY_WORKER_LATE = 4
};
enum { MOTLEY_ALL_IN_ONE = 0, MOTLEY_SERVER = 1, MOTLEY_WORKER = 2, MOTLEY_SHARD_SERVER = 3 };
enum {
  MOTLEY_GIVEN_SEED = 1,
  MOTLEY_GIVEN_L2 = 2,
  MOTLEY_GIVEN_TOLERATE = 4,
  MOTLEY_GIVEN_DROPOUT = 8,
  MOTLEY_GIVEN_FOLLOWERS = 16
};
typedef struct motley_job_options {
  uint32_t struct_size;
  int32_t role;
  const char* data;
  const char* label;
  double split;
  uint64_t sample_count;
  uint64_t memory_bytes;
  const char* model;
  const char* optimizer;
  double learning_rate;
  double l2;
  uint32_t batch;
  uint32_t epochs;
  uint64_t steps;
  uint64_t seed;
  uint32_t workers;
  uint32_t tolerate;
  const char* code;
  const char* shares;
  const char* worker_speeds;
  const char* sample_time;
  const char* faults;
  const char* const* worker_command;
  const char* listen;
  const char* server;
  const char* token;
  const char* name;
  uint32_t threads;
  uint32_t forever;
  const char* checkpoint;
  uint64_t checkpoint_every;
  const char* checkpoint_code;
  const char* resume;
  uint64_t resume_step;
  uint64_t given;
  const char* step_deadline;
  uint32_t quorum;
  uint32_t parts;
  const char* record_profile;
  const char* devices;
  const char* storage;
  double step_limit;
  const char* wait;
  uint32_t evaluate_training;
  uint32_t min_workers;
  double audit;
  const char* schedule;
  const char* evaluate_every;
  double validation;
  int32_t patience;
  uint32_t fastest;
  double momentum;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  double clip;
  const char* task;
  const char* missing;
  const char* scale;
  const char* drop;
  const char* init;
  const char* format;
  const char* class_weights;
  double dropout;
  const char* decimal;
  const char* reduce;
  uint32_t followers;
  const char* wire;
  const char* sync;
  uint64_t allowed_steps;
  double outer_rate;
  double outer_momentum;
  const char* staleness;
  uint32_t partitions;
} motley_job_options;
typedef struct motley_batch {
  uint32_t struct_size;
  uint32_t columns_count;
  uint64_t rows;
  const float* features;
  const uint64_t* row_begin;
  const uint32_t* columns;
  const float* labels;
} motley_batch;
typedef struct motley_work_state motley_work_state;
typedef struct motley_work {
  uint32_t struct_size;
  uint32_t first_partition;
  uint32_t end_partition;
  uint64_t step;
  uint64_t version;
  const float* parameters;
  uint64_t parameter_count;
  const uint64_t* samples;
  uint64_t sample_count;
  const motley_batch* batch;
  double coefficient;
  float* sum;
  double* loss;
  motley_work_state* state;
  double* weight;
  uint64_t job;
} motley_work;
int motley_work_cancelled(const motley_work* work);
void motley_work_progress(const motley_work* work, uint64_t samples_done);
motley_status motley_work_ready(const motley_work* work, uint64_t begin, uint64_t end);
typedef struct motley_run {
  uint64_t first;
  uint64_t count;
  uint32_t partition;
  uint32_t group;
  const double* weights;
} motley_run;
typedef struct motley_weighted_work {
  uint32_t struct_size;
  uint32_t vectors;
  uint64_t step;
  uint64_t version;
  uint64_t seed;
  const float* parameters;
  uint64_t parameter_count;
  const uint64_t* samples;
  uint64_t sample_count;
  const motley_batch* batch;
  const motley_run* runs;
  uint64_t run_count;
  float* const* sums;
  double* losses;
  double* weights;
  motley_work_state* state;
  uint64_t job;
} motley_weighted_work;
int motley_weighted_cancelled(const motley_weighted_work* work);
void motley_weighted_progress(const motley_weighted_work* work, uint64_t samples_done);
motley_status motley_weighted_ready(const motley_weighted_work* work, uint64_t begin,
                                               uint64_t end);
typedef struct motley_update {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t step;
  const float* gradient;
  float* parameters;
  uint64_t parameter_count;
  float* state;
  uint64_t state_count;
  double learning_rate;
  double batch_weight;
  double batch_loss;
} motley_update;
enum {
  MOTLEY_WHOLE_ROWS = 1
};
typedef struct motley_trainer {
  uint32_t struct_size;
  uint32_t flags;
  void* context;
  uint64_t parameter_count;
  motley_status (*accumulate)(void* context, const motley_work* work);
  motley_status (*initialize)(void* context, uint64_t seed, float* parameters,
                              uint64_t parameter_count);
  motley_status (*hold)(void* context, uint32_t partition, uint64_t first_sample,
                        uint64_t sample_count);
  motley_status (*accumulate_weighted)(void* context, const motley_weighted_work* work);
  motley_status (*apply)(void* context, const motley_update* update);
  uint64_t state_count;
  motley_status (*evaluate)(void* context, uint64_t version, const float* parameters,
                            uint64_t parameter_count, double* loss);
  void* (*allocate)(void* context, uint64_t bytes);
  void (*release)(void* context, void* memory, uint64_t bytes);
  void (*drop)(void* context, uint32_t partition, uint64_t first_sample, uint64_t sample_count);
} motley_trainer;
typedef struct motley_job motley_job;
motley_status motley_job_create(const motley_job_options* options, motley_job** job);
void motley_job_destroy(motley_job* job);
motley_status motley_job_set_trainer(motley_job* job, const motley_trainer* trainer);
motley_status motley_job_set_events(motley_job* job, motley_event_callback callback,
                                               void* context);
motley_status motley_job_run(motley_job* job);
motley_status motley_job_start(motley_job* job);
motley_status motley_job_wait(motley_job* job, double timeout_seconds, int32_t* ended);
motley_status motley_job_allow_steps(motley_job* job, uint64_t steps);
motley_status motley_job_finish(motley_job* job);
motley_status motley_job_set_rate(motley_job* job, double learning_rate);
typedef struct motley_group {
  uint32_t struct_size;
  uint64_t end;
  double learning_rate;
  double l2;
  double weight_decay;
} motley_group;
motley_status motley_job_set_groups(motley_job* job, const motley_group* groups,
                                               uint32_t count);
motley_status motley_job_set_group_rates(motley_job* job, uint64_t first_update,
                                                    const double* rates, uint64_t updates);
motley_status motley_job_copy_parameters(motley_job* job, float* parameters,
                                                    uint64_t count, uint64_t* version);
void motley_job_stop(motley_job* job);
motley_status motley_job_metrics(const motley_job* job, motley_metrics* metrics);
motley_status motley_job_worker(const motley_job* job, uint32_t worker,
                                           motley_worker_metrics* metrics);
const char* motley_job_report(motley_job* job);
const char* motley_job_failure(const motley_job* job);
motley_status motley_job_parameters(const motley_job* job, float* parameters,
                                               uint64_t count, uint64_t* all);
motley_status motley_job_save(const motley_job* job, const char* path);
typedef struct motley_evaluation {
  uint32_t struct_size;
  uint32_t classifies;
  uint64_t count;
  double loss;
  double accuracy;
  double f1;
  double log_loss;
  double auc;
  double r2;
  double rmse;
  double mae;
} motley_evaluation;
motley_status motley_evaluate(const char* model, const char* data, const char* label,
                                         motley_evaluation* evaluation);
const char* motley_last_evaluation(void);
typedef struct motley_predict_options {
  uint32_t struct_size;
  uint32_t probabilities;
  const char* model;
  const char* data;
  const char* label;
  const char* out;
  motley_event_callback notice;
  void* context;
} motley_predict_options;
motley_status motley_predict(const motley_predict_options* options,
                                        motley_evaluation* evaluation, uint64_t* count);
enum {
  MOTLEY_LOOP_INITIALIZE = 1,
  MOTLEY_LOOP_APPLY = 2,
  MOTLEY_LOOP_SHOW = 4
};
typedef struct motley_loop {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t parameter_count;
  uint64_t state_count;
} motley_loop;
enum {
  MOTLEY_STEP_NONE = 0,
  MOTLEY_STEP_INITIALIZE = 1,
  MOTLEY_STEP_GRADIENT = 2,
  MOTLEY_STEP_APPLY = 3,
  MOTLEY_STEP_SHOW = 5,
  MOTLEY_STEP_END = 4
};
typedef struct motley_step {
  uint32_t struct_size;
  int32_t kind;
  uint64_t ticket;
  uint64_t step;
  uint64_t version;
  uint64_t seed;
  uint64_t parameter_count;
  const float* parameters;
  const uint64_t* samples;
  uint64_t sample_count;
  const motley_batch* batch;
  const motley_run* runs;
  uint32_t run_count;
  uint32_t vectors;
  float* const* sums;
  double* losses;
  double* weights;
  const float* gradient;
  float* new_parameters;
  float* state;
  uint64_t state_count;
  double learning_rate;
  double batch_weight;
  double batch_loss;
  uint64_t job;
} motley_step;
motley_status motley_job_set_loop(motley_job* job, const motley_loop* loop);
motley_status motley_step_begin(motley_job* job, double timeout_seconds,
                                           motley_step* step);
motley_status motley_step_partial(motley_job* job, const motley_step* step,
                                             uint64_t samples_done);
motley_status motley_step_ready(motley_job* job, const motley_step* step, uint64_t begin,
                                           uint64_t end);
motley_status motley_step_end(motley_job* job, const motley_step* step,
                                         motley_status status);
int motley_job_descriptor(motley_job* job);
motley_status motley_batch_samples(uint64_t seed, uint64_t sample_count, uint32_t batch,
                                              uint64_t step, uint64_t* samples, uint64_t* count);
"""
