// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/fault_targets.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace motley {
namespace {

constexpr uint64_t kFaultDraws = 4;    // Its own stream of the simulation's draws.
constexpr int kMostSpoiltAnswers = 2;  // The server expels a worker after one more.

}  // namespace

FaultTargets::FaultTargets(VirtualLoop& world, SimNetwork& network, const SimOptions& options,
                           Workers& workers)
    : world_(world),
      network_(network),
      options_(options),
      workers_(workers),
      random_(options.seed, Stream::kSimulation, kFaultDraws),
      seats_(workers.size()) {
  for (const Fault& fault : options.faults) {
    if (fault.kind != Fault::Kind::kNan) continue;
    spoilt_steps_.insert(fault.step);
    ++seats_[fault.worker].spoilt;
  }
}

std::vector<WorkerId> FaultTargets::All() const {
  std::vector<WorkerId> targets;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (workers_[w]->alive() && !workers_[w]->devices().broken() && !seats_[w].lost)
      targets.push_back(w);
  }
  return targets;
}

uint32_t FaultTargets::LiveWorkers() const {
  uint32_t live = 0;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    live += seats_[w].joined && !workers_[w]->killed() && !seats_[w].lost;
  }
  return live;
}

std::optional<WorkerId> FaultTargets::Pick() {
  const std::vector<WorkerId> targets = All();
  if (targets.empty()) return std::nullopt;
  return targets[random_.Below(targets.size())];
}

Duration FaultTargets::DrawDuration(double shortest_seconds, double longest_seconds) {
  const double exponent = random_.NextDouble();
  const double drawn = shortest_seconds * std::pow(longest_seconds / shortest_seconds, exponent);
  const double left = options_.random_faults.until_seconds - ToSeconds(world_.Now());
  const Duration duration = FromSeconds(std::max(0.0, std::min(drawn, left)));
  DisturbUntil(world_.Now() + duration);
  return duration;
}

std::optional<FaultTargets::Spoilt> FaultTargets::PickToSpoil() {
  const StepId next = open_step_ + 1;
  const auto worker = Pick();
  if (!worker || seats_[*worker].spoilt >= kMostSpoiltAnswers) return std::nullopt;
  if (!spoilt_steps_.insert(next).second) return std::nullopt;
  ++seats_[*worker].spoilt;
  return Spoilt{*worker, next};
}

void FaultTargets::Kill(WorkerId worker) {
  if (workers_[worker]->killed()) return;
  DisturbUntil(world_.Now());
  const bool lose_in_flight = random_.Chance(0.5);
  workers_[worker]->Kill(lose_in_flight);
  if (!random_.Chance(options_.random_faults.restart)) return;
  world_.After(DrawDuration(1e-4, 1), [this, worker] { Restart(worker); });
}

void FaultTargets::Restart(WorkerId worker) {
  if (stopped_ || !workers_[worker]->killed()) return;
  auto next =
      WorkerProcess::Create(world_, network_, options_, worker, static_cast<uint32_t>(++restarts_));
  if (!next.ok()) return;
  dead_.push_back(std::exchange(workers_[worker], *std::move(next)));
  seats_[worker].paused_until = Time();
  seats_[worker].was_paused = false;
  workers_[worker]->Start();
}

void FaultTargets::Pause(WorkerId worker, Duration duration) {
  WorkerProcess& process = *workers_[worker];
  if (!process.alive()) return;
  process.Pause();
  Seat& seat = seats_[worker];
  seat.was_paused = true;
  const Time until = std::max(seat.paused_until, world_.Now() + duration);
  seat.paused_until = until;
  DisturbUntil(until);
  world_.After(until - world_.Now(), [this, worker, until] {
    if (seats_[worker].paused_until == until) workers_[worker]->Continue();
  });
}

void FaultTargets::OnEvent(const JobEvent& event) {
  if (const auto* opened = std::get_if<event::StepOpened>(&event)) open_step_ = opened->step;
  if (const auto* joined = std::get_if<event::WorkerJoined>(&event)) {
    seats_[joined->worker].joined = true;
    seats_[joined->worker].lost = false;
  }
  if (const auto* lost = std::get_if<event::WorkerLost>(&event)) seats_[lost->worker].lost = true;
  if (const auto* row = std::get_if<event::RowArrived>(&event)) OnAnswer(row->worker, row->now);
  if (const auto* vector = std::get_if<event::VectorArrived>(&event)) {
    OnAnswer(vector->worker, vector->now);
  }
}

void FaultTargets::OnAnswer(WorkerId worker, Time now) {
  Seat& seat = seats_[worker];
  if (!seat.was_paused || now < seat.paused_until) return;
  seat.was_paused = false;
  ++back_;
}

}  // namespace motley
