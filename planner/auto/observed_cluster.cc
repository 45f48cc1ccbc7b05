// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/observed_cluster.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "base/assert.h"

namespace motley {
namespace {

constexpr uint64_t kEnough = 3;  // Measurements that a worker needs.
// Part of the workers that need kEnough measurements. The slowest workers answer last.
constexpr double kMost = 0.5;
constexpr double kLeastDoubt = 0.03;     // No plan follows speeds more closely than this.
constexpr double kNoticeSeconds = 0.05;  // A loss is seldom noticed sooner.
// Sending this part of all partitions in one step shows the link.
constexpr double kMuchData = 0.5;

double Median(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Workers whose links were not measured have the mean link of the others. Owners that are not among
// the workers count as servers.
OwnedVector OwnedBy(const OwnersPlaced& owners, const std::vector<WorkerId>& workers) {
  std::vector<NodeLink> measured;
  for (const auto& [worker, link] : owners.workers) measured.push_back(link);
  const auto link_of = [&](WorkerId node) {
    for (const auto* links : {&owners.workers, &owners.servers}) {
      if (const auto found = links->find(node); found != links->end()) return found->second;
    }
    return MeanLink(measured);
  };
  OwnedVector owned;
  owned.exchange.bytes = owners.bytes;
  owned.exchange.followers = owners.followers;
  std::map<WorkerId, double> left = owners.parts;
  for (const WorkerId worker : workers) {
    owned.exchange.workers.push_back(link_of(worker));
    owned.shares.push_back(left.contains(worker) ? left.extract(worker).mapped() : 0);
  }
  for (const auto& [node, part] : left) {
    owned.exchange.servers.push_back(link_of(node));
    owned.shares.push_back(part);
  }
  return owned;
}

}  // namespace

ObservedCluster::ObservedCluster(const SchedulerOptions& options)
    : samples_(options.batch),
      partitions_(options.partitions),
      steps_(options.steps),
      rounds_(1.0 * options.batch / options.partitions) {}

void ObservedCluster::See(const Event& event, Time now, const JobState& job) {
  rounds_.See(event);
  now_ = std::max(now_, now);
  job_ = &job;
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) On(e);
      },
      event);
}

void ObservedCluster::See(const Command& command, Time now, const JobState& job) {
  rounds_.See(command, now);
  now_ = std::max(now_, now);
  job_ = &job;
  std::visit(
      [this](const auto& c) {
        if constexpr (requires { On(c); }) On(c);
      },
      command);
}

ObservedCluster::Seen& ObservedCluster::Of(WorkerId worker) {
  if (worker >= seen_.size()) seen_.resize(worker + 1);
  return seen_[worker];
}

void ObservedCluster::Count(WorkerId worker, double factor) {
  variation_.Count(worker, factor, job_->members[worker].estimator.settled());
}

// --- Workers that come and go ---

void ObservedCluster::On(const WorkerJoined& event) {
  if (owners_) owners_->workers.erase(event.worker);  // It may be at another place now.
  if (event.worker >= seen_.size()) return;
  seen_[event.worker].rows = 0;
  seen_[event.worker].leased = false;
}

void ObservedCluster::On(const WorkerLost& event) {
  if (!job_->members.Live(event.worker)) return;
  // kCancelled means that the worker left by itself.
  if (event.why.code() != StatusCode::kCancelled) variation_.CountLoss();
  Gone(event.worker);
}

void ObservedCluster::On(const DropWorker& command) {
  variation_.CountLoss();
  Gone(command.worker);
}

void ObservedCluster::Gone(WorkerId worker) {
  ++changes_;
  Of(worker).rows = 0;
  Of(worker).leased = false;
}

void ObservedCluster::On(const OwnersPlaced& event) {
  ++changes_;
  owners_ = event;
  rounds_ = ObservedRounds(samples_ / partitions_);  // Others exchange vectors in another time.
}

// --- Steps ---

