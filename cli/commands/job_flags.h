// SPDX-License-Identifier: Apache-2.0
// The common flags of `motley train` and `motley simulate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "motley/motley.h"

namespace motley {

// Values as given on the command line.
struct JobFlags {
  std::string model = "softmax";
  std::string optimizer;     // Empty: not given, like all empty or zero values below.
  double learning_rate = 0;  // 0: not given.
  double l2 = 0;
  double momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, clip = 0;
  std::string schedule;
  std::string class_weights;
  double dropout = 0;
  uint32_t workers = 0;        // The largest number; 0: not given.
  uint32_t min_workers = 0;    // 0: not given.
  bool workers_range = false;  // --workers is like 2..8.
  uint32_t fastest = 0;        // 0: not given.
  std::string speeds;          // "1,1,0.5"; empty: not given.
  std::string sample_time;     // "2ms"; empty: not given.
  std::string shares = "proportional";
  std::string code = "auto";
  uint32_t tolerate = 1;
  bool tolerate_given = false;
  uint32_t parts = 0;         // 0: not given.
  uint32_t quorum = 0;        // 0: not given.
  std::string step_deadline;  // "50ms"; empty: not given.
  uint32_t batch = 0;         // 0: not given.
  uint32_t epochs = 0;        // 0: not given.
  uint64_t steps = 0;         // 0: the steps of `epochs` epochs.
  uint64_t seed = 7;
  std::vector<std::string> faults;
  std::string trace;
  bool json = false;
  bool quiet = false;

  std::string JoinedFaults() const;
  // Describes flags that were given and have no effect, for users; empty: none.
  std::string WithoutEffect() const;
};

// Converts flags to options. Texts are borrowed from `flags` and `faults`.
motley_job_options OptionsOf(const JobFlags& flags, const std::string& faults);

}  // namespace motley
