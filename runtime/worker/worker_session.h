// SPDX-License-Identifier: Apache-2.0
// A worker's part in one job: its data, parameters, orders and shards. It is made when the server
// accepts the worker, and gone when the worker connects again. A shard server has shards alone.
// Loop thread only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/alive.h"
#include "runtime/shard/shard_host.h"
#include "runtime/worker/executor.h"
#include "runtime/worker/shard_links.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"
#include "transport/wire/control.h"

namespace motley {

class WorkerSession {
 public:
  // What a worker keeps from job to job.
  struct Node {
    Env env;
    WorkerOptions options;
    AnswerFilter filter = nullptr;
    std::string address = "";  // Where other workers may connect; empty: nowhere yet.
  };
  // `peer` is the server, `header` has the job and the worker's incarnation. `failed` runs when the
  // worker cannot go on in this job. `node` is borrowed. Errors are those of MakeWorkshop.
  static Result<std::unique_ptr<WorkerSession>> Create(Node& node, const wire::AcceptT& accept,
                                                       PeerId peer, const Header& header,
                                                       std::function<void(const Status&)> failed);
  ~WorkerSession();

  // Measures the worker's speed for a limited time, then reports it. A shard server reports at once
  // that it is ready.
  void Measure();
  // Stops for good: takes no messages any more, and computes and reports nothing more.
  void Stop();
  void SetAnswerFilter(const AnswerFilter& filter) {
    if (executor_ != nullptr) executor_->SetAnswerFilter(filter);
  }
  uint32_t steps() const { return steps_; }  // Steps with work so far.
  // The receiver of a connection with another worker; null: there should be none.
  Receiver* OthersOf(PeerId peer);

  // Messages of the server.
  std::span<std::byte> BeginBulk(const Header& header);
  void FinishBulk(const Header& header);
  void OnOrder(const wire::Order& order);
  void OnControl(const wire::ControlT& control);

 private:
  WorkerSession(Node& node, PeerId peer, const Header& header,
                std::function<void(const Status&)> failed);
  Status SetUp(const wire::AcceptT& accept);
  Status SetUpHolder(const wire::AcceptT& accept);
  Status SetUpShards(const wire::AcceptT& accept, const Route& route);
  Status Listen();
  void OnCalibrated(const Result<double>& samples_per_second);
  void Advance();
  void OnDeviceLost(const Device& device, const Status& why);
  Result<std::span<std::byte>> RoomFor(const Header& header);
  Status Finish(const Header& header);
  void Answer(const wire::ProbeT& probe);
  bool OnWork(const wire::ControlT& control);
  Status OnShards(const wire::ControlT& control);
  Status OnPlace(const wire::PlaceT& place);
  void Check(const Status& status);  // Fails unless the status is fine.

  Node& node_;
  PeerId peer_;
  Header header_;
  std::function<void(const Status&)> failed_;
  std::shared_ptr<Workshop> shop_;
  std::unique_ptr<ParameterInbox> parameters_;
  std::unique_ptr<PartitionInbox> partitions_;
  std::unique_ptr<ShardLinks> links_;  // Null unless workers own shards.
  std::unique_ptr<ShardHost> host_;
  std::unique_ptr<Executor> executor_;  // Null in a shard server, like shop_ and partitions_.
  wire::OrderT order_;                  // The last order.
  uint32_t steps_ = 0;
  // Set when the speed is known, measuring timed out, or nobody needs it.
  std::shared_ptr<std::atomic<bool>> measured_ = std::make_shared<std::atomic<bool>>(false);
  TimerId measuring_ = 0;
  bool stopped_ = false;
  Alive alive_;
};

}  // namespace motley
