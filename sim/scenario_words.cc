// SPDX-License-Identifier: Apache-2.0
// Describes a scenario in words.
#include <fmt/format.h>

#include "base/counted.h"
#include "coding/gradient_code.h"
#include "sim/faults/random_fault.h"
#include "sim/faults/recorded_times.h"
#include "sim/scenario.h"

namespace motley {
namespace {

std::string NameOf(const SimOptions& options) {
  switch (options.trainer) {
    case SimTrainer::kBuiltIn: break;
    case SimTrainer::kSquares: return "the caller's least squares";
    case SimTrainer::kSquaresOwnData: return "the caller's least squares and samples";
    case SimTrainer::kCostOnly: return "costs only";
  }
  return options.job.model.name;
}

std::string DescribeFaults(const RandomFaults& faults) {
  std::string text;
  const auto add = [&](const char* name, double every) {
    if (every > 0) text += fmt::format(", {} every {:.3f} s", name, every);
  };
  for (const FaultKind* kind : FaultKinds()) add(kind->name, faults.*kind->every);
  add("stranger", faults.stranger_every);
  add("shard server killed or paused", faults.kill_server_every);
  if (faults.restart > 0) text += fmt::format(", restart {:.2f}", faults.restart);
  if (faults.replay > 0) text += fmt::format(", replay {:.2f}", faults.replay);
  return text + fmt::format(", until {:.3f} s", faults.until_seconds);
}

std::string DataWords(const Dataset& data) {
  if (data.sparse) return ", sparse";
  return data.storage == Storage::kFloat32 ? "" : fmt::format(", {}", NameOf(data.storage));
}

}  // namespace

std::string DescribeScenario(const Scenario& scenario) {
  const SimOptions& options = scenario.options;
  const JobOptions& job = options.job;
  const std::string parts =
      SchemeNamed(job.code).has_parts ? fmt::format(" parts {}", job.parts) : std::string();
  std::string text = fmt::format(
      "{} workers, {} tolerate {}{}, {} shares, {} ({} features, {} classes{}), {} samples, batch "
      "{}, {} steps, {}, slices of {}",
      job.workers, job.code, job.tolerate, parts,
      job.shares == Shares::kEqual ? "equal" : "proportional", NameOf(options), job.model.features,
      job.model.classes, DataWords(scenario.data), scenario.data.rows(), job.batch, job.steps,
      job.optimizer.name, job.slice_length);
  if (options.grouped) text += ", groups";
  if (job.shards > 1) text += fmt::format(", {} shards", job.shards);
  if (job.holders != JobOptions::Holders::kServer) {
    using Holders = JobOptions::Holders;
    const char* at = job.holders == Holders::kShardServers ? "shard servers"
                     : job.holders == Holders::kChosen     ? "workers or the server"
                                                           : "workers";
    text += fmt::format(" at {}, {} followers", at, job.followers);
  }
  if (job.shard_servers > 0) text += ", " + Counted(job.shard_servers, "shard server");
  if (job.sync != SyncMode()) text += fmt::format(", {}", NameOf(job.sync));
  if (job.turns > 1) text += ", turns share a batch";
  if (job.old_gradients == OldGradients::kRate) text += ", rates by staleness";
  if (job.old_gradients == OldGradients::kGap) text += ", gradients by their gaps";
  for (const OptimizerOptions* by : {&job.optimizer, &job.local.optimizer}) {
    if (by->schedule != "constant") text += fmt::format(", rates {}", by->schedule);
  }
  if (job.modelled_floats > 0) text += fmt::format(", as for {} floats", job.modelled_floats);
  if (job.wire != WireFormat::kFloat32) text += fmt::format(", vectors as {}", NameOf(job.wire));
  if (job.quorum > 0) text += fmt::format(", quorum {}", job.quorum);
  if (job.step_deadline > Duration::zero()) {
    text += fmt::format(", step deadline {:.4f} s", ToSeconds(job.step_deadline));
  }
  if (options.server_bytes_per_second > 0) {
    text += fmt::format(", {:.3g} bytes/s at the server", options.server_bytes_per_second);
  }
  if (options.data_bytes > 0) {
    text += fmt::format(", data as long as {:.3g} bytes", options.data_bytes);
  }
  if (options.shared_processors > 0) {
    text += fmt::format(", {} shared processors", options.shared_processors);
  }
  for (const double part : options.second_devices) {
    text += part > 0 ? fmt::format(", {:.2f} on a second device", part) : ", one device";
  }
  if (job.draw_codes_every > 0) {
    text += fmt::format(", another code every {} steps", job.draw_codes_every);
  }
  text += DescribeFaults(options.random_faults);
  for (const Fault& fault : options.faults) text += ", " + FormatFault(fault);
  if (job.grant_sends) text += ", answers wait for grants";
  if (job.keep_reserve.value_or(false)) text += ", some workers in reserve";
  if (job.measure_links) text += ", links are measured";
  if (options.replay != nullptr) {
    text += fmt::format(", {} steps of {} workers replayed", options.replay->steps(),
                        options.replay->workers());
  }
  const PowerCuts& cuts = options.power_cuts;
  if (cuts.most > 0) {
    text += fmt::format(
        ", checkpoint every {} as {}, {} power cuts every {:.3f} s ({:.1f} inside writes, {:.2f} "
        "with a full disk, {} bad nodes)",
        job.checkpoint.every, ToText(job.checkpoint.code), cuts.most, cuts.mean_seconds,
        cuts.inside_write, cuts.full_disk, cuts.damaged_nodes);
  }
  return text;
}

}  // namespace motley
