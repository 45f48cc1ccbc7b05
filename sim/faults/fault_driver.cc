// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/fault_driver.h"

#include <variant>

namespace motley {
namespace {

constexpr uint64_t kStrangerDraws = 50;

}  // namespace

FaultDriver::FaultDriver(VirtualLoop& world, SimNetwork& network, const SimOptions& options,
                         Workers& workers)
    : targets_(world, network, options, workers), struck_(options.faults.size(), false) {
  for (const FaultKind* kind : FaultKinds()) {
    sources_.push_back({options.random_faults.*kind->every, kind->make(targets_)});
  }
}

void FaultDriver::Start() {
  for (Source& source : sources_) Arm(source);
  const SimOptions& options = targets_.options();
  const double visits = options.random_faults.stranger_every;
  if (visits <= 0) return;
  stranger_ = std::make_unique<Stranger>(targets_.world(), targets_.network(),
                                         Random(options.seed, Stream::kSimulation, kStrangerDraws));
  stranger_->Start(visits);
}

void FaultDriver::Stop() {
  targets_.Stop();
  if (stranger_) stranger_->Stop();
  for (Source& source : sources_) {
    targets_.world().Cancel(source.timer);
    source.timer = 0;
  }
}

void FaultDriver::Arm(Source& source) {
  source.timer = 0;
  if (source.every <= 0) return;
  const Duration wait = FromSeconds(targets_.random().Exponential(source.every));
  const double until = targets_.options().random_faults.until_seconds;
  if (ToSeconds(targets_.Now() + wait) >= until) return;
  source.timer = targets_.world().After(wait, [this, &source] {
    source.fault->Strike();
    Arm(source);
  });
}

void FaultDriver::Strike(const Fault& fault) {
  WorkerProcess& process = targets_[fault.worker];
  targets_.DisturbUntil(targets_.Now());
  switch (fault.kind) {
    case Fault::Kind::kKill: targets_.Kill(fault.worker); break;
    case Fault::Kind::kPause: targets_.Pause(fault.worker, fault.duration); break;
    case Fault::Kind::kSlow: process.devices().MultiplyScriptedSlowness(fault.factor); break;
    case Fault::Kind::kNan: process.PoisonStep(fault.step); break;
    case Fault::Kind::kLie: process.Lie(fault.factor); break;
  }
}

void FaultDriver::OnEvent(const JobEvent& event) {
  targets_.OnEvent(event);
  for (const Source& source : sources_) source.fault->OnEvent(event);
  if (const auto* opened = std::get_if<event::StepOpened>(&event)) On(*opened);
}

void FaultDriver::On(const event::StepOpened& event) {
  const std::vector<Fault>& faults = targets_.options().faults;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (struck_[i] || faults[i].step != event.step) continue;
    struck_[i] = true;
    Strike(faults[i]);
  }
}

std::map<std::string, uint64_t> FaultDriver::Reached() const {
  std::map<std::string, uint64_t> reached;
  for (const Source& source : sources_) reached.merge(source.fault->Reached());
  if (stranger_) reached[Stranger::kState] = stranger_->visits();
  reached["worker started again"] = targets_.restarts();
  return reached;
}

}  // namespace motley