void ObservedCluster::Opened() {
  committed_ = false;
  data_.placed = 0;
  const Membership& members = job_->members;
  for (WorkerId id = 0; id < members.size(); ++id) {
    Seen& seen = Of(id);
    seen.speed = members[id].speed();
    seen.placed = seen.leased = false;
    if (variation_.FollowChange(id, members[id].estimator.restarts())) ++changes_;
  }
}

void ObservedCluster::On(const OpenStep& command) {
  code_ = command.code;
  Opened();
}

void ObservedCluster::On(const OpenLeases&) {
  code_ = nullptr;
  Opened();
}

void ObservedCluster::On(const PlacePartitions& command) {
  if (data_.placed == 0) data_.since = now_;
  data_.placed += static_cast<double>(command.partitions.size());
  Of(command.worker).placed = true;
}

void ObservedCluster::On(const CommitStep&) {
  committed_ = true;
  const Membership& members = job_->members;
  variation_.CountSteps(members.LiveCount());
  for (WorkerId id = 0; id < seen_.size(); ++id) {
    Seen& seen = seen_[id];
    if (!seen.leased || seen.samples == 0 || seen.speed == 0) continue;
    Count(id, ToSeconds(seen.compute) * seen.speed / seen.samples);
    seen.leased = false;
  }
}

// A plan with kEnough measurements of each worker saw most of what sending data takes.
void ObservedCluster::SawData(const Seen& seen) {
  if (data_.placed < kMuchData * partitions_) return;
  const double seconds = ToSeconds(now_ - data_.since) - seen.expected;
  data_.seconds = std::max(data_.seconds, seconds * partitions_ / data_.placed);
}

// --- Rows ---

void ObservedCluster::On(const AssignRow& command) {
  Seen& seen = Of(command.worker);
  if (seen.rows++ == 0) {  // Other rows are later ones of a list.
    seen.since = now_;
    seen.late = seen.expected = 0;
  }
  const double part = static_cast<double>(code_->rows[command.row].size()) / partitions_;
  if (seen.speed > 0) seen.expected += part * samples_ / seen.speed;
}

void ObservedCluster::On(const RowArrived& event) {
  if (!job_->members.Live(event.worker)) return;
  Seen& seen = Of(event.worker);
  if (seen.rows == 0 || seen.expected == 0) return;
  if (seen.placed) return SawData(seen);
  if (seen.rows > 1) return;  // The worker did other work meanwhile.
  if (job_->transfers.InTheWayOf(event.worker, seen.since)) return;
  const double elapsed = ToSeconds(now_ - seen.since);
  const auto& habits = job_->habits;
  const double wait = event.worker < habits.size() ? habits[event.worker].Wait() : elapsed;
  seen.late = std::max(0.0, elapsed - wait) / seen.expected;
}

void ObservedCluster::On(const WorkerFree& event) {
  if (!job_->members.Live(event.worker)) return;
  Seen& seen = Of(event.worker);
  if (!job_->members[event.worker].ready) ++changes_;
  if (seen.rows == 0) return;
  --seen.rows;
  const double elapsed = ToSeconds(now_ - seen.since);
  if (event.samples > 0 && event.compute > Duration::zero() && seen.speed > 0) {
    const double took = ToSeconds(event.compute) * seen.speed / static_cast<double>(event.samples);
    Count(event.worker, std::max(took, seen.late));
  } else if (!job_->transfers.InTheWayOf(event.worker, seen.since) && seen.expected > 0 &&
             elapsed > ObservedVariation::kSlow * seen.expected) {
    // The worker was stopped before it had done anything.
    Count(event.worker, elapsed / seen.expected);
  }
}

// --- Leases ---

void ObservedCluster::On(const ExtendLease& command) {
  Seen& seen = Of(command.worker);
  if (seen.leased) return;
  seen.leased = true;
  seen.since = now_;
  seen.samples = 0;
  seen.expected = 0;
}

