// SPDX-License-Identifier: Apache-2.0
// What a worker's messages about its leases teach: its speed, how long its messages take, and what
// sending data takes. Updates JobState; pure otherwise.
#pragma once

#include "scheduler/job_state.h"
#include "scheduler/learned/lease_watch.h"

namespace motley {

// What the worker's messages of the open step take shows what data take, and neither its link nor
// its work.
bool WaitedForData(const JobState& job, const LeaseWatch& watch);
// Partitions behind which all comes that the worker is asked.
uint32_t OnTheirWay(const JobState& job, const LeaseWatch& watch, WorkerId worker);
// The same of what it is asked now: data may have been sent in this step, after its leases.
bool AsksWaitForData(const JobState& job, const LeaseWatch& watch, WorkerId worker);

// It got on. `opened`: when the step did.
void LearnFromProgress(const LeaseProgress& event, Time opened, JobState& job, LeaseWatch& watch);
// A round trip shows its latency, and there is none yet, or the last one is old. Where latency
// seems to be long, nobody would be asked anything.
bool LatencyIsDue(const JobState& job, const LeaseWatch& watch, WorkerId worker);
// The step is over for the worker, which `owes` something or not: what it did shows its speed.
void MeasureSpeed(WorkerId worker, bool owes, JobState& job, const LeaseWatch& watch);

// The worker failed to deliver several times in a row, and gets nothing for a while.
bool Rests(const JobState& job, WorkerId worker);

}  // namespace motley
