// SPDX-License-Identifier: Apache-2.0
// The list of scheduling policies. To add one: a file x_scheduler.cc with a factory, and one line
// in policies.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/scheduler.h"

namespace motley {

class BulkSynchronous;

struct SchedulingPolicy {
  const char* name;
  const char* summary;  // One line for --help.
  Result<std::unique_ptr<Scheduler>> (*make)(const SchedulerOptions& options);
};

// Every policy, in the order of --help.
const std::vector<SchedulingPolicy>& SchedulingPolicies();

// A scheme of the planner (planner/step_schemes.h) as jobs run it: what `auto` chooses from. To
// add one: one line in policies.cc.
struct JobScheme {
  const char* scheme;
  const char* code;
  bool whole_vectors;  // The server keeps workers' vectors apart until each is whole.
  bool parts = false;  // Copies beyond what may be missing make vectors shorter.
  // Workers that may be missing from a step, of a candidate with so many copies,
  uint32_t Tolerates(uint32_t copies) const;
  // and of how many parts (SchedulerOptions::parts) a gradient then consists.
  uint32_t Parts(uint32_t copies) const { return copies - Tolerates(copies); }
};
const std::vector<JobScheme>& JobSchemes();
const JobScheme* JobSchemeOf(std::string_view scheme);  // Null: no job can run it.

// What the code of a job may be.
struct JobCode {
  std::string name;
  std::string summary;  // One line for --help.
  bool coded = true;    // A gradient code: its form can be asked for (coding/gradient_code.h).
};
// "auto", the gradient codes, then "adaptive"; in the order of --help.
std::vector<JobCode> JobCodes();

// The one that serves `options.code`: leases for "adaptive", one that chooses for "auto", the coded
// one for gradient codes.
Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options);

// One that others can go on from; not for "auto".
Result<std::unique_ptr<BulkSynchronous>> MakeBulkSynchronous(const SchedulerOptions& options);

}  // namespace motley
