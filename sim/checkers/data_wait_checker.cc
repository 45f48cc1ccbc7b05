// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/data_wait_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <variant>

#include "transport/wire/header.h"

namespace motley {
namespace {

// Work may be divided unevenly, speeds may be wrong, and a piece of copies may be in the way.
constexpr double kMargin = 4;
constexpr double kMessages = 8;  // Messages per step that follow one another.

bool OnlyKills(const SimOptions& options) {
  const RandomFaults& faults = options.random_faults;
  const RandomFaults kills = {.kill_every = faults.kill_every,
                              .restart = faults.restart,
                              .replay = faults.replay,
                              .until_seconds = faults.until_seconds};
  const bool steady = std::ranges::all_of(options.cluster.workers, [](const WorkerProfile& worker) {
    return worker.device.tail_probability == 0;
  });
  return faults == kills && steady && options.replay == nullptr &&
         options.server_rates() == ServerRates() &&
         std::ranges::all_of(options.faults,
                             [](const Fault& fault) { return fault.kind == Fault::Kind::kKill; });
}

// An upper limit, rarely exceeded, of the time for one partition.
double PartitionSeconds(const SimOptions& options, WorkerId worker, uint32_t partitions) {
  const DeviceProfile& device = options.cluster.workers[worker].device;
  const double samples = static_cast<double>(options.job.batch) / partitions;
  double seconds =
      device.overhead_seconds + std::max(samples, device.knee_samples) / device.samples_per_second;
  seconds *= 1 + 3 * device.jitter;
  if (options.shared_processors > 0) {
    seconds *= std::max(1.0, options.job.workers / options.shared_processors);
  }
  return seconds;
}

// The time of all messages of a step on the slowest link.
double WordsSeconds(const SimOptions& options, size_t vector_length) {
  const size_t slices = 1 + vector_length / std::max<size_t>(1, options.job.slice_length);
  const auto bytes =
      static_cast<double>(vector_length * sizeof(float) + slices * kHeaderSize + kHeaderSize);
  double longest = 0;
  for (const WorkerProfile& worker : options.cluster.workers) {
    for (const LinkDirection& way : {worker.link.Up(), worker.link.Down()}) {
      const double seconds = way.latency_seconds + 3 * options.link_jitter_seconds;
      const double rate = way.bytes_per_second;
      longest = std::max(longest, seconds + (rate > 0 ? bytes / rate : 0));
    }
  }
  return kMessages * longest;
}

}  // namespace

DataWaitChecker::DataWaitChecker(Violations& violations, const SimOptions& options,
                                 DataArrivals& arrivals, size_t vector_length)
    : violations_(violations),
      arrivals_(arrivals),
      options_(options),
      judges_(OnlyKills(options)),
      words_seconds_(WordsSeconds(options, vector_length)),
      workers_(options.job.workers) {}

void DataWaitChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void DataWaitChecker::On(const event::WorkerJoined& event) {
  if (event.worker >= workers_.size()) return;
  workers_[event.worker].there = true;
  workers_[event.worker].holds.clear();
}

void DataWaitChecker::On(const event::WorkerLost& event) {
  limit_ = 0;
  if (event.worker < workers_.size()) workers_[event.worker].there = false;
}

void DataWaitChecker::On(const event::CommandGiven& event) {
  const auto* place = std::get_if<PlacePartitions>(&event.command);
  if (place == nullptr || place->worker >= workers_.size()) return;
  std::vector<bool>& holds = workers_[place->worker].holds;
  for (const PartitionId p : place->partitions) {
    partitions_ = std::max(partitions_, p + 1);
    if (p >= holds.size()) holds.resize(p + 1);
    holds[p] = true;
  }
}

bool DataWaitChecker::AllThere(WorkerId id) const {
  return workers_[id].there && arrivals_.OnTheirWay(id) == 0;
}

// The time of a step that is divided fairly among the workers with all of their data. 0 if these do
// not hold every partition.
double DataWaitChecker::SecondsAlone() const {
  std::vector<double> busy(workers_.size()), each(workers_.size());
  std::vector<WorkerId> ready;
  for (WorkerId id = 0; id < workers_.size(); ++id) {
    each[id] = PartitionSeconds(options_, arrivals_.ProcessOf(id), partitions_);
    if (AllThere(id)) ready.push_back(id);
  }
  for (PartitionId p = 0; p < partitions_; ++p) {
    double first = std::numeric_limits<double>::infinity();
    WorkerId best = 0;
    for (const WorkerId id : ready) {
      const std::vector<bool>& holds = workers_[id].holds;
      if (p >= holds.size() || !holds[p] || busy[id] + each[id] >= first) continue;
      best = id;
      first = busy[id] + each[id];
    }
    if (first == std::numeric_limits<double>::infinity()) return 0;
    busy[best] = first;
  }
  return *std::ranges::max_element(busy);
}

void DataWaitChecker::On(const event::StepOpened& event) {
  opened_ = event.now;
  limit_ = 0;
  if (!judges_ || !event.code.rows.empty()) return;
  bool some_wait = false;
  for (WorkerId id = 0; id < workers_.size(); ++id) {
    workers_[id].waits = workers_[id].there && !AllThere(id);
    some_wait = some_wait || workers_[id].waits;
  }
  const double alone = some_wait ? SecondsAlone() : 0;
  if (alone > 0) limit_ = kMargin * (alone + words_seconds_);
}

void DataWaitChecker::On(const event::StepApplied& event) {
  if (limit_ == 0) return;
  ++judged_;
  const double took = ToSeconds(event.now - opened_);
  if (took <= limit_ || !workers_[last_].waits) return;
  violations_.Add(fmt::format(
      "I11: step {} took {:.4f} s because it waited for worker {}, whose data were on their way; "
      "the other workers had copies; the limit is {:.4f} s",
      event.step, took, last_, limit_));
}

}  // namespace motley
