// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/job_flags.h"

#include "coding/schemes.h"
#include "fmt/core.h"

namespace motley {

std::string JobFlags::JoinedFaults() const {
  std::string all;
  for (const std::string& fault : faults) all += fault + " ";
  return all;
}

std::string JobFlags::WithoutEffect() const {
  if (!tolerate_given) return "";
  const uint32_t tolerate = options.tolerate;
  const Scheme& scheme = SchemeNamed(code);
  if (!scheme.keeps_copies && tolerate > 0) {
    return fmt::format(
        "--tolerate {} has no effect with --code none, which keeps no copies; other codes do",
        tolerate);
  }
  const bool without_copies_too = !scheme.keeps_copies || scheme.chosen_later() || !scheme.exact;
  if (tolerate == 0 && !without_copies_too) {
    return fmt::format(
        "--code {} with --tolerate 0 keeps no copies and waits for all workers, like none", code);
  }
  return "";
}

motley_job_options OptionsOf(const JobFlags& flags, const std::string& faults) {
  motley_job_options options = flags.options;
  options.model = flags.model.c_str();
  if (!flags.optimizer.empty()) options.optimizer = flags.optimizer.c_str();
  if (!flags.schedule.empty()) options.schedule = flags.schedule.c_str();
  if (!flags.class_weights.empty()) options.class_weights = flags.class_weights.c_str();
  if (flags.tolerate_given) options.given |= MOTLEY_GIVEN_TOLERATE;
  options.code = flags.code.c_str();
  options.step_deadline = flags.step_deadline.c_str();
  options.reduce = flags.reduce.c_str();
  options.wire = flags.wire.c_str();
  options.sync = flags.sync.c_str();
  options.staleness = flags.staleness.c_str();
  options.shares = flags.shares.c_str();
  options.worker_speeds = flags.speeds.c_str();
  options.sample_time = flags.sample_time.c_str();
  options.faults = faults.c_str();
  return options;
}

}  // namespace motley
