// SPDX-License-Identifier: Apache-2.0
// `motley train` trains a model on local workers, one process each, or on workers elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands/job_flags.h"

namespace motley {

struct TrainFlags {
  JobFlags job;         // Numbers are in job.options, unless 0 is a choice of its own here.
  std::string data;     // "PATH" or "PATH:test=FILE".
  std::string label;    // Column of a CSV file; empty: the last.
  std::string storage;  // "bf16"; empty: not given.
  std::string task;     // "classify"; empty: not given.
  std::string missing;  // "median"; empty: not given.
  std::string scale;    // "standard"; empty: not given.
  std::string decimal;  // "comma"; empty: not given.
  std::string drop;     // Columns, "name,date"; empty: not given.
  std::string listen;   // Empty: 127.0.0.1:0, or 0.0.0.0:7000 for a server.
  std::string wait;     // Empty: the library's.
  bool remote = false;  // Users start workers elsewhere.
  bool alone = false;   // No worker runs here.
  std::string devices;  // "cpu,opencl:0"; empty: the processor.
  bool evaluate_training = false;
  std::string evaluate_every;  // "1epoch"; empty: not given.
  bool verbose = false;
  std::string log;     // JSON lines; empty: none.
  std::string curve;   // SVG; empty: none.
  double audit = -1;   // Share of steps; below 0: not given.
  std::string init;    // A model file; empty: none.
  std::string format;  // For --out: "torch"; empty: not given.
  std::string out;
  std::string record_profile;  // TOML file; empty: none.
  std::string checkpoint;      // Folder; empty: none.
  uint64_t checkpoint_every = 100;
  std::string checkpoint_code = "4+2";
  std::string resume;  // Folder; empty: a new job.
  struct Given {       // With --resume, other values are the checkpoint's.
    bool model = false;
    bool seed = false;
    bool l2 = false;
    bool dropout = false;
    bool checkpoint_every = false;
    bool checkpoint_code = false;
  } given;
};

// Returns the exit code.
int RunTrain(const TrainFlags& flags);

}  // namespace motley
