// SPDX-License-Identifier: Apache-2.0
// Runs whole jobs on the pure scheduler in virtual time. Fake workers with speeds, delays and
// faults carry out its commands and check each of them. No runtime, no network.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/notices.h"
#include "tests/scheduler/tiny_decoder.h"

namespace motley {

// Options of a job with `--code auto`: 16 partitions and a batch of 64 samples for each worker.
inline SchedulerOptions AutoOptions(uint32_t workers, uint64_t steps, uint32_t tolerate = 0) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = workers * 16;
  options.code = "auto";
  options.tolerate = tolerate;
  options.batch = workers * 64;
  options.steps = steps;
  return options;
}

class VirtualCluster {
 public:
  VirtualCluster(const SchedulerOptions& options, std::vector<double> speeds, uint64_t seed);

  // Faults, at a time after the start. Call these before Run.
  void Kill(double at_seconds, WorkerId worker);
  void Pause(double at_seconds, WorkerId worker, double seconds);
  void SetSpeed(double at_seconds, WorkerId worker, double speed);
  // A new incarnation, after a kill or without one.
  void Restart(double at_seconds, WorkerId worker);
  void JoinLate(double at_seconds, double speed);  // One more worker.
  // The worker's next answer is refused.
  void SpoilNext(double at_seconds, WorkerId worker, bool touched);
  // The worker's first claim about its speed is `factor` times the truth.
  void Misjudge(WorkerId worker, double factor) { fakes_[worker].misjudged = factor; }
  // From this step on the worker computes and reports its leases, but sends no vector.
  void WithholdVectors(StepId from, WorkerId worker) { fakes_[worker].withholds_from = from; }
  // Changes the speed when the step opens.
  void SetSpeedAtStep(StepId step, WorkerId worker, double speed);
  // For leases: partitions between two reports, and the time of a vector.
  void ReportEvery(uint32_t partitions) { report_every_ = partitions; }
  void SetVectorSeconds(double seconds) { vector_seconds_ = seconds; }
  // The time of a row's answer besides computing.
  void SetRowSeconds(double seconds) { row_seconds_ = seconds; }
  // Exponential noise with this mean on top of that, as on processors that workers share.
  void SetRowNoise(double seconds) { row_noise_ = seconds; }
  // The time of a partition on its way. All messages to its worker come behind it, unless it is a
  // copy.
  void SetDataSeconds(double seconds) { data_seconds_ = seconds; }
  // The time of applying an update, so that a test can set the step times of each code.
  using ApplySeconds = std::function<double(const std::string& code, StepId step)>;
  void SetApplySeconds(ApplySeconds seconds) { apply_seconds_ = std::move(seconds); }
  // From this step on, all answers of this code arrive and do not decode.
  void SetUndecodable(std::string code, StepId from = 0) {
    undecodable_ = std::move(code);
    undecodable_from_ = from;
  }

  // Runs until the job ends or `limit_seconds` of virtual time have passed (a violation).
  void Run(double limit_seconds);

  const std::vector<std::string>& violations() const { return violations_; }
  const Status& end_status() const { return end_status_; }
  bool ended() const { return ended_; }
  const std::vector<double>& step_seconds() const { return step_seconds_; }  // Commit to commit.
  SchedulerStats Stats() const { return scheduler_->Stats(); }
  uint32_t living() const;
  double worst_error() const { return worst_error_; }
  uint64_t digest() const { return digest_; }  // Over all commands and their times.
  const std::vector<Notice>& notices() const { return notices_; }
  const std::vector<std::string>& codes() const { return codes_; }  // By step.

