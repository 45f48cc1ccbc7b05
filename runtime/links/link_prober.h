// SPDX-License-Identifier: Apache-2.0
// Measures the way to a server over the transport that jobs use. Loop thread only.
//
// First probes alone, to and fro: half of their median round trip is the latency of a way that is
// idle (clocks at both ends that would tell the two ways apart are not there). Then slices of a
// vector both ways at once, as training sends them, and probes between them. Bandwidths are what
// arrived at the far end, by its clock. A probe then waits for the slices that are in front of it,
// in queues on the way, too; whoever simulates the link counts that wait by itself, so the latency
// under load is told, and the idle one is the link's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "profiles/profile.h"
#include "runtime/links/probe_desk.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

struct LinkProbe {
  LinkProfile link;                   // Latency and bandwidths as above: for a cluster's file.
  double idle_latency_seconds = 0;    // Half of a median round trip, nothing else under way,
  double loaded_latency_seconds = 0;  // and with slices both ways.
};

struct LinkProbeOptions {
  std::string server;
  std::string token;
  uint32_t streams = 1;  // Connections at once, at most kMostProbes; their bandwidths are added up.
  double seconds = 1;    // About; more where the link is so slow that too little arrived.
  Duration patience = std::chrono::seconds(10);  // For a connection, and for each answer.
};

class LinkProber final : private Receiver {
 public:
  using Done = std::function<void(const Result<LinkProbe>&)>;

  // All are borrowed; `transport` has no receiver yet, and serves nothing else.
  LinkProber(Loop& loop, Transport& transport, LinkProbeOptions options);
  ~LinkProber() override;

  // `done` runs once, posted. kUnavailable: nobody there, or no answer in time; kPermission: the
  // token is not the server's.
  void Start(Done done);

 private:
  enum class Phase { kJoining, kIdle, kWarm, kLoaded, kOver };
  struct Stream {  // One connection.
    PeerId peer = 0;
    bool joined = false;
    std::unique_ptr<ProbeStream> slices;
    Bytes sink;
    Bytes control;
    uint64_t probes = 0;  // Sent so far; one is under way at a time.
    Time sent{};          // The one under way; Time(): none is.
    // What answers of this phase told first and last.
    uint64_t answers = 0;
    uint64_t first_received = 0, first_received_ns = 0;
    uint64_t last_received = 0, last_received_ns = 0;
    // Slices that came in this phase.
    Time first_slice{}, last_slice{};
    uint64_t slices_came = 0;
  };

  void OnConnected(PeerId peer) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;

  Stream& Of(PeerId peer);
  void OnControl(Stream& stream, const wire::ControlT& control);
  void OnAnswer(Stream& stream, const wire::ProbeT& answer);
  void Begin(Phase phase);
  void Tick();
  void SendProbe(Stream& stream);
  bool Enough() const;
  void Finish();
  void End(Result<LinkProbe> result);

  Loop& loop_;
  Transport& transport_;
  const LinkProbeOptions options_;
  Done done_;
  Phase phase_ = Phase::kJoining;
  Time began_{};  // The phase.
  Time heard_{};  // The last word of anybody.
  TimerId timer_ = 0;
  std::shared_ptr<const Bytes> slice_;
  std::vector<Stream> streams_;
  std::vector<double> round_trips_;  // Of this phase.
  LinkProbe result_;
};

}  // namespace motley
