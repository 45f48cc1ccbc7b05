// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/shard_servers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr uint64_t kServerFaultDraws = 64;    // Its own stream of the simulation's draws.
constexpr double kStartSpreadSeconds = 0.05;  // They start within this time.

}  // namespace

ShardServers::ShardServers(VirtualLoop& world, SimNetwork& network, const SimOptions& options)
    : world_(world),
      network_(network),
      options_(options),
      random_(options.seed, Stream::kSimulation, kServerFaultDraws) {}

Status ShardServers::Create() {
  for (uint32_t i = 0; i < options_.job.shard_servers; ++i) {
    MOTLEY_ASSIGN_OR_RETURN(
        auto server, WorkerProcess::Create(world_, network_, options_, options_.job.workers + i));
    servers_.push_back(std::move(server));
  }
  return Status::Ok();
}

void ShardServers::Start() {
  for (const auto& server : servers_) {
    world_.After(FromSeconds(kStartSpreadSeconds * random_.NextDouble()), [raw = server.get()] {
      if (!raw->killed()) raw->Start();
    });
  }
  Arm();
}

void ShardServers::Arm() {
  const RandomFaults& faults = options_.random_faults;
  if (servers_.empty() || faults.kill_server_every <= 0) return;
  const Duration wait = FromSeconds(random_.Exponential(faults.kill_server_every));
  if (ToSeconds(world_.Now() + wait) >= faults.until_seconds) return;
  world_.After(wait, [this] {
    if (stopped_) return;
    Strike();
    Arm();
  });
}

void ShardServers::Strike() {
  const size_t server = random_.Below(servers_.size());
  if (!servers_[server]->alive()) return;
  random_.Chance(0.4) ? Pause(server) : Kill(server);
}

void ShardServers::Kill(size_t server) {
  ++deaths_;
  servers_[server]->Kill(/*lose_in_flight=*/random_.Chance(0.5));
  world_.After(Draw(1e-4, 1), [this, server] { Restart(server); });
}

void ShardServers::Pause(size_t server) {
  if (servers_[server]->paused()) return;
  servers_[server]->Pause();
  // The process may be gone by then. Its successor has another address.
  world_.After(Draw(0.01, 2), [raw = servers_[server].get()] { raw->Continue(); });
}

Duration ShardServers::Draw(double shortest_seconds, double longest_seconds) {
  const double drawn =
      shortest_seconds * std::pow(longest_seconds / shortest_seconds, random_.NextDouble());
  const double left = options_.random_faults.until_seconds - ToSeconds(world_.Now());
  return FromSeconds(std::min(drawn, left));
}

// A new process is refused while the job has not noticed the death of the one before. Then another
// one starts later.
void ShardServers::Restart(size_t server) {
  constexpr Duration kAgain = std::chrono::milliseconds(200);
  const auto& ended = servers_[server]->ended();
  const bool gone = servers_[server]->killed() || (ended && !ended->ok());
  if (stopped_ || !gone) return;
  dead_.push_back(std::move(servers_[server]));
  if (!dead_.back()->killed()) dead_.back()->Kill(false);
  auto next = WorkerProcess::Create(world_, network_, options_,
                                    options_.job.workers + static_cast<WorkerId>(server),
                                    static_cast<uint32_t>(dead_.size()));
  MOTLEY_ASSERT(next.ok());
  servers_[server] = *std::move(next);
  servers_[server]->Start();
  world_.After(kAgain, [this, server] { Restart(server); });
}

void ShardServers::Kill() {
  for (const auto& server : servers_) {
    if (!server->killed()) server->Kill(true);
  }
}

bool ShardServers::alive() const {
  return std::any_of(servers_.begin(), servers_.end(),
                     [](const auto& server) { return server->alive() && server->started(); });
}

void ShardServers::TearDown(Violations& violations) {
  for (const auto& server : servers_) {
    if (server->alive() && server->started()) {
      violations.Add("I10: a shard server was never notified that the job is over");
    }
    server->TearDown(violations);
  }
}

void ShardServers::CheckQuiet(Violations& violations) const {
  for (const auto& server : servers_) server->CheckQuiet(violations);
}

void ShardServers::MixLastDraws(Digest& digest) {
  for (const auto& server : servers_) server->MixLastDraws(digest);
  if (!servers_.empty()) digest.Mix(random_.Next64());
}

}  // namespace motley
