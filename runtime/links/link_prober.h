// SPDX-License-Identifier: Apache-2.0
// Measures the link to a server over the transport that jobs use. Loop thread only.
//
// The first phase sends probes alone. Half of their median round trip is the latency of the idle
// link, because there are no synchronized clocks that could separate its two directions. The
// second phase sends slices of a vector both ways at once, as training does, and probes between
// them. A bandwidth is what arrived at the far end, by the clock there. These probes also wait in
// queues behind slices. A simulator counts that wait by itself, so the link's latency is the idle
// one, and the loaded latency is only reported.
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
  LinkProfile link;                   // Latency and bandwidths as above, for a cluster's file.
  double idle_latency_seconds = 0;    // Half of the median round trip with no slices under way.
  double loaded_latency_seconds = 0;  // Half of the median round trip with slices both ways.
};

struct LinkProbeOptions {
  std::string server;
  std::string token;
  uint32_t streams = 1;  // Connections at once, at most kMostProbes. Their bandwidths are added up.
  double seconds = 1;    // Approximate time; longer if the link is so slow that too little arrived.
  Duration patience = std::chrono::seconds(10);  // Timeout for a connection, and for each answer.
};

class LinkProber final : private Receiver {
 public:
  using Done = std::function<void(const Result<LinkProbe>&)>;

  // All are borrowed. `transport` has no receiver yet, and serves nothing else.
  LinkProber(Loop& loop, Transport& transport, LinkProbeOptions options);
  ~LinkProber() override;

  // `done` runs once, as a posted task. kUnavailable: nobody is there, or an answer timed out.
  // kPermission: the token is not the server's.
  void Start(Done done);

 private:
  enum class Phase { kJoining, kIdle, kWarm, kLoaded, kOver };
  struct Stream {  // One connection.
    PeerId peer = 0;
    bool joined = false;
    std::unique_ptr<ProbeStream> slices;
    Bytes sink;
    Bytes control;
    uint64_t probes = 0;  // Probes sent so far; one is under way at a time.
    Time sent{};          // When the probe under way was sent; Time() if there is none.
    // The reports in the first and the last answer of this phase.
    uint64_t answers = 0;
    uint64_t first_received = 0, first_received_ns = 0;
    uint64_t last_received = 0, last_received_ns = 0;
    // When the first and the last slice of this phase arrived.
    Time first_slice{}, last_slice{};
    uint64_t slices_came = 0;
  };

  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
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
  Time began_{};  // When the phase began.
  Time heard_{};  // When the last message of any stream arrived.
  TimerId timer_ = 0;
  std::shared_ptr<const Bytes> slice_;
  std::vector<Stream> streams_;
  std::vector<double> round_trips_;  // Round trips of this phase.
  LinkProbe result_;
};

}  // namespace motley
