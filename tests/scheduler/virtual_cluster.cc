// SPDX-License-Identifier: Apache-2.0
#include "tests/scheduler/virtual_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/policies.h"

namespace motley {
namespace {

constexpr double kDelaySeconds = 0.0005;  // Mean time of a message.
constexpr double kDetectSeconds = 0.1;    // From a death until it is noticed.
constexpr double kJitter = 0.03;          // Relative variation of compute times.

}  // namespace

VirtualCluster::VirtualCluster(const SchedulerOptions& options, std::vector<double> speeds,
                               uint64_t seed) {
  options_ = options;
  random_ = Random(seed, Stream::kTest);
  auto made = MakeScheduler(options);
  scheduler_ = std::move(made).value();
  fakes_.resize(speeds.size());
  for (WorkerId id = 0; id < fakes_.size(); ++id) {
    fakes_[id].speed = speeds[id];
    loop_.Post([this, id] { Birth(id); });
  }
}

void VirtualCluster::At(double seconds, Task task) {
  loop_.After(FromSeconds(seconds), std::move(task));
}

void VirtualCluster::Kill(double at, WorkerId worker) {
  At(at, [this, worker] { Death(worker, "killed"); });
}

void VirtualCluster::Pause(double at, WorkerId worker, double seconds) {
  At(at,
     [this, worker, seconds] { fakes_[worker].paused_until = loop_.Now() + FromSeconds(seconds); });
}

void VirtualCluster::SetSpeed(double at, WorkerId worker, double speed) {
  At(at, [this, worker, speed] { fakes_[worker].speed = speed; });
}

void VirtualCluster::SetSpeedAtStep(StepId step, WorkerId worker, double speed) {
  speed_changes_.push_back({step, {worker, speed}});
}

void VirtualCluster::Restart(double at, WorkerId worker) {
  At(at, [this, worker] { Birth(worker); });
}

void VirtualCluster::JoinLate(double at, double speed) {
  At(at, [this, speed] {
    fakes_.emplace_back().speed = speed;
    Birth(static_cast<WorkerId>(fakes_.size() - 1));
  });
}

void VirtualCluster::SpoilNext(double at, WorkerId worker, bool touched) {
  At(at, [this, worker, touched] { fakes_[worker].spoil = touched; });
}

uint32_t VirtualCluster::living() const {
  return static_cast<uint32_t>(
      std::count_if(fakes_.begin(), fakes_.end(), [](const Fake& fake) { return fake.alive; }));
}

void VirtualCluster::Run(double limit_seconds) {
  Arm();
  const Time limit = loop_.Now() + FromSeconds(limit_seconds);
  const bool done = loop_.RunUntil([&] { return ended_ || loop_.Now() > limit; });
  if (!done) Violate("nothing more happens, and the job has not ended");
  if (!ended_) Violate(fmt::format("not ended after {} s", limit_seconds));
}

void VirtualCluster::Birth(WorkerId worker) {
  Fake& fake = fakes_[worker];
  fake.alive = true;
  ++fake.life;
  fake.queue.clear();
  fake.unheard.clear();
  fake.list = {};
  fake.kept_in.reset();
  fake.copies.clear();
  fake.paused_until = fake.data_until = fake.copies_until = Time{};
  FromWorker(worker, [this, worker] {
    VoidLeases(worker);
    fakes_[worker].server_live = true;
    fakes_[worker].server_life = fakes_[worker].life;
    fakes_[worker].placed.assign(options_.partitions, false);
    Tell(WorkerJoined{worker, fakes_[worker].life});
  });
  const double hint = fake.misjudged * fake.speed * (1 + 0.1 * random_.Normal());
  loop_.After(FromSeconds(0.2), [this, worker, hint, life = fake.life] {
    if (fakes_[worker].life != life) return;
    FromWorker(worker, [this, worker, hint] {
      Tell(WorkerFree{worker, 0, Duration::zero(), std::max(1e-3, hint)});
    });
  });
}

void VirtualCluster::Death(WorkerId worker, const char* why) {
  Fake& fake = fakes_[worker];
  if (!fake.alive) return;
  fake.alive = false;
  const uint64_t life = ++fake.life;
  loop_.After(FromSeconds(kDetectSeconds), [this, worker, life, why] {
    if (fakes_[worker].life != life) return;  // The worker has started again.
    fakes_[worker].server_live = false;
    VoidLeases(worker);
    Tell(WorkerLost{worker, Status::Unavailable(why)});
  });
}

void VirtualCluster::ToWorker(WorkerId worker, std::function<void(Fake&)> task, Time after) {
  // A connection belongs to one incarnation: the one that the server knows.
  const uint64_t life = fakes_[worker].server_life;
  const Duration data = std::max(fakes_[worker].data_until, after) - loop_.Now();
  loop_.After(std::max(FromSeconds(kDelaySeconds), data),
              [this, worker, life, task = std::move(task)] {
                Fake& fake = fakes_[worker];
                if (!fake.alive || fake.life != life) return;
                fake.unheard.push_back(task);
                Hear(worker);
              });
}

// Messages of a pause arrive after it, before all later ones.
void VirtualCluster::Hear(WorkerId worker) {
  Fake& fake = fakes_[worker];
  const uint64_t life = fake.life;
  while (fake.alive && fake.life == life && !fake.unheard.empty()) {
    if (fake.paused_until > loop_.Now()) {
      loop_.After(fake.paused_until - loop_.Now(), [this, worker, life] {
        if (fakes_[worker].life == life) Hear(worker);
      });
      return;
    }
    const auto task = std::move(fake.unheard.front());
    fake.unheard.pop_front();
    task(fake);
  }
}

void VirtualCluster::FromWorker(WorkerId worker, Task task, double more_seconds) {
  const uint64_t life = fakes_[worker].life;
  loop_.After(FromSeconds(kDelaySeconds + more_seconds),
              [this, worker, life, task = std::move(task)] {
                if (fakes_[worker].life == life) task();
              });
}

// Partitions that the worker kept in the step are not computed again.
uint64_t VirtualCluster::SamplesOf(Fake& fake, const Job& job) const {
  if (std::exchange(fake.kept_in, job.step) != job.step) fake.kept.clear();
  const auto kept = std::count_if(job.partitions.begin(), job.partitions.end(),
                                  [&](PartitionId p) { return fake.kept.contains(p); });
  const uint64_t left = job.partitions.size() - static_cast<uint64_t>(kept);
  return left == 0 ? 0 : std::max<uint64_t>(1, left * options_.batch / options_.partitions);
}

void VirtualCluster::StartJob(WorkerId worker) {
  SkipCancelled(worker);
  Fake& fake = fakes_[worker];
  if (fake.queue.empty()) return;
  const double noise = std::max(0.2, 1 + kJitter * random_.Normal());
  fake.job_started = loop_.Now();
  const uint64_t number = ++fake.job_number;
  const double seconds = static_cast<double>(fake.queue.front().samples) / fake.speed * noise;
  loop_.After(FromSeconds(seconds), [this, worker, number] { FinishJob(worker, number); });
}

void VirtualCluster::FinishJob(WorkerId worker, uint64_t number) {
  Fake& fake = fakes_[worker];
  if (!fake.alive || fake.job_number != number || fake.queue.empty()) return;
  if (fake.paused_until > loop_.Now()) {
    loop_.After(fake.paused_until - loop_.Now(),
                [this, worker, number] { FinishJob(worker, number); });
    return;
  }
  Job job = fake.queue.front();
  fake.queue.pop_front();
  ++fake.job_number;
  job.spoiled = fake.spoil.has_value() && !job.keep;
  if (job.keep) fake.kept.insert(job.partitions.begin(), job.partitions.end());
  const double noise = row_noise_ > 0 ? random_.Exponential(row_noise_) : 0;
  const double after = row_seconds_ + noise;
  FromWorker(
      worker, [this, worker, job] { Answer(worker, job); }, after);
  const Duration took = loop_.Now() - fake.job_started;
  FromWorker(
      worker,
      [this, worker, job, took] {
        Tell(WorkerFree{worker, job.samples, took, 0});
      },
      after);
  StartJob(worker);
}

void VirtualCluster::Answer(WorkerId worker, const Job& job) {
  if (ended_) return;
  if (!open_ || *open_ != job.step || committing_) return Tell(RowLate{worker, job.step, job.row});
  if (job.keep) {  // The runtime also reports for which opening of the step it was.
    if (!decoder_.Keeping()) return Tell(WorkerProgress{worker, 0, Duration::zero()});
    return Tell(RowArrived{worker, job.step, job.row});
  }
  if (decoder_.Keeping()) return Tell(WorkerProgress{worker, 0, Duration::zero()});
  if (job.spoiled) {
    const bool touched = *fakes_[worker].spoil;
    fakes_[worker].spoil.reset();
    fakes_[worker].refused_in = job.step;
    return Tell(RowRejected{worker, job.step, job.row, touched, Status::DataError("not finite")});
  }
  if (Undecodable()) return Tell(RowArrived{worker, job.step, job.row});
  if (!decoder_.Answer(job.row)) return Tell(RowLate{worker, job.step, job.row});
  Tell(RowArrived{worker, job.step, job.row});
  if (!committing_ && decoder_.Decodable()) Tell(StepDecodable{job.step});
}

bool VirtualCluster::Undecodable() const {
  return committed_ >= undecodable_from_ && decoder_.code().name == undecodable_;
}

// Each order that the worker was given ends with one message, in order.
void VirtualCluster::SkipCancelled(WorkerId worker) {
  Fake& fake = fakes_[worker];
  while (!fake.queue.empty() && fake.queue.front().cancelled) {
    fake.queue.pop_front();
    FromWorker(
        worker,
        [this, worker] {
          Tell(WorkerFree{worker, 0, Duration::zero(), 0});
        },
        row_seconds_);
  }
}

void VirtualCluster::CancelJobs(WorkerId worker, const std::function<bool(const Job&)>& meant) {
  Fake& fake = fakes_[worker];
  if (fake.queue.empty()) return;
  const bool running = meant(fake.queue.front());
  for (size_t i = 1; i < fake.queue.size(); ++i) fake.queue[i].cancelled |= meant(fake.queue[i]);
  if (!running) return;
  const double seconds = ToSeconds(loop_.Now() - fake.job_started);
  const auto done = static_cast<uint64_t>(seconds * fake.speed);
  const uint64_t samples = std::min(done, fake.queue.front().samples);
  const Duration took = loop_.Now() - fake.job_started;
  fake.queue.pop_front();
  ++fake.job_number;
  FromWorker(
      worker,
      [this, worker, samples, took] {
        Tell(WorkerFree{worker, samples, took, 0});
      },
      row_seconds_);
  StartJob(worker);
}

void VirtualCluster::Tell(const Event& event) {
  if (ended_) return;
  std::vector<Command> commands;
  scheduler_->OnEvent(event, loop_.Now(), commands);
  for (const Command& command : commands) {
    Digest(command.index());
    std::visit([this](const auto& c) { Do(c); }, command);
  }
  Digest(static_cast<uint64_t>(loop_.Now().time_since_epoch().count()));
  Arm();
}

void VirtualCluster::Arm() {
  if (timer_) loop_.Cancel(*timer_);
  timer_.reset();
  if (ended_ || scheduler_->Deadline() == kNever) return;
  timer_ = loop_.After(std::max(Duration::zero(), scheduler_->Deadline() - loop_.Now()), [this] {
    timer_.reset();
    Tell(Tick{});
  });
}

void VirtualCluster::Do(const OpenStep& command) {
  if (command.step != committed_) {
    Violate(fmt::format("step {} opened after {} commits", command.step, committed_));
  }
  if (committing_) Violate(fmt::format("step {} opened during a commit", command.step));
  if (const Status status = Validate(*command.code); !status.ok()) Violate(status.ToString());
  leasing_ = false;
  decoder_.Open(command.code);
  Opened(command.step);
}

void VirtualCluster::Opened(StepId step) {
  if (std::exchange(open_, step) == step) return;  // The step opened again.
  for (const auto& [at, change] : speed_changes_) {
    if (at == step) fakes_[change.first].speed = change.second;
  }
}

bool VirtualCluster::CheckLive(WorkerId worker, const char* command) {
  const bool live = worker < fakes_.size() && fakes_[worker].server_live;
  if (!live) Violate(fmt::format("{} for lost worker {}", command, worker));
  return live;
}

void VirtualCluster::Do(const PlacePartitions& command) {
  if (!CheckLive(command.worker, "PlacePartitions")) return;
  if (command.partitions.empty()) Violate("nothing to place");
  Fake& to = fakes_[command.worker];
  Time& until = command.copies ? to.copies_until : to.data_until;
  const double seconds = data_seconds_ * static_cast<double>(command.partitions.size());
  until = std::max(until, loop_.Now()) + FromSeconds(seconds);
  for (const PartitionId partition : command.partitions) {
    const bool promoted = to.copies.erase(partition) > 0 && !command.copies;
    if (to.placed[partition] && !promoted) Violate("a partition placed twice");
    to.placed[partition] = true;
    if (command.copies) to.copies.insert(partition);
  }
  ToWorker(
      command.worker,
      [this, command](Fake&) {
        FromWorker(command.worker, [this, command] {
          for (const PartitionId p : command.partitions) fakes_[command.worker].copies.erase(p);
          Tell(DataCame{command.worker, command.partitions});
        });
      },
      until);
}

void VirtualCluster::Do(const AssignRow& command) {
  if (!CheckLive(command.worker, "AssignRow")) return;
  if (open_ != command.step || committing_) Violate("a row of a step that is not open");
  const CodeForm& code = decoder_.code();
  if (command.row >= code.rows.size()) return Violate("a row that is not in the code");
  const auto& row = code.rows[command.row];
  if (row.empty()) Violate("an empty row assigned");
  for (const CodeEntry& entry : row) {
    if (!fakes_[command.worker].placed[entry.partition]) Violate("a row whose data is not there");
  }
  Job job{command.step, command.row, 0, {}, decoder_.Keeping()};
  for (const CodeEntry& entry : row) job.partitions.push_back(entry.partition);
  const bool lists = code.name == "multi-message" || code.name == "partial-coded";
  ToWorker(command.worker, [this, worker = command.worker, job, lists](Fake& fake) {
    fake.queue.push_back(job);
    fake.queue.back().samples = SamplesOf(fake, job);
    if (fake.queue.size() > 1 && !lists) Violate(fmt::format("worker {} has a queue", worker));
    if (fake.queue.size() == 1) StartJob(worker);
  });
}

void VirtualCluster::Do(const CancelWork& command) {
  if (!CheckLive(command.worker, "CancelWork")) return;
  if (leasing_) {
    if (!fakes_[command.worker].mirror.open) Violate("a cancel of what is not leased");
    VoidLeases(command.worker);
  }
  ToWorker(command.worker, [this, command](Fake& fake) {
    CancelJobs(command.worker, [&](const Job& job) { return job.step <= command.step; });
    if (fake.list.life == 0 || fake.list.step > command.step) return;
    fake.list = {};
    FromWorker(command.worker, [this, command] {
      Tell(WorkerProgress{command.worker, 0, Duration::zero()});
    });
  });
}

void VirtualCluster::Do(const CancelRow& command) {
  if (!CheckLive(command.worker, "CancelRow")) return;
  if (open_ != command.step || committing_) Violate("a row cancelled of a step that is not open");
  if (!decoder_.Answered(command.row) && fakes_[command.worker].refused_in != command.step) {
    Violate("a row cancelled that nobody answered, of a worker that nothing is held against");
  }
  ToWorker(command.worker, [this, command](Fake& fake) {
    (void)fake;
    CancelJobs(command.worker,
               [&](const Job& job) { return job.step == command.step && job.row == command.row; });
  });
}

void VirtualCluster::Do(const CommitStep& command) {
  if (open_ != command.step || committing_) Violate("a commit out of turn");
  if (leasing_) {
    CheckCoverage();
  } else {
    if (!decoder_.Decodable()) return Violate("a commit of what does not decode");
    worst_error_ = std::max(worst_error_, decoder_.Error());
  }
  committing_ = true;
  codes_.push_back(scheduler_->Stats().code);
  const double seconds = apply_seconds_(codes_.back(), command.step);
  loop_.After(FromSeconds(seconds), [this, step = command.step] {
    committing_ = false;
    open_.reset();
    if (step != committed_) Violate("commits out of order");
    ++committed_;
    step_seconds_.push_back(ToSeconds(loop_.Now() - last_commit_));
    last_commit_ = loop_.Now();
    Tell(StepApplied{step});
  });
}

void VirtualCluster::Do(const DropWorker& command) {
  if (!CheckLive(command.worker, "DropWorker")) return;
  if (command.why.ok()) Violate("a worker dropped without a reason");
  fakes_[command.worker].server_live = false;
  Death(command.worker, "dropped");
}

void VirtualCluster::Do(const EndJob& command) {
  ended_ = true;
  end_status_ = command.status;
}

void VirtualCluster::Do(const Notify& command) { notices_.push_back(command.notice); }

void VirtualCluster::Violate(std::string what) {
  violations_.push_back(fmt::format("{:.6f} s: {}", ToSeconds(loop_.Now()), what));
}

void VirtualCluster::Digest(uint64_t value) {
  digest_ = (digest_ ^ value) * 0x100000001b3ull + 0x9e3779b97f4a7c15ull;
}

}  // namespace motley
