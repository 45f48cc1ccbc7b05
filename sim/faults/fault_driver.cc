// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/fault_driver.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace motley {
namespace {

constexpr uint64_t kFaultDraws = 4;  // Its own stream of the simulation's draws.
constexpr uint64_t kStrangerDraws = 50;
constexpr int kMostSpoiltAnswers = 2;  // The server expels a worker after one more.

}  // namespace

FaultDriver::FaultDriver(VirtualLoop& world, SimNetwork& network, const SimOptions& options,
                         Workers& workers)
    : world_(world),
      network_(network),
      options_(options),
      workers_(workers),
      random_(options.seed, Stream::kSimulation, kFaultDraws),
      struck_(options.faults.size(), false),
      joined_(workers.size(), false),
      lost_(workers.size(), false),
      spoilt_(workers.size(), 0),
      stalls_(workers.size()),
      was_paused_(workers.size(), false),
      paused_until_(workers.size()) {
  const RandomFaults& faults = options.random_faults;
  sources_ = {{faults.kill_every, &FaultDriver::StrikeKill},
              {faults.pause_every, &FaultDriver::StrikePause},
              {faults.slow_every, &FaultDriver::StrikeSlow},
              {faults.partition_every, &FaultDriver::StrikePartition},
              {faults.nan_every, &FaultDriver::StrikeNan},
              {faults.garble_every, &FaultDriver::StrikeGarble},
              {faults.break_every, &FaultDriver::StrikeBreak},
              {faults.stall_every, &FaultDriver::StrikeStall},
              {faults.cut_every, &FaultDriver::StrikeCut},
              {faults.blackout_every, &FaultDriver::StrikeBlackout},
              {faults.leave_every, &FaultDriver::StrikeLeave}};
  for (const Fault& fault : options.faults) {
    if (fault.kind != Fault::Kind::kNan) continue;
    spoilt_steps_.insert(fault.step);
    ++spoilt_[fault.worker];
  }
}

void FaultDriver::Start() {
  for (Source& source : sources_) Arm(source);
  const double visits = options_.random_faults.stranger_every;
  if (visits <= 0) return;
  stranger_ = std::make_unique<Stranger>(
      world_, network_, Random(options_.seed, Stream::kSimulation, kStrangerDraws));
  stranger_->Start(visits);
}

void FaultDriver::Stop() {
  stopped_ = true;
  if (stranger_) stranger_->Stop();
  for (Source& source : sources_) {
    world_.Cancel(source.timer);
    source.timer = 0;
  }
}

void FaultDriver::Arm(Source& source) {
  source.timer = 0;
  if (source.every <= 0) return;
  const Duration wait = FromSeconds(random_.Exponential(source.every));
  if (ToSeconds(world_.Now() + wait) >= options_.random_faults.until_seconds) return;
  source.timer = world_.After(wait, [this, &source] {
    (this->*source.strike)();
    Arm(source);
  });
}

std::vector<WorkerId> FaultDriver::Targets() const {
  std::vector<WorkerId> targets;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (workers_[w]->alive() && !workers_[w]->broken() && !lost_[w]) targets.push_back(w);
  }
  return targets;
}

uint32_t FaultDriver::LiveWorkers() const {
  uint32_t live = 0;
  for (WorkerId w = 0; w < workers_.size(); ++w)
    live += joined_[w] && !workers_[w]->killed() && !lost_[w];
  return live;
}

WorkerProcess* FaultDriver::Pick() {
  const std::vector<WorkerId> targets = Targets();
  if (targets.empty()) return nullptr;
  picked_ = targets[random_.Below(targets.size())];
  return workers_[picked_].get();
}

Duration FaultDriver::DrawDuration(double shortest_seconds, double longest_seconds) {
  const double exponent = random_.NextDouble();
  const double drawn = shortest_seconds * std::pow(longest_seconds / shortest_seconds, exponent);
  const double left = options_.random_faults.until_seconds - ToSeconds(world_.Now());
  const Duration duration = FromSeconds(std::max(0.0, std::min(drawn, left)));
  quiet_from_ = std::max(quiet_from_, world_.Now() + duration);
  return duration;
}

