// SPDX-License-Identifier: Apache-2.0
// The WorkerNode: finds its server, joins, and passes what arrives on to its parts. Loop thread
// only.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "runtime/alive.h"
#include "runtime/links/heartbeat.h"
#include "runtime/shard/shard_host.h"
#include "runtime/worker/executor.h"
#include "runtime/worker/shard_links.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"
#include "transport/wire/control.h"

namespace motley {

// The message to the user about a device that failed and is given up.
Status GivenUp(const DeviceInfo& device, const char* what, const Status& why);

class WorkerLife final : public WorkerNode, private Receiver {
 public:
  WorkerLife(Env env, const WorkerOptions& options);
  ~WorkerLife() override;

  void Start(Finished finished) override;
  void Leave() override;
  void SetAnswerFilter(AnswerFilter filter) override;

 private:
  enum class State { kConnecting, kJoining, kWorking, kLeaving, kFinished };

  // All that the worker knows of a job. It is made when the server accepts the worker, and gone
  // when the worker connects again.
  struct Session {
    Session(Loop& loop, Transport& transport) : load(loop, transport) {}
    ~Session() { *measured = true; }

    uint32_t job = 0;
    uint32_t places = 0;  // Workers in the job.
    std::shared_ptr<Workshop> shop;
    std::unique_ptr<ParameterInbox> parameters;
    std::unique_ptr<PartitionInbox> partitions;
    LinkLoad load;
    // Null unless workers own shards.
    std::unique_ptr<ShardLinks> links;
    std::unique_ptr<ShardHost> host;
    std::unique_ptr<Executor> executor;
    uint32_t steps = 0;  // Steps with work since it joined.
    StepId step = 0;     // The last step with work.
    // Set when the speed is known, measuring timed out, or nobody needs it.
    std::shared_ptr<std::atomic<bool>> measured = std::make_shared<std::atomic<bool>>(false);
  };

  // Connecting and joining.
  void Connect();
  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  void OnLost(PeerId peer, const Status& why) override;
  void RetryOrGiveUp(const Status& why);
  void AwaitAccept();
  void OnWorkLost(const Status& why);  // The server was lost while this worker had work.
  void DropWork();
  Time Deadline() const { return options_.forever ? kNever : since_ + options_.wait; }
  std::string HowLong() const;          // How long the worker tries to join, as text.
  void NextServer(const Status& why);   // With `forever`, when this server sent it away.
  void TellWaiting(const Status& why);  // Notifies the user once until the worker has joined.
  void OnAccept(const wire::AcceptT& accept);
  void Tell(const std::string& text) const;
  Status SetUp(const wire::AcceptT& accept);  // Makes the parts that work on the job.
  // Makes the parts for shards that workers own.
  Status SetUpShards(const wire::AcceptT& accept, const Route& route, Session& session);
  Status Listen();
  Receiver* OthersOf(
      PeerId peer);  // The receiver of a connection with another worker; may be null.
  void Measure();    // Measures the worker's speed, for a limited time.
  void OnCalibrated(const Result<double>& samples_per_second);
  void OnDeviceLost(const Device& device, const Status& why);

  // Messages that arrive.
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  Result<std::span<std::byte>> BeginBulk(const Header& header);
  Status FinishBulk(const Header& header);
  void OnControl();
  void OnOther(const wire::ControlT& control);
  void OnShards(const wire::ControlT& control);
  void Answer(const wire::ProbeT& probe);
  void OnPlace(const wire::PlaceT& place);
  void OnLinkTest(const wire::LinkTestT& test);
  void OnOrder(const wire::OrderT& order);
  void CountStep(StepId step);  // The worker has work in this step.

  // The end.
  void OnLeave(const wire::LeaveT& leave);
  void Fail(Status status);  // Reports to the server, then ends.
  void HasLeft();            // The server has received the goodbye, or had the time to.
  void SayLeave(const Status& status, const std::string& reason);
  void Finish(Status status);  // Ends the node.

  Header OwnHeader() const;
  void SetTimer(Duration delay, Task task);

  Env env_;
  WorkerOptions options_;
  State state_ = State::kConnecting;
  Finished finished_;
  AnswerFilter filter_;
  Time since_{};             // When it began to look for its server.
  std::string told_;         // The last reason that the user was given for having no server yet.
  bool worked_ = false;      // The worker had joined a server before.
  bool declines_ = false;    // The worker leaves this job and waits for the next.
  Incarnation incarnation_;  // The incarnation of this attempt.
  Random random_;            // Draws further incarnations and the delays of attempts.
  Duration retry_delay_;
  PeerId peer_ = 0;  // 0: none.
  TimerId timer_ = 0;
  std::string address_;               // Where other workers may connect; empty: nowhere yet.
  Bytes control_;                     // The control message that is arriving.
  wire::OrderT order_;                // The last order.
  Status last_error_;                 // The last error that the server reported.
  std::unique_ptr<Session> session_;  // Null: no server has accepted this worker.
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