void ObservedCluster::On(const LeaseProgress& event) {
  if (!job_->members.Live(event.worker) || event.step != job_->version || committed_) return;
  Seen& seen = Of(event.worker);
  if (!seen.leased || event.done == 0) return;
  if (seen.samples == 0 && seen.placed) {
    seen.expected = ToSeconds(event.compute);
    SawData(seen);
  }
  seen.samples = event.done * samples_ / partitions_;
  seen.compute = event.compute;
}

// Within a step, this means that the worker was silent for longer than the step could wait.
void ObservedCluster::On(const CancelWork& command) {
  Seen& seen = Of(command.worker);
  if (committed_ || !seen.leased || seen.speed == 0) return;
  seen.leased = false;
  if (seen.placed || job_->transfers.InTheWayOf(command.worker, seen.since)) return;
  const double usual = (seen.samples + samples_ / partitions_) / seen.speed;
  Count(command.worker, std::max(ObservedVariation::kSlow, ToSeconds(now_ - seen.since) / usual));
}

// --- The cluster ---

bool ObservedCluster::Known(const JobState& job) const {
  const Membership& members = job.members;
  const std::vector<WorkerId> ids = members.Candidates();
  const auto known = std::count_if(ids.begin(), ids.end(), [&](WorkerId id) {
    return members[id].estimator.measurements() >= kEnough;
  });
  return static_cast<double>(known) >= kMost * static_cast<double>(ids.size());
}

PlannedCluster ObservedCluster::Cluster(const JobState& job) const {
  const Membership& members = job.members;
  const std::vector<WorkerId> ids = members.Candidates();
  const std::vector<double> speeds = members.SpeedsOf(ids);
  const std::vector<LeaseHabits>& habits = job.habits;
  std::vector<double> latencies, starts;
  for (const LeaseHabits& each : habits) {
    if (each.round_trips > 0) latencies.push_back(each.latency);
    if (each.overheads > 0) starts.push_back(each.overhead);
  }
  PlannedCluster cluster;
  cluster.samples = samples_;
  cluster.data_seconds = data_.seconds;
  cluster.seen_together = true;
  cluster.remaining_steps = std::max<uint64_t>(1, steps_ - std::min(steps_, job.version));
  double rate = 0;
  uint64_t least_measured = UINT64_MAX;
  for (size_t i = 0; i < ids.size(); ++i) {
    const WorkerId id = ids[i];
    const bool known = id < habits.size();
    PlannedWorker worker;
    worker.curve.seconds_per_sample = 1 / speeds[i];
    worker.jitter = variation_.Jitter(id);
    worker.slow_probability = variation_.SlowPart(id);
    worker.slow_factor = variation_.SlowFactor();
    worker.loss_probability = variation_.LossPart();
    worker.latency_seconds = known && habits[id].round_trips > 0
                                 ? habits[id].latency
                                 : Median(latencies, LeaseHabits().latency);
    worker.receive_seconds =
        known && habits[id].overheads > 0 ? habits[id].overhead : Median(starts, 0);
    worker.message_seconds = job.transfers.link().message_seconds();
    worker.send_seconds = job.transfers.link().SendSeconds(id);
    worker.link_measured = job.transfers.link().KnowsLinks();
    cluster.workers.push_back(worker);
    rate += speeds[i];
    least_measured = std::min<uint64_t>(least_measured, members[id].estimator.measurements());
  }
  if (owners_) {
    cluster.owned = OwnedBy(*owners_, ids);
    cluster.gradient_bytes = owners_->bytes;
  }
  cluster.rounds = rounds_.Of(ids);
  cluster.notice_seconds = std::max(kNoticeSeconds, samples_ / rate);
  cluster.doubt =
      std::max(kLeastDoubt,
               variation_.Jitter() / std::sqrt(std::max(1.0, static_cast<double>(least_measured))));
  return cluster;
}

}  // namespace motley
