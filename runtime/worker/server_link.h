// SPDX-License-Identifier: Apache-2.0
// The WorkerNode: a worker's link to its server. It finds the server, joins it, joins it again when
// the connection is lost, and says goodbye. While the server has work for it, messages go to the
// WorkerSession. Loop thread only.
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "runtime/alive.h"
#include "runtime/links/heartbeat.h"
#include "runtime/worker/worker_node.h"
#include "runtime/worker/worker_session.h"
#include "transport/wire/control.h"

namespace motley {

class ServerLink final : public WorkerNode, private Receiver {
 public:
  ServerLink(Env env, const WorkerOptions& options);
  ~ServerLink() override;

  void Start(Finished finished) override;
  void Leave() override;
  void SetAnswerFilter(AnswerFilter filter) override;

 private:
  enum class State { kConnecting, kJoining, kWorking, kLeaving, kFinished };

  // Connecting and joining.
  void Connect();
  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  void OnLost(PeerId peer, const Status& why) override;
  void RetryOrGiveUp(const Status& why);
  void AwaitAccept();
  void OnAccept(const wire::AcceptT& accept);
  void OnWorkLost(const Status& why);  // The server was lost while this worker had work.
  void NextServer(const Status& why);  // With `forever`, when this server sent it away.
  Time Deadline() const { return options().forever ? kNever : since_ + options().wait; }
  std::string HowLong() const;          // How long the worker tries to join, as text.
  void TellWaiting(const Status& why);  // Notifies the user once until the worker has joined.
  void Tell(const std::string& text) const;
  // The receiver of a connection with another worker; may be null.
  Receiver* OthersOf(PeerId peer) { return session_ ? session_->OthersOf(peer) : nullptr; }

  // Messages that arrive.
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnControl();

  // The end.
  void OnLeave(const wire::LeaveT& leave);
  void Fail(const Status& status);  // Reports to the server, then ends.
  void HasLeft();                   // The server has received the goodbye, or had the time to.
  void SayLeave(const Status& status, const std::string& reason);
  void Finish(Status status);  // Ends the node.

  const WorkerOptions& options() const { return self_.options; }
  void SetTimer(Duration delay, Task task);
  void StopTimer();

  WorkerSession::Node self_;
  State state_ = State::kConnecting;
  Finished finished_;
  Time since_{};           // When it began to look for its server.
  std::string told_;       // The last reason that the user was given for having no server yet.
  bool worked_ = false;    // The worker had joined a server before.
  bool declines_ = false;  // The worker leaves this job and waits for the next.
  Header header_;          // The job, 0 if none, and the incarnation of this attempt.
  Random random_;          // Draws further incarnations and the delays of attempts.
  Duration retry_delay_;
  PeerId peer_ = 0;  // 0: none.
  TimerId timer_ = 0;
  Bytes control_;                           // The control message that is arriving.
  Status last_error_;                       // The last error that the server reported.
  std::unique_ptr<WorkerSession> session_;  // Null: no server has accepted this worker.
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