void FaultDriver::StrikeKill() {
  if (Targets().size() < 2) return;
  Pick();
  Kill(picked_);
}

void FaultDriver::StrikePause() {
  if (Pick() == nullptr) return;
  Pause(picked_, DrawDuration(0.01, 2));
}

void FaultDriver::StrikeSlow() {
  WorkerProcess* process = Pick();
  if (process == nullptr) return;
  const double factor = 2 + 8 * random_.NextDouble();
  const Duration duration = DrawDuration(0.1, 5);
  process->SetRandomSlowness(factor);
  world_.After(duration, [process] { process->SetRandomSlowness(1); });
}

void FaultDriver::StrikePartition() {
  WorkerProcess* process = Pick();
  if (process == nullptr) return;
  process->Clog(world_.Now() + DrawDuration(0.01, 2));
}

// Picks a worker that is to spoil its answer for the next step; none if the limits forbid it.
std::optional<StepId> FaultDriver::StepToSpoil() {
  const StepId next = open_step_ + 1;
  if (Pick() == nullptr || spoilt_[picked_] >= kMostSpoiltAnswers) return std::nullopt;
  if (!spoilt_steps_.insert(next).second) return std::nullopt;
  ++spoilt_[picked_];
  return next;
}

void FaultDriver::StrikeNan() {
  if (const auto step = StepToSpoil()) workers_[picked_]->PoisonStep(*step);
}

void FaultDriver::StrikeGarble() {
  if (const auto step = StepToSpoil()) workers_[picked_]->GarbleStep(*step, random_.Next64());
}

uint64_t FaultDriver::garbled() const {
  uint64_t garbled = 0;
  const Workers* const all[] = {&workers_, &dead_};
  for (const Workers* lives : all) {
    for (const auto& process : *lives) garbled += process->garbled();
  }
  return garbled;
}

void FaultDriver::StrikeBreak() {
  if (Targets().size() < 2) return;
  WorkerProcess* process = Pick();
  ++broken_;
  // Steps may wait for the worker until its device counts as lost.
  quiet_from_ = std::max(quiet_from_, world_.Now() + kSimPatience.first);
  const std::vector<size_t> devices = process->Unbroken();
  const size_t device = devices.size() > 1 ? devices[random_.Below(devices.size())] : devices[0];
  if (random_.Chance(0.5)) return process->HangDevice(device);
  process->FailDevice(device, random_.Chance(0.5)
                                  ? Status::Resource("no memory for a buffer")
                                  : Status::Unavailable("the device fell off the bus"));
}

// Stalls a device only while the worker's other device can do all of the work.
void FaultDriver::StrikeStall() {
  WorkerProcess* process = Pick();
  if (process == nullptr || world_.Now() < stalls_[picked_].until) return;
  const std::vector<size_t> devices = process->Unbroken();
  if (devices.size() < 2) return;
  const size_t number = devices[random_.Below(devices.size())];
  const SimDevice& device = process->device(number);
  const Time until = world_.Now() + DrawDuration(1.5, 3);
  stalls_[picked_] = {until, number, device.busy() ? device.begun() : 0, open_step_};
  process->StallDevice(number, until);
}

void FaultDriver::StrikeCut() {
  WorkerProcess* process = Pick();
  if (process == nullptr) return;
  ++cuts_;
  quiet_from_ = std::max(quiet_from_, world_.Now());
  process->Cut(random_.Chance(0.7));
}

void FaultDriver::StrikeBlackout() {
  const bool cut = random_.Chance(0.5);
  const Time until = world_.Now() + DrawDuration(0.01, 5);
  for (const auto& process : workers_) {
    if (!process->alive()) continue;
    cut ? process->Cut(/*tell_server=*/true) : process->Clog(until);
  }
}

