// SPDX-License-Identifier: Apache-2.0
// Whole jobs in one process on virtual time: a server, workers on paced devices, and hand-written
// peers that may misbehave.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "data/dataset.h"
#include "devices/paced_device.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/worker/worker_node.h"
#include "tests/scheduler/notices.h"
#include "transport/inproc_transport.h"
#include "transport/wire/control.h"

namespace motley {

inline constexpr char kToken[] = "secret";

// A code's name without dashes, for names of tests.
inline std::string TestNameOf(std::string code) {
  std::replace(code.begin(), code.end(), '-', '_');
  return code;
}

// Records what happened, and lets a test act on it.
struct Watcher : JobObserver {
  void OnEvent(const JobEvent& event) override {
    if (on_event) on_event(event);
    Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
  }
  void On(const event::WorkerJoined& event) { joined.emplace_back(event.worker, event.name); }
  void On(const event::WorkerLost& event) { lost.emplace(event.worker, event.why); }
  void On(const event::StepOpened& event) {
    ++opened;
    if (on_step) on_step(event.step);
  }
  void On(const event::RowArrived& event) { ++rows_of[event.worker]; }
  void On(const event::RateSet& event) {
    if (on_update) on_update(event.step);
  }
  void On(const event::StepDecoded& event) {
    if (on_decoded) on_decoded(event);
  }
  void On(const event::StepApplied& event) {
    ++applied;
    staleness.push_back(event.staleness);
    if (!event.parameters.empty()) ++applied_here;
  }
  void On(const event::LinkMeasured&) { ++links_measured; }
  void On(const event::CommandGiven& event) {
    if (on_command) on_command(event.command);
  }
  void On(const event::VersionJudged& event) { judged.push_back(event.judged); }
  void On(const event::Noticed& event) {
    notices.push_back(event.notice);
    if (const auto* noticed = std::get_if<Notice>(&event.notice))
      scheduler_notices.push_back(*noticed);
  }
  void On(const event::AuditWarned& event) { warnings.push_back(event.warning); }

  std::function<void(const JobEvent&)> on_event;  // Any event, before all else.
  std::function<void(StepId)> on_step;
  std::function<void(StepId)> on_update;  // The update is about to be applied.
  std::function<void(const Command&)> on_command;
  std::function<void(const event::StepDecoded&)> on_decoded;
  std::vector<std::pair<WorkerId, std::string>> joined;
  std::map<WorkerId, Status> lost;
  std::map<WorkerId, int> rows_of;
  std::vector<JobNotice> notices;         // All notices.
  std::vector<Notice> scheduler_notices;  // Notices of the scheduler.
  std::vector<AuditWarning> warnings;
  std::vector<JudgedVersion> judged;
  std::vector<uint64_t> staleness;  // By update, in the order of application.
  int opened = 0;
  int applied = 0;
  int applied_here = 0;  // Versions that the server had.
  int links_measured = 0;
};

// A worker with its own transport and device.
struct WorkerBox {
  std::unique_ptr<Device> inner;
  std::unique_ptr<PacedDevice> device;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<WorkerNode> node;
  std::optional<Status> ended;
  std::vector<std::string> said;
};

class JobWorld {
 public:
  explicit JobWorld(JobOptions options, size_t samples = 600);

  // 600 samples, 7 features, 4 classes, softmax, batches of 100, 12 steps, slices of 6 floats.
  static JobOptions Options(uint32_t workers, const std::string& code);

  // Makes and starts the server. The test fails if this is impossible.
  void StartServer();
  WorkerBox& StartWorker(int32_t hint, double speed = 1, const std::string& token = kToken,
                         const std::string& name = "");
  // Starts a shard server.
  WorkerBox& StartShardServer(const std::string& token = kToken);
  void StartWorkers();  // Starts all workers that the options expect, with different speeds.
  // Simulates a process that dies: its connections end without a goodbye.
  void Kill(WorkerBox& worker);

  // Breaks the connections of all workers. Both ends are notified.
  void CutAll();

  // Runs until the server has finished. The test fails when that takes too long.
  const JobResult& Run();
  // Runs until `done`, or for ten virtual minutes; then returns false.
  bool RunUntil(const std::function<bool()>& done);

  // The parameters of the same job in a plain serial loop in double precision.
  std::vector<double> SerialParameters() const;
  // Runs to the end. Expects all steps to be done and exact (every one is audited), and each
  // parameter to be within `difference` of the serial loop's.
  void ExpectSerial(double difference);
  // The mean loss of `parameters` over the whole data set.
  double Loss(std::span<const float> parameters) const;

  JobOptions options;
  VirtualLoop loop;
  InprocNetwork network;
  Dataset data;
  const MemorySource source{data};
  const DataSource* job_source = &source;         // The data source of the job.
  std::shared_ptr<const ForeignTrainer> brought;  // The trainer of workers that start from now on.
  Duration worker_wait = WorkerOptions().wait;    // The timeout of these workers.
  bool worker_forever = false;
  bool worker_holds_only = false;
  // Wraps the transports of workers that start from now on; null: as they are.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap;
  Watcher watcher;
  Device* audit_device = nullptr;       // The server's; null: server_device.
  Device* evaluation_device = nullptr;  // The server's; null: server_device.
  Disk* disk = nullptr;                 // The server's disk for checkpoints.
  std::unique_ptr<Device> server_device;
  std::unique_ptr<Transport> server_transport;
  std::unique_ptr<ServerNode> server;
  std::vector<std::unique_ptr<WorkerBox>> workers;
  std::optional<JobResult> result;
};

// A peer that sends exactly what the test wants, and records what it receives.
class FakeWorker : private Receiver {
 public:
  FakeWorker(JobWorld& world, Incarnation incarnation);
  ~FakeWorker() override;

  template <typename Message>
  void Say(Message message, Priority priority = Priority::kBulk) {
    Header header = OwnHeader();
    Deliver(header, std::make_shared<Bytes>(EncodeControl(std::move(message))), priority);
  }
  void Join(int32_t hint = -1, const std::string& token = kToken);
  // Joins as an incarnation of this process. `beats`: it promises heartbeats (and sends none).
  void JoinAs(uint64_t node, bool beats = false);
  void Introduce(double samples_per_second = 1000);
  // Sends an answer of `length` floats that are all `value`, as one frame per slice of the job.
  void Answer(const wire::OrderT& order, size_t length, float value,
              const std::function<void(Header&)>& change = nullptr);
  void Finish(const wire::OrderT& order);
  Header OwnHeader() const;
  void Deliver(Header header, std::shared_ptr<Bytes> bytes, Priority priority);

  bool connected = false;
  std::optional<Status> lost;
  std::optional<wire::AcceptT> accept;
  std::vector<wire::OrderT> assigned;
  std::vector<wire::ErrorT> errors;
  std::optional<wire::LeaveT> leave;
  std::function<void(const wire::OrderT&)> on_order;
  std::function<void(const wire::ControlT&)> on_control;  // Any message.

 private:
  void OnConnected(PeerId, const PeerIdentity&) override { connected = true; }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override;
  void OnPayloadDone(PeerId, const Header& header, bool discarded) override;
  void OnLost(PeerId, const Status& why) override { lost = why; }

  std::unique_ptr<Transport> transport_;
  PeerId peer_;
  Incarnation incarnation_;
  Bytes control_;
};

// The job ended well, with the parameters of a serial loop.
void ExpectSerialParameters(const JobWorld& world, const JobResult& end);

}  // namespace motley