 private:
  struct Job {
    StepId step;
    RowId row;
    uint64_t samples;
    std::vector<PartitionId> partitions;
    bool keep = false;
    bool spoiled = false;
    bool cancelled = false;
  };
  // A worker's work under leases. `life` distinguishes the lists of one worker.
  struct LeaseList {
    StepId step = 0;
    uint64_t life = 0;
    std::vector<PartitionId> partitions;
    uint32_t done = 0, sent = 0;
    uint32_t computing = 0;  // Number of partitions after `done` that it computes.
    bool told = false;
    uint64_t started = 0;  // Chunks. Chunks of void lists do not finish.
    Duration compute{};
  };
  // The server's knowledge of the list.
  struct LeaseMirror {
    bool open = false;
    uint64_t life = 0;
    std::vector<PartitionId> partitions;
    uint32_t spent = 0;
    uint32_t released = 0;  // Revocations with an answer.
    uint32_t asked = 0;
  };
  struct Fake {
    LeaseList list;
    LeaseMirror mirror;
    double speed = 1;
    double misjudged = 1;
    bool alive = false;
    uint64_t life = 0;  // Incarnation; messages of earlier ones are dropped.
    Time paused_until{};
    Time data_until{}, copies_until{};               // Data are on their way until then.
    std::set<PartitionId> copies;                    // On their way, as the server knows it.
    std::deque<std::function<void(Fake&)>> unheard;  // Messages that came in a pause.
    std::deque<Job> queue;                           // The first is being computed.
    Time job_started{};
    uint64_t job_number = 0;    // Cancelled jobs do not finish.
    std::optional<bool> spoil;  // The value says if the sums are touched.
    std::optional<StepId> refused_in;
    std::optional<StepId> withholds_from;
    std::optional<StepId> kept_in;
    std::set<PartitionId> kept;  // Partitions computed in that step for kept rows.
    // The server's possible view:
    bool server_live = false;
    uint64_t server_life = 0;
    std::vector<bool> placed;
  };

  void At(double seconds, Task task);
  void Birth(WorkerId worker);
  void Death(WorkerId worker, const char* why);
  // Delivers after the network's delay, not during a pause and not before `after`, unless the
  // worker died.
  void ToWorker(WorkerId worker, std::function<void(Fake&)> task, Time after = {});
  void Hear(WorkerId worker);
  void FromWorker(WorkerId worker, Task task, double more_seconds = 0);
  uint64_t SamplesOf(Fake& fake, const Job& job) const;
  void StartJob(WorkerId worker);
  void FinishJob(WorkerId worker, uint64_t number);
  void Answer(WorkerId worker, const Job& job);
  void CancelJobs(WorkerId worker, const std::function<bool(const Job&)>& meant);
  void SkipCancelled(WorkerId worker);
  void Tell(const Event& event);
  void Arm();

  void Do(const OpenStep& command);
  void Do(const PlacePartitions& command);
  void Do(const AssignRow& command);
  void Do(const SendRow&) { Violate("an answer may leave that does not wait"); }
  void Do(const CancelWork& command);
  void Do(const CancelRow& command);
  void Do(const CommitStep& command);
  void Do(const DropWorker& command);
  void Do(const EndJob& command);
  void Do(const Notify& command);

  // Leases (virtual_leases.cc).
  void Do(const OpenLeases& command);
  void Do(const ExtendLease& command);
  void Do(const RevokeLease& command);
  void Do(const SendLease& command);
  void Opened(StepId step);
  void VoidLeases(WorkerId worker);
  void CheckCoverage();
  void StartChunk(WorkerId worker);
  void FinishChunk(WorkerId worker, uint64_t number);
  void SendVector(WorkerId worker);
  void VectorCame(WorkerId worker, const LeaseList& as_sent, bool spoiled);
  // Delivers a worker's message about its list. If the list is void, the server only learns that a
  // message came.
  void FromList(WorkerId worker, uint64_t life, double seconds, Task task);
  void Violate(std::string what);
  void Digest(uint64_t value);
  bool CheckLive(WorkerId worker, const char* command);
  bool Undecodable() const;

  SchedulerOptions options_;
  Random random_{0, Stream::kTest};
  VirtualLoop loop_;
  TinyDecoder decoder_;
  bool leasing_ = false;             // The open step uses leases.
  std::vector<WorkerId> leased_to_;  // By partition; kNoWorker: nobody.
  std::vector<bool> covered_;        // By partition: a vector that came covers it.
  uint64_t lists_ = 0;
  uint32_t report_every_ = 1;
  double vector_seconds_ = 0.001;
  double row_seconds_ = 0;
  double row_noise_ = 0;
  double data_seconds_ = 0;
  ApplySeconds apply_seconds_ = [](const std::string&, StepId) { return 0.001; };
  std::string undecodable_;
  StepId undecodable_from_ = 0;
  std::vector<std::string> codes_;
  std::vector<Fake> fakes_;
  std::unique_ptr<Scheduler> scheduler_;
  std::optional<TimerId> timer_;
  std::optional<StepId> open_;
  StepId committed_ = 0;  // Number of steps so far.
  bool committing_ = false;
  bool ended_ = false;
  Status end_status_;
  Time last_commit_{};
  std::vector<double> step_seconds_;
  std::vector<std::pair<StepId, std::pair<WorkerId, double>>> speed_changes_;
  double worst_error_ = 0;
  uint64_t digest_ = 0;
  std::vector<Notice> notices_;
  std::vector<std::string> violations_;
};

}  // namespace motley
