// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/fresh_ids.h"
#include "api/workers/local_workers.h"
#include "api/workers/worker_device.h"
#include "runtime/alive.h"
#include "runtime/worker/worker_node.h"

namespace motley {
namespace {

// The parts of one worker, in order of construction.
struct Member {
  std::unique_ptr<WorkerDevice> device;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<WorkerNode> node;  // Null after it ended.
  double speed = 1;
  bool spoil_next = false;
  float lie = 1;  // Factor of false answers.

  // Set only when a fault asks for it. With a filter, no slice is sent before all are computed.
  void SpoilAnswers() {
    node->SetAnswerFilter([this](StepId, std::span<float> vector) {
      if (lie != 1) {
        for (float& value : vector) value *= lie;
      }
      if (std::exchange(spoil_next, false) && !vector.empty()) {
        vector[0] = std::numeric_limits<float>::quiet_NaN();
      }
    });
  }
};

class ThreadWorkers final : public LocalWorkers {
 public:
  ThreadWorkers(UvLoop& loop, LocalWorkersOptions options, Exited exited)
      : loop_(loop), options_(std::move(options)), exited_(std::move(exited)) {}
  ~ThreadWorkers() override;

  Status StartAll(InprocNetwork& network, const std::shared_ptr<const ForeignTrainer>& foreign);
  void Strike(const Fault& fault) override;
  uint32_t running() const override;
  void Shutdown(Duration grace, Task done) override;

 private:
  Status Start(WorkerId worker, InprocNetwork& network,
               const std::shared_ptr<const ForeignTrainer>& foreign);
  void Drop(WorkerId worker);
  void OnEnded(WorkerId worker, const Status& how);

  UvLoop& loop_;
  LocalWorkersOptions options_;
  Exited exited_;
  std::vector<std::unique_ptr<Member>> members_;
  bool leaving_ = false;
  Task left_;
  TimerId drop_timer_ = 0;
  Alive alive_;
};

ThreadWorkers::~ThreadWorkers() {
  if (drop_timer_ != 0) loop_.Cancel(drop_timer_);
}

Status ThreadWorkers::StartAll(InprocNetwork& network,
                               const std::shared_ptr<const ForeignTrainer>& foreign) {
  for (WorkerId worker = 0; worker < options_.workers; ++worker) {
    MOTLEY_RETURN_IF_ERROR(
        Start(worker, network, foreign).WithContext(fmt::format("cannot start worker {}", worker)));
  }
  return Status::Ok();
}

Status ThreadWorkers::Start(WorkerId worker, InprocNetwork& network,
                            const std::shared_ptr<const ForeignTrainer>& foreign) {
  auto member = std::make_unique<Member>();
  const DeviceGroup& group = options_.devices[worker];
  WorkerDeviceOptions device{.threads = options_.threads, .holdable = true};
  if (!options_.speeds.empty()) {
    member->speed = options_.speeds[worker];
    device.pace = Pace{options_.sample_time, member->speed};
  }
  device.patience = foreign == nullptr ? std::optional(options_.patience) : std::nullopt;
  MOTLEY_ASSIGN_OR_RETURN(member->device, WorkerDevice::Open(loop_, group, device));
  member->transport = network.MakeTransport();
  WorkerOptions options;
  options.server = options_.server;
  options.token = options_.token;
  options.name = WorkerName(static_cast<int32_t>(worker), group);
  options.index_hint = static_cast<int32_t>(worker);
  options.incarnation = FreshIncarnation();
  options.foreign = foreign;
  options.memory_bytes = options_.memory_bytes;
  options.listen = fmt::format("worker-{}:1", worker);
  member->node =
      WorkerNode::Create(Env{loop_, *member->transport, member->device->front()}, options);
  member->node->Start([this, worker](const Status& how) { OnEnded(worker, how); });
  members_.push_back(std::move(member));
  return Status::Ok();
}

void ThreadWorkers::OnEnded(WorkerId worker, const Status& how) {
  Member& member = *members_[worker];
  if (member.node == nullptr) return;
  member.node.reset();
  member.transport->Close();
  if (!leaving_) return exited_(worker, how);
  if (left_ && running() == 0) {
    if (drop_timer_ != 0) loop_.Cancel(std::exchange(drop_timer_, 0));
    loop_.Post(std::exchange(left_, nullptr));
  }
}

void ThreadWorkers::Drop(WorkerId worker) {
  // Posted, because a callback of the node or its transport may be running.
  loop_.Post(alive_.Guard([this, worker] {
    OnEnded(worker, Status::Unavailable(fmt::format("worker {} was dropped", worker)));
  }));
}

void ThreadWorkers::Strike(const Fault& fault) {
  if (fault.worker >= members_.size() || leaving_) return;
  Member& member = *members_[fault.worker];
  if (member.node == nullptr) return;
  switch (fault.kind) {
    case Fault::Kind::kKill: Drop(fault.worker); break;
    case Fault::Kind::kPause: member.device->Hold(fault.duration); break;
    case Fault::Kind::kSlow:
      member.speed /= fault.factor;
      member.device->SetSpeed(member.speed);
      break;
    case Fault::Kind::kNan:
      member.spoil_next = true;
      member.SpoilAnswers();
      break;
    case Fault::Kind::kLie:
      member.lie = static_cast<float>(fault.factor);
      member.SpoilAnswers();
      break;
  }
}

uint32_t ThreadWorkers::running() const {
  return static_cast<uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const auto& member) { return member->node != nullptr; }));
}

void ThreadWorkers::Shutdown(Duration grace, Task done) {
  leaving_ = true;
  left_ = std::move(done);
  if (drop_timer_ != 0) loop_.Cancel(std::exchange(drop_timer_, 0));
  for (const auto& member : members_) member->device->Release();
  if (running() == 0) return loop_.Post(std::exchange(left_, nullptr));
  drop_timer_ = loop_.After(grace, [this] {
    drop_timer_ = 0;
    for (WorkerId worker = 0; worker < members_.size(); ++worker) Drop(worker);
  });
}

}  // namespace

Result<std::unique_ptr<LocalWorkers>> StartWorkerThreads(
    UvLoop& loop, InprocNetwork& network, std::shared_ptr<const ForeignTrainer> foreign,
    LocalWorkersOptions options, LocalWorkers::Exited exited) {
  auto workers = std::make_unique<ThreadWorkers>(loop, std::move(options), std::move(exited));
  MOTLEY_RETURN_IF_ERROR(workers->StartAll(network, foreign));
  return std::unique_ptr<LocalWorkers>(std::move(workers));
}

}  // namespace motley
