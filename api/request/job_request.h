// SPDX-License-Identifier: Apache-2.0
// Copies motley_job_options into a C++ value and fills in defaults.
#pragma once

#include <bitset>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "api/request/class_weights.h"
#include "base/status.h"
#include "data/tables/table_reading.h"
#include "motley/job.h"
#include "training/model_files/model_format.h"
#include "training/models/model_data.h"
#include "training/optimizers/optimizer.h"

namespace motley {

inline constexpr uint64_t kMostSteps = uint64_t{1} << 40;  // Steps of a job.

// A number of OptimizerOptions that the option of the same name sets. Reading the options and
// resuming a job follow this list.
struct OptimizerNumber {
  double motley_job_options::*given;  // 0: not given.
  double OptimizerOptions::*value;
  uint64_t given_zero = 0;  // The bit of motley_job_options::given that makes 0 a value; 0: none.
};
inline constexpr OptimizerNumber kOptimizerNumbers[] = {
    {&motley_job_options::learning_rate, &OptimizerOptions::learning_rate},
    {&motley_job_options::l2, &OptimizerOptions::l2, MOTLEY_GIVEN_L2},
    {&motley_job_options::momentum, &OptimizerOptions::momentum},
    {&motley_job_options::beta1, &OptimizerOptions::beta1},
    {&motley_job_options::beta2, &OptimizerOptions::beta2},
    {&motley_job_options::epsilon, &OptimizerOptions::epsilon},
    {&motley_job_options::weight_decay, &OptimizerOptions::weight_decay},
    {&motley_job_options::clip, &OptimizerOptions::clip},
};

struct JobRequest {
  int32_t role = MOTLEY_ALL_IN_ONE;
  // A worker or shard server, which joins the job of a server.
  bool joins() const { return role == MOTLEY_WORKER || role == MOTLEY_SHARD_SERVER; }

  std::string data;  // "PATH" or "PATH:test=FILE"; empty: none.
  std::string label;
  double split = 0;     // 0: not given.
  std::string storage;  // "bf16"; empty: not given.
  LabelTask task = LabelTask::kGuess;
  TableOptions table;
  bool missing_given = false;
  std::string init;  // A model file; empty: none.
  ModelFormat format = ModelFormat::kMotley;
  uint64_t sample_count = 0;
  uint64_t memory_bytes = 0;

  std::string model;  // Empty: not given.
  ClassWeightsWish class_weights;
  double dropout = 0;  // 0: not given.
  OptimizerOptions optimizer;
  std::bitset<std::size(kOptimizerNumbers)> given_numbers;  // By kOptimizerNumbers.
  bool Given(double OptimizerOptions::*number) const {
    for (size_t i = 0; i < std::size(kOptimizerNumbers); ++i) {
      if (kOptimizerNumbers[i].value == number) return given_numbers[i];
    }
    return false;
  }
  std::string evaluate_every;  // "1epoch"; empty: not given.
  double validation = 0;       // 0: not given; below 0: none.
  int32_t patience = 0;        // 0: not given; below 0: none.
  uint32_t batch = 256;
  uint32_t epochs = 5;
  uint64_t steps = 0;  // 0: the steps of `epochs` epochs.
  uint64_t seed = 7;

  uint32_t workers = 0;           // The largest number; 0: not given.
  uint32_t min_workers = 0;       // 0: not given.
  uint32_t fastest = 0;           // 0: not given.
  uint32_t partitions = 0;        // 0: not given.
  bool keeps_partitions = false;  // They are those of the checkpoint.
  uint32_t tolerate = 1;
  uint32_t parts = 0;  // 0: not given.
  std::string code = "auto";
  uint32_t quorum = 0;        // 0: not given.
  std::string step_deadline;  // "50ms"; empty: not given.
  std::string reduce = "auto";
  std::optional<uint32_t> followers;
  std::string wire = "float32";
  std::string sync = "bsp";
  double outer_rate = 0;      // 0: not given.
  double outer_momentum = 0;  // 0: not given; below 0: none.
  std::string staleness = "none";
  std::string shares = "proportional";
  std::string speeds;       // "1,1,0.5"; empty: not given.
  std::string sample_time;  // "2ms"; empty: not given.
  std::vector<std::string> faults;
  std::vector<std::string> worker_command;  // Empty: workers are threads.

  std::string listen = "127.0.0.1:0";
  std::string address_file;  // Gets the address at which the job listens; empty: none.
  std::string server;
  Duration wait = std::chrono::minutes(10);
  bool forever = false;
  std::string token;
  std::string name;
  uint32_t threads = 0;  // 0: chosen.
  std::string devices;   // "cpu,opencl:0+opencl:1"; empty: graphics cards first, one each.

  // True for options that were not given.
  struct Open {
    bool optimizer = true;
    bool learning_rate = true;
    bool dropout = true;
    bool schedule = true;
    bool batch = true;
    bool listen = true;
    bool steps = true;  // Both steps and epochs.
    bool seed = true;
    bool tolerate = true;
    bool wait = true;
    bool checkpoint_every = true;
    bool checkpoint_code = true;
  } open;

  std::string checkpoint;
  uint64_t checkpoint_every = 100;
  std::string checkpoint_code = "4+2";
  std::string resume;
  uint64_t resume_step = 0;        // 0: the newest.
  std::string record_profile;      // Empty: none.
  double step_limit = 0;           // Seconds; 0: none.
  bool evaluate_training = false;  // Also evaluate large training sets.
  uint64_t allowed_steps = 0;      // 0: no gate.
  double audit = 0;  // Fraction of steps; 0: as many as cost almost nothing; < 0: none.
};

// kInvalidArgument: an unknown struct_size or role, or a number out of its range. Errors of this
// folder name options in `backquotes`, which the program replaces by its flags.
Result<JobRequest> ReadJobOptions(const motley_job_options& options);

}  // namespace motley
