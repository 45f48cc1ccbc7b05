// SPDX-License-Identifier: Apache-2.0
// The WorkerNode: finds its server, joins, and hands what arrives to the parts that deal with it.
// Loop thread only.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "runtime/alive.h"
#include "runtime/links/heartbeat.h"
#include "runtime/worker/executor.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"
#include "transport/wire/control.h"

namespace motley {

class WorkerLife final : public WorkerNode, private Receiver {
 public:
  WorkerLife(Env env, const WorkerOptions& options);
  ~WorkerLife() override;

  void Start(Finished finished) override;
  void Leave() override;
  void SetAnswerFilter(AnswerFilter filter) override;

 private:
  enum class State { kConnecting, kJoining, kWorking, kLeaving, kFinished };

  // Connecting and joining.
  void Connect();
  void OnConnected(PeerId peer) override;
  void OnLost(PeerId peer, const Status& why) override;
  void RetryOrGiveUp(const Status& why);
  void AwaitAccept();
  void OnWorkLost(const Status& why);  // The server is lost while this worker has work.
  void DropWork();
  Time Deadline() const { return options_.forever ? kNever : since_ + options_.wait; }
  std::string HowLong() const;          // It tries to join.
  void NextServer(const Status& why);   // With `forever`: this one sent it away.
  void TellWaiting(const Status& why);  // Once, until it has joined.
  void OnAccept(const wire::AcceptT& accept);
  void Tell(const std::string& text) const;
  Status SetUp(const wire::AcceptT& accept);  // What the job is worked on with.
  void Measure();                             // Its speed, for a while.
  void OnCalibrated(const Result<double>& samples_per_second);
  void OnDeviceLost(const Device& device, const Status& why);

  // What arrives.
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  Result<std::span<std::byte>> BeginBulk(const Header& header);
  Status FinishBulk(const Header& header);
  void OnControl();  // What control_ holds.
  void OnOther(const wire::ControlT& control);
  void Answer(const wire::ProbeT& probe);
  void OnPlace(const wire::PlaceT& place);
  void OnOrder(const wire::OrderT& order);
  void CountStep(StepId step);  // It has work in this one.

  // The end.
  void OnLeave(const wire::LeaveT& leave);
  void Fail(Status status);  // Tells the server, then ends.
  void HasLeft();            // The server has heard it, or had the time to.
  void SayLeave(const Status& status, const std::string& reason);
  void Finish(Status status);  // Ends.

  Header OwnHeader() const;
  void SetTimer(Duration delay, Task task);

  Env env_;
  WorkerOptions options_;
  State state_ = State::kConnecting;
  Finished finished_;
  AnswerFilter filter_;
  Time since_{};             // It looks for its server.
  std::string told_;         // Why it has no server yet, as the user was told last.
  bool worked_ = false;      // It had joined one before.
  bool declines_ = false;    // It leaves this job, and waits for the next.
  Incarnation incarnation_;  // The one that this attempt shows.
  Random random_;            // Draws further incarnations, and when they begin.
  Duration retry_delay_;
  uint32_t steps_ = 0;  // Steps in which it had work since it joined,
  StepId step_ = 0;     // and the last of them.
  PeerId peer_ = 0;     // 0: none.
  TimerId timer_ = 0;
  Bytes control_;       // The control message that is arriving.
  wire::OrderT order_;  // The last one.
  Status last_error_;   // The last one that the server reported.
  uint32_t job_ = 0;
  // Made when the server accepts.
  std::shared_ptr<Workshop> shop_;
  std::unique_ptr<ParameterInbox> parameters_;
  std::unique_ptr<PartitionInbox> partitions_;
  std::unique_ptr<Executor> executor_;
  std::shared_ptr<std::atomic<bool>> measured_;  // Its speed, or that took too long. Null: neither.
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
