// SPDX-License-Identifier: Apache-2.0
// The common flags of `motley train` and `motley simulate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "motley/motley.h"

namespace motley {

// Values as given on the command line. Empty texts and numbers that are 0 were not given, unless
// they have another default here.
struct JobFlags {
  // The numbers. Texts are members of their own, because options only borrow them (OptionsOf).
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  std::string model = "softmax";
  std::string optimizer;
  std::string schedule;
  std::string class_weights;
  bool workers_range = false;  // --workers is like 2..8.
  std::string speeds;          // "1,1,0.5"
  std::string sample_time;     // "2ms"
  std::string shares = "proportional";
  std::string code = "auto";
  bool tolerate_given = false;
  std::string step_deadline;  // "50ms"
  std::string reduce = "auto";
  std::string wire = "float32";
  std::string sync = "bsp";
  std::string staleness = "none";
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
