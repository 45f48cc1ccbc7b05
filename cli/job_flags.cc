// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

namespace motley {

std::string JobFlags::JoinedFaults() const {
  std::string all;
  for (const std::string& fault : faults) all += fault + " ";
  return all;
}

motley_job_options OptionsOf(const JobFlags& flags, const std::string& faults) {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.model = flags.model.c_str();
  options.optimizer = flags.optimizer.c_str();
  options.learning_rate = flags.learning_rate;
  options.l2 = flags.l2;
  options.batch = flags.batch;
  options.epochs = flags.epochs;
  options.steps = flags.steps;
  options.seed = flags.seed;
  options.workers = flags.workers;
  options.tolerate = flags.tolerate;
  options.code = flags.code.c_str();
  options.shares = flags.shares.c_str();
  options.worker_speeds = flags.speeds.c_str();
  options.sample_time = flags.sample_time.c_str();
  options.faults = faults.c_str();
  return options;
}

}  // namespace motley
