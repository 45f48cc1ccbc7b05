// SPDX-License-Identifier: Apache-2.0
// What the flags of `motley train` and `motley simulate` have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "motley/motley.h"

namespace motley {

// As given on the command line.
struct JobFlags {
  std::string model = "softmax";
  std::string optimizer;     // Empty: not given, as all that follows.
  double learning_rate = 0;  // 0: not given.
  double l2 = 0;
  double momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, clip = 0;
  std::string schedule;
  std::string class_weights;
  double dropout = 0;
  uint32_t workers = 0;      // At most; 0: not given.
  uint32_t min_workers = 0;  // 0: not given.
  std::string speeds;        // "1,1,0.5"; empty: not given.
  std::string sample_time;   // "2ms"; empty: not given.
  std::string shares = "proportional";
  std::string code = "auto";
  uint32_t tolerate = 1;
  bool tolerate_given = false;
  uint32_t parts = 0;         // 0: not given.
  uint32_t quorum = 0;        // 0: not given.
  std::string step_deadline;  // "50ms"; empty: not given.
  uint32_t batch = 0;         // 0: not given.
  uint32_t epochs = 0;        // 0: not given.
  uint64_t steps = 0;         // 0: as many as `epochs` has.
  uint64_t seed = 7;
  std::vector<std::string> faults;
  std::string trace;
  bool json = false;
  bool quiet = false;

  std::string JoinedFaults() const;
  // What was given and has no effect, in words for people; empty: nothing.
  std::string WithoutEffect() const;
};

// The options that they stand for; texts stay those of `flags` and `faults`.
motley_job_options OptionsOf(const JobFlags& flags, const std::string& faults);

}  // namespace motley
