// SPDX-License-Identifier: Apache-2.0
#include "sim/draw_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

constexpr uint64_t kDraws = 64;
constexpr uint64_t kLocalDraws = 65;
constexpr uint64_t kRateDraws = 71;
constexpr uint64_t kAheadDraws = 73;

// What the job needs does not fit, or the scenario is about something else.
bool IsTaken(const SimOptions& options) {
  const bool lies = std::any_of(options.faults.begin(), options.faults.end(),
                                [](const auto& fault) { return fault.kind == Fault::Kind::kLie; });
  return lies || options.job.checkpoint.every > 0 || options.replay || options.data_bytes > 0;
}

// A job with such a quorum is one with backup workers.
void NameBackup(JobOptions& job) {
  if (job.code != "approximate" || job.tolerate > 0 || job.quorum == 0) return;
  if (job.quorum < job.workers) job.sync.backup = job.workers - job.quorum;
}

SyncMode DrawOwnUpdates(Random& random, const SyncForm* form) {
  std::vector<SyncForm> own;
  for (const SyncForm& each : SyncForms()) {
    if (each.make({}).one_each) own.push_back(each);
  }
  const SyncForm& drawn = form != nullptr ? *form : own[random.Below(own.size())];
  const auto low = static_cast<uint32_t>(random.Below(4));
  return drawn.make({low, low + static_cast<uint32_t>(random.Below(4))});
}

// The job learns slowly, because gradients are of older versions.
void GiveOwnUpdates(SimOptions& options, Random& random, const SyncForm* form) {
  JobOptions& job = options.job;
  job.sync = DrawOwnUpdates(random, form);
  if (!job.sync.own_momentum && random.Chance(0.4)) {
    job.old_gradients = random.Chance(0.5) ? OldGradients::kGap : OldGradients::kRate;
  }
  if (job.sync.own_momentum) {
    job.optimizer = {.name = "nag", .learning_rate = 0.005, .l2 = job.optimizer.l2};
  }
  // Otherwise each update has a batch of its own.
  if (job.sync.in_order && random.Chance(0.7) && job.batch > 1) {
    job.turns = job.workers;
    job.batch *= job.turns;
  }
  job.code = "none";
  job.quorum = job.draw_codes_every = job.most_workers = 0;
  job.step_deadline = {};
  job.holders = JobOptions::Holders::kServer;
  job.shard_servers = 0;
  job.modelled_floats = 0;
  options.random_faults.kill_server_every = 0;
  job.read_every_version = false;
  job.audit_fraction = 0;
  job.optimizer.learning_rate /= 10;
}

void GiveLocalSteps(SimOptions& options, Random& random) {
  JobOptions& job = options.job;
  options.grouped = false;
  job.sync = *ParseSyncMode(fmt::format("local:{}", 1 + random.Below(6)));
  job.code = "approximate";
  job.tolerate = 0;
  job.draw_codes_every = 0;
  job.most_workers = 0;
  job.local.batch = static_cast<uint32_t>(1 + random.Below(std::max(job.batch, 2U)));
  job.local.optimizer.name = "sgd";  // Without state, the checker need not know who had which row.
  job.local.optimizer.learning_rate = job.optimizer.learning_rate / 4;
  job.local.optimizer.l2 = job.optimizer.l2;
  const uint64_t round = uint64_t{job.local.batch} * job.sync.local_steps * job.workers;
  job.batch = static_cast<uint32_t>(round);
  job.optimizer = OptimizerOptions();
  job.optimizer.name = random.Chance(0.5) ? "nag" : "sgd";
  job.optimizer.learning_rate = 0.5;
  job.optimizer.momentum = 0.5;
  job.read_every_version = job.holders != JobOptions::Holders::kServer;
  job.modelled_floats = 0;
  options.random_faults.kill_server_every = 0;
  job.audit_fraction = 0;
  Random ahead(options.seed, Stream::kSimulation, kAheadDraws);
  const uint32_t most = job.sync.local_steps - 1;
  if (most == 0 || ahead.Chance(0.4)) return;
  job.sync.local_ahead = job.local.ahead = static_cast<uint32_t>(1 + ahead.Below(most));
}

// A job of one worker has no backup worker, and keeps its code.
void GiveBackup(JobOptions& job, Random& random) {
  if (job.workers == 1) return;
  if (job.code != "approximate") job.optimizer.learning_rate /= 10;
  job.code = "approximate";
  job.tolerate = job.draw_codes_every = 0;
  job.sync.backup = static_cast<uint32_t>(1 + random.Below(job.workers - 1));
  job.quorum = job.workers - job.sync.backup;
}

void Force(SimOptions& options, const SyncForm& form) {
  const SyncMode mode = form.make({form.least, form.least});
  Random random(options.seed, Stream::kSimulation, mode.local_steps > 0 ? kLocalDraws : kDraws);
  if (mode.one_each) GiveOwnUpdates(options, random, &form);
  if (mode.local_steps > 0) GiveLocalSteps(options, random);
  if (mode.backup > 0) GiveBackup(options.job, random);
}

}  // namespace

std::string_view NameOf(const SyncForm& form) { return form.form.substr(0, form.form.find(':')); }

const SyncForm* FindSyncForm(std::string_view name) {
  for (const SyncForm& form : SyncForms()) {
    if (NameOf(form) == name) return &form;
  }
  return nullptr;
}

void DrawSync(SimOptions& options, const SyncForm* forced) {
  if (forced != nullptr) return Force(options, *forced);
  JobOptions& job = options.job;
  NameBackup(job);
  if (IsTaken(options)) return;
  Random own(options.seed, Stream::kSimulation, kDraws);
  Random local(options.seed, Stream::kSimulation, kLocalDraws);
  if (own.Chance(1.0 / 12)) {
    GiveOwnUpdates(options, own, nullptr);
  } else if (local.Chance(1.0 / 12) && !options.grouped) {
    GiveLocalSteps(options, local);
  }
}

void FollowBatches(SimOptions& options) {
  JobOptions& job = options.job;
  Random random(options.seed, Stream::kSimulation, kRateDraws);
  if (!random.Chance(0.1)) return;
  const bool local = job.local.batch > 0;
  const uint64_t batch = local ? job.local.batch : job.batch;
  const char* const how = random.Chance(0.5) ? "linear" : "sqrt";
  std::string& schedule = (local ? job.local.optimizer : job.optimizer).schedule;
  // Rates never grow, so the job learns as safely as before.
  schedule = fmt::format("{}:warmup={},{}={}", random.Chance(0.5) ? "constant" : "cosine",
                         random.Below(4), how, batch + random.Below(2 * batch + 1));
}

}  // namespace motley
