// SPDX-License-Identifier: Apache-2.0
#include "scheduler/silence.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace motley {
namespace {

constexpr uint32_t kSilentSteps = 3;  // A worker silent for this many steps in a row is left out.
constexpr int kSilentTimes = 8;  // A worker is left out after this many times the normal silence.
constexpr size_t kUsualSteps = 32;        // The last steps that show how long a step usually takes.
constexpr size_t kEnoughSteps = 5;        // Fewer steps show nothing.
constexpr double kLongStep = 20;          // A step this many times as long as usual is reported.
constexpr double kLongStepSeconds = 1.0;  // Shorter steps are never reported as long.

}  // namespace

Silence::Silence(JobState& job) : job_(job), step_seconds_(kUsualSteps) {}

// If others would have to be sent the worker's data, it gets as much extra time as sending them
// takes.
void Silence::LeaveOut() {
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    Worker& worker = job_.members[id];
    if (!worker.live || !worker.ready || worker.left_out || worker.free) continue;
    const Duration silence = worker.Silence(job_.now);
    const bool missed_steps = worker.silent_steps >= kSilentSteps && worker.Overdue(job_.now);
    if (!missed_steps && silence < worker.patience * kSilentTimes) continue;
    const double sending = job_.deadlines.TransferSeconds(worker.to_send);
    if (silence < worker.patience + FromSeconds(sending)) continue;
    worker.left_out = true;
    job_.plan_void = true;
    job_.Say(notice::Silent{id, silence});
  }
}

void Silence::StepBegins() {
  step_since_ = job_.now;
  long_step_due_ = kNever;
  if (step_seconds_.count() < kEnoughSteps) return;
  const double usual = step_seconds_.Limit(0);
  long_step_due_ = job_.now + FromSeconds(std::max(kLongStepSeconds, kLongStep * usual));
}

void Silence::StepCommitted() { step_seconds_.Add(ToSeconds(job_.now - step_since_)); }

void Silence::ReportSilenceOfAll() {
  job_.Say(notice::AllSilent{job_.version, wait_.Length(job_.now)});
  wait_.Told(job_.now);
}

void Silence::ReportLongStep() {
  const Duration taken = job_.now - step_since_;
  std::vector<WorkerId> busy;
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    const Worker& worker = job_.members[id];
    if (worker.live && worker.ready && !worker.free) busy.push_back(id);
  }
  const double usual = step_seconds_.Limit(0);
  const double times = usual > 0 ? ToSeconds(taken) / usual : 0;
  job_.Say(notice::LongStep{job_.version, taken, times, std::move(busy)});
  long_step_due_ = job_.now + taken;
}

}  // namespace motley
