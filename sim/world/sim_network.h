// SPDX-License-Identifier: Apache-2.0
// Transports of one simulated network: latency, bandwidth, jitter, links that carry nothing for a
// while, and processes that die. In order per peer; control overtakes bulk that has not entered the
// socket buffer; a stopped receiver leaves bytes in that buffer until the sender has to wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/world/garbler.h"
#include "sim/world/modelled_vectors.h"
#include "sim/world/node_loop.h"
#include "transport/transport.h"

namespace motley {

// What the kernels of both ends hold of one direction of a connection: a message enters as long as
// there are fewer bytes in it.
inline constexpr size_t kSocketBufferBytes = 4u << 20;

struct SimLinkWay {
  Duration latency{};
  double bytes_per_second = 0;  // 0: unlimited.
};

struct SimLinkOptions {
  Duration latency{};           // One way.
  double bytes_per_second = 0;  // Each direction; 0: unlimited.
  Duration jitter{};            // Mean of an exponential extra delay per message.
  double replay = 0;            // Chance that a bulk message has a twin of an older life.
  size_t socket_buffer_bytes = kSocketBufferBytes;
  ModelledVectors vectors;
  std::optional<SimLinkWay> back = std::nullopt;  // To the end that connected, if it is otherwise.
  // Of a listening end's machine: what all of its connections share, each way, or only what it
  // receives where `port_out_bytes_per_second` is there; 0: unlimited.
  double port_bytes_per_second = 0;
  std::optional<double> port_out_bytes_per_second = std::nullopt;

  // Hears of every frame that has come, and when its first and last byte did. Side 0: it was sent
  // by the end that connected. May be null.
  std::function<void(const Header& header, int side, Time first, Time last)> on_frame = nullptr;

  SimLinkWay Way(int side) const {
    return side == 1 && back ? *back : SimLinkWay{latency, bytes_per_second};
  }
};

class SimTransport;
class SimConnection;

// Where simulated transports find each other; outlives them. A connection has the link of the end
// that connected.
class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // `loop` outlives the transport.
  std::unique_ptr<SimTransport> MakeTransport(NodeLoop& loop, const SimLinkOptions& link = {});

 private:
  friend class SimTransport;

  uint64_t seed_;
  uint64_t next_link_ = 0;
  uint32_t next_port_ = 1;
  std::map<std::string, SimTransport*> listeners_;
  // Closed ones too: callbacks of theirs may be running, and few are made.
  std::vector<std::unique_ptr<SimConnection>> connections_;
};

// Where a listening end's machine is plugged in: vectors of all connections pass it one slice after
// the other, in the order in which they come. Control messages pass between them.
struct SimPort {
  // One way; 0: unlimited.
  struct Lane {
    double bytes_per_second = 0;
    Time free{};

    // When a frame that comes at `now` is through.
    Time Pass(Time now, size_t bytes) {
      if (bytes_per_second == 0) return now;
      free = std::max(free, now) + FromSeconds(static_cast<double>(bytes) / bytes_per_second);
      return free;
    }
  };
  Lane in, out;
};

// One end's cable, shared by its connections.
struct SimLink {
  SimLink(const SimLinkOptions& link, Random draws) : options(link), random(draws) {}
  SimLinkOptions options;
  Time clogged_until{};  // Nothing arrives before.
  Random random;
};

class SimTransport final : public Transport {
 public:
  SimTransport(SimNetwork& network, NodeLoop& loop, std::shared_ptr<SimLink> link);
  ~SimTransport() override;

  void SetReceiver(Receiver* receiver) override { receiver_ = receiver; }
  Result<std::string> Listen(const std::string& address) override;
  void StopListening() override;
  PeerId Connect(const std::string& address) override;
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override;
  void Cancel(SendId id) override;
  size_t QueuedBytes(PeerId peer) const override;
  std::string HostOf(PeerId peer) const override { return Find(peer) ? "a simulated machine" : ""; }
  Traffic TrafficOf(PeerId peer) const override;
  void Disconnect(PeerId peer) override;
  void Close() override;

  // Nothing passes this end's link, either way, until then; what is under way waits.
  void Clog(Time until);
  // Ends all connections that this end made; see SimConnection::Break.
  void Cut(bool tell_listener);
  // How fast what this end sends passes its link, from now on; 0: unlimited.
  void SetRate(double bytes_per_second);
  // The process is gone: no callback runs any more, and peers lose it. What left it before still
  // arrives, unless `lose_in_flight` (the machine is gone).
  void Die(bool lose_in_flight);
  // One slice of the answers for this step that are sent from now on arrives with other values of
  // the same norm; which and how is `draw`'s to say.
  void GarbleStep(StepId step, uint64_t draw) { garbler_.Add(step, draw); }
  uint64_t garbled() const { return garbler_.garbled(); }
  // Blocks of data that the receiver has taken, whole.
  uint64_t blocks_taken() const { return blocks_taken_; }
  // A fresh draw of this end's link, to compare two runs.
  uint64_t LastDraw() { return link_->random.Next64(); }

  size_t open_sends() const { return open_sends_; }              // Sends whose Done has not run.
  size_t max_queued_bytes() const { return max_queued_bytes_; }  // Of one peer, ever.

 private:
  friend class SimConnection;
  struct Finished {
    Done done;
    Status status;
  };
  struct Peer {
    SimConnection* connection = nullptr;
    int side = 0;
  };
  Peer* Find(PeerId peer);  // Null: no connection.
  const Peer* Find(PeerId peer) const { return const_cast<SimTransport*>(this)->Find(peer); }
  Peer TakePeer(PeerId peer) { return std::exchange(peers_[peer - 1], Peer()); }
  PeerId AddPeer(SimConnection* connection, int side);
  // Runs `done` soon, or at the latest in Close.
  void Finish(Done done, Status status);
  void RunFinished();

  SimNetwork& network_;
  NodeLoop& loop_;
  std::shared_ptr<SimLink> link_;
  Garbler garbler_;
  std::shared_ptr<SimPort> port_;  // Null: unlimited.
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  PeerId next_peer_ = 1;
  SendId next_send_ = 1;
  std::vector<Peer> peers_;  // By id, from 1 on; no connection: none, or not any more.
  std::vector<Finished> finished_;
  TimerId finish_timer_ = 0;
  std::map<PeerId, TimerId> refused_;  // Connections to nobody, on their way to OnLost.
  size_t open_sends_ = 0;
  size_t max_queued_bytes_ = 0;
  uint64_t blocks_taken_ = 0;
};

}  // namespace motley
