// SPDX-License-Identifier: Apache-2.0
// Turns the options of synchronisation (sync, staleness, outer_rate, outer_momentum) into those of
// a job. Every failure is kInvalidArgument, and names the option and what to do.
#pragma once

#include <cstdint>

#include "api/request/job_request.h"
#include "runtime/job.h"

namespace motley {

// True if `staleness` may be given: gradients may be old, and no momenta look ahead instead.
inline bool TakesStaleness(const SyncMode& sync) { return sync.one_each && !sync.own_momentum; }

// Sets which updates are open at a time, and what `sync` asks of the code and the audits.
Status PlanSync(const JobRequest& request, JobOptions& job);
// Makes it a job of rounds, if `sync` is local:H: the optimizer and batch of the request are those
// of the workers' own steps. A round has the samples of H steps of every worker.
Status PlanLocalSteps(const JobRequest& request, JobOptions& job);
// With turns, some of them share a batch, so that each has the batch that was asked for on average.
// A batch of one sample has no parts. `samples` are those of the data.
void ShareBatches(uint64_t samples, JobOptions& job);

}  // namespace motley
