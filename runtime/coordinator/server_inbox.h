// SPDX-License-Identifier: Apache-2.0
// Receives the messages of all peers of a server, checks them, and hands on what counts: joins to
// ServerPeers, slices and ends of answers to Answers, what workers say to the scheduler. A peer
// that sends what it may not is sent away, or receives a complaint. Loop thread only.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/coordinator/server_context.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/links/probe_desk.h"
#include "runtime/notice_limit.h"
#include "runtime/shard/answers.h"
#include "transport/transport.h"

namespace motley {

class ServerInbox final : public Receiver {
 public:
  explicit ServerInbox(ServerContext& server);

  void OnConnected(PeerId peer, const PeerIdentity& identity) override {
    server_.peers.OnConnected(peer, identity);
  }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override { server_.peers.OnLost(peer, why); }
  void OnShortage(const Status& why) override;

  // The connection is gone, and nothing is written to its buffers any more.
  void Closed(PeerId peer);
  void Forget(WorkerId worker) { ends_[worker].clear(); }  // The worker is gone.
  // Takes ends of answers that waited for shards on other nodes, as far as they need not wait now.
  void TakeWaitingEnds();

 private:
  struct Incoming {  // The message that is arriving from a peer.
    Bytes control;
    Answers::Slice slice;
    uint32_t complaints = 0;  // Complaints sent to the peer so far.
  };

  // The worker's session, if the header names this job and the incarnation that is connected.
  bool Ours(const Session& session, const Header& header) const;
  Incoming& From(PeerId peer);
  std::span<std::byte> BeginControl(PeerId peer, const Header& header);
  std::span<std::byte> BeginSlice(PeerId peer, Session& session, const Header& header);
  std::span<std::byte> BeginProbe(PeerId peer, Session& session, const Header& header);
  void FinishSlice(PeerId peer, Session& session, const Header& header);
  void OnControl(PeerId peer, BytesView bytes);
  void OnGreeting(PeerId peer, const wire::ControlT& control);
  void OnProbeControl(PeerId peer, const Result<wire::ControlT>& control);
  bool OnFrequent(PeerId peer, WorkerId worker, const wire::Control& control);
  void OnWorkerControl(PeerId peer, WorkerId worker, const wire::ControlT& control);
  void OnAnswerFault(PeerId peer, const Status& fault, StepId step);
  void Complain(PeerId peer, const Status& why, StepId step);
  bool IsOfShards(WorkerId worker, const wire::ControlT& control, Status& fine);
  std::string AddressOf(WorkerId worker, const std::string& address) const;
  Status OnReady(WorkerId worker, const wire::ReadyT& ready);
  Status OnDataCame(WorkerId worker, const wire::DataCameT& report);
  Status OnProgress(WorkerId worker, const wire::ProgressT& progress);
  Status OnEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end);
  Status TakeEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end);

  ServerContext& server_;
  std::vector<std::deque<wire::AnswerEndT>> ends_;  // That wait, by worker.
  NoticeLimit reports_;  // Limits notices that repeat what workers report.
  ProbeDesk probes_;     // Peers that measure their links.
  std::unordered_map<PeerId, Incoming> incoming_;  // Used for lookups only.
  // The entry found last, and its peer: one message looks up the same peer several times.
  Incoming* last_incoming_ = nullptr;
  PeerId last_peer_ = 0;
};

}  // namespace motley