// Half of the workers that leave come back.
void FaultDriver::StrikeLeave() {
  if (Targets().size() < 2) return;
  WorkerProcess* process = Pick();
  if (!joined_[picked_] || process->paused()) return;
  ++leaves_;
  quiet_from_ = std::max(quiet_from_, world_.Now());
  process->Leave();
  if (!random_.Chance(0.5)) return;
  const Duration away = DrawDuration(0.01, 1);
  world_.After(away, [this, worker = picked_, process] {
    if (stopped_ || workers_[worker].get() != process || process->alive()) return;
    if (!process->killed()) process->Kill(/*lose_in_flight=*/false);
    Restart(worker);
  });
}

void FaultDriver::Kill(WorkerId worker) {
  if (workers_[worker]->killed()) return;
  quiet_from_ = std::max(quiet_from_, world_.Now());
  const bool lose_in_flight = random_.Chance(0.5);
  workers_[worker]->Kill(lose_in_flight);
  stalls_[worker] = {};
  if (!random_.Chance(options_.random_faults.restart)) return;
  world_.After(DrawDuration(1e-4, 1), [this, worker] { Restart(worker); });
}

void FaultDriver::Restart(WorkerId worker) {
  if (stopped_ || !workers_[worker]->killed()) return;
  auto next =
      WorkerProcess::Create(world_, network_, options_, worker, static_cast<uint32_t>(++restarts_));
  if (!next.ok()) return;
  dead_.push_back(std::exchange(workers_[worker], *std::move(next)));
  paused_until_[worker] = Time();
  was_paused_[worker] = false;
  workers_[worker]->Start();
}

void FaultDriver::Pause(WorkerId worker, Duration duration) {
  WorkerProcess& process = *workers_[worker];
  if (!process.alive()) return;
  process.Pause();
  was_paused_[worker] = true;
  const Time until = std::max(paused_until_[worker], world_.Now() + duration);
  paused_until_[worker] = until;
  quiet_from_ = std::max(quiet_from_, until);
  world_.After(until - world_.Now(), [this, worker, until] {
    if (paused_until_[worker] == until) workers_[worker]->Continue();
  });
}

void FaultDriver::Strike(const Fault& fault) {
  WorkerProcess& process = *workers_[fault.worker];
  quiet_from_ = std::max(quiet_from_, world_.Now());
  switch (fault.kind) {
    case Fault::Kind::kKill: Kill(fault.worker); break;
    case Fault::Kind::kPause: Pause(fault.worker, fault.duration); break;
    case Fault::Kind::kSlow: process.MultiplyScriptedSlowness(fault.factor); break;
    case Fault::Kind::kNan: process.PoisonStep(fault.step); break;
    case Fault::Kind::kLie: process.Lie(fault.factor); break;
  }
}

void FaultDriver::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void FaultDriver::On(const event::StepOpened& event) {
  open_step_ = event.step;
  for (size_t i = 0; i < options_.faults.size(); ++i) {
    if (struck_[i] || options_.faults[i].step != event.step) continue;
    struck_[i] = true;
    Strike(options_.faults[i]);
  }
}

void FaultDriver::On(const event::WorkerJoined& event) {
  joined_[event.worker] = true;
  lost_[event.worker] = false;
}

void FaultDriver::On(const event::WorkerLost& event) { lost_[event.worker] = true; }

void FaultDriver::On(const event::RowArrived& event) {
  OnAnswer(event.step, event.worker, event.now);
}

void FaultDriver::On(const event::VectorArrived& event) {
  OnAnswer(event.step, event.worker, event.now);
}

void FaultDriver::OnAnswer(StepId step, WorkerId worker, Time now) {
  if (was_paused_[worker] && now >= paused_until_[worker]) {
    was_paused_[worker] = false;
    ++back_;
  }
  Stall& stall = stalls_[worker];
  if (stall.piece == 0 || step <= stall.step || !workers_[worker]->alive()) return;
  const SimDevice& device = workers_[worker]->device(stall.device);
  if (device.busy() && device.begun() == stall.piece) {
    ++done_without_;
  } else {
    stall.piece = 0;
  }
}

}  // namespace motley
