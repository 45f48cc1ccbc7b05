// SPDX-License-Identifier: Apache-2.0
// Transports of one simulated network with latency, bandwidth, jitter, links that carry nothing for
// a while, and processes that die. Messages arrive in order per peer, but control overtakes bulk
// that has not entered the socket buffer. A stopped receiver lets that buffer fill up, and then the
// sender has to wait.
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

// The buffers of both ends' kernels for one direction of a connection. A message may enter as long
// as they hold fewer bytes.
inline constexpr size_t kSocketBufferBytes = 4u << 20;

struct SimLinkWay {
  Duration latency{};
  double bytes_per_second = 0;  // 0: unlimited.
};

struct SimLinkOptions {
  Duration latency{};           // One way.
  double bytes_per_second = 0;  // Each direction; 0: unlimited.
  Duration jitter{};            // Mean of an exponential extra delay per message.
  double replay = 0;            // Chance that a bulk message comes again with an old incarnation.
  size_t socket_buffer_bytes = kSocketBufferBytes;
  ModelledVectors vectors;
  // The way to the end that connected, if it differs.
  std::optional<SimLinkWay> back = std::nullopt;
  // Rate of a listening machine's port, each way, for all of its connections together. If
  // `port_out_bytes_per_second` is set, this rate only limits receiving. 0: unlimited.
  double port_bytes_per_second = 0;
  std::optional<double> port_out_bytes_per_second = std::nullopt;

  // Called for every frame that arrived, with the arrivals of its first and last byte. `side` is
  // the sending end: 0 for the end that connected. May be null.
  std::function<void(const Header& header, int side, Time first, Time last)> on_frame = nullptr;

  bool HasPort() const { return port_bytes_per_second > 0 || port_out_bytes_per_second; }
  SimLinkWay Way(int side) const {
    return side == 1 && back ? *back : SimLinkWay{latency, bytes_per_second};
  }
};

class SimTransport;
class SimConnection;

// The network in which simulated transports find each other. It must outlive them. A connection has
// the link of the end that connected. If the listening end has no port of its own (HasPort), it has
// a link as well. Then the links of both ends carry what passes, and the longer latency counts.
// What a process sends to itself takes no time.
class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // `loop` must outlive the transport.
  std::unique_ptr<SimTransport> MakeTransport(NodeLoop& loop, const SimLinkOptions& link = {});

 private:
  friend class SimTransport;
  friend class SimConnection;

  uint64_t seed_;
  uint64_t next_link_ = 0;
  uint32_t next_port_ = 1;
  std::map<std::string, SimTransport*> listeners_;
  // Closed connections stay in the list: few are made, and their callbacks may be running.
  std::vector<std::unique_ptr<SimConnection>> connections_;
};

// The port of a machine. Vectors of all connections pass it one slice at a time, in order of
// arrival. Control messages pass in between.
struct SimPort {
  // One direction of the port; rate 0 is unlimited.
  struct Lane {
    double bytes_per_second = 0;
    Time free{};

    // Returns the time at which a frame that arrives at `now` has passed.
    Time Pass(Time now, size_t bytes) {
      if (bytes_per_second == 0) return now;
      free = std::max(free, now) + FromSeconds(static_cast<double>(bytes) / bytes_per_second);
      return free;
    }
  };
  Lane in, out;

  bool limited() const { return in.bytes_per_second > 0 || out.bytes_per_second > 0; }
};

// The cable of one end; its connections share it.
struct SimLink {
  SimLink(const SimLinkOptions& link, Random draws, uint64_t number);
  const uint64_t index;  // Numbers the links of the network.
  SimLinkOptions options;
  Time clogged_until{};  // Nothing arrives before this time.
  Random random;
  // Another end with a link connected to this one, or this one to it. Then the vectors of all its
  // connections pass `port`, which is as wide as the link. The port of a server is its own.
  bool shared = false;
  SimPort port;
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
  Traffic TrafficOf(PeerId peer) const override;
  void Disconnect(PeerId peer) override;
  void Close() override;

  // Nothing passes this end's link in either direction before `until`; frames under way wait.
  void Clog(Time until);
  // Breaks all connections that this end made; see SimConnection::Break.
  void Cut(bool tell_listener);
  // Sets the rate of this end's link for what it sends from now on; 0: unlimited.
  void SetRate(double bytes_per_second);
  // The process dies: no callback runs any more, and its peers lose it. Frames under way still
  // arrive, unless `lose_in_flight` (the machine is gone).
  void Die(bool lose_in_flight);
  // Makes one slice of the answers for this step arrive with other values of the same norm. Only
  // answers sent from now on count. `draw` decides which slice, and how.
  void GarbleStep(StepId step, uint64_t draw) { garbler_.Add(step, draw); }
  uint64_t garbled() const { return garbler_.garbled(); }
  // Whole blocks of data that the receiver has taken.
  uint64_t blocks_taken() const { return blocks_taken_; }
  // Makes one more draw of this end's link, to compare two runs.
  uint64_t LastDraw() { return link_->random.Next64(); }

  size_t open_sends() const { return open_sends_; }              // Sends whose Done has not run.
  size_t max_queued_bytes() const { return max_queued_bytes_; }  // The most for any one peer.

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
  Peer* Find(PeerId peer);  // Null if there is no connection.
  const Peer* Find(PeerId peer) const { return const_cast<SimTransport*>(this)->Find(peer); }
  Peer TakePeer(PeerId peer) { return std::exchange(peers_[peer - 1], Peer()); }
  PeerId AddPeer(SimConnection* connection, int side);
  // Runs `done` soon, in Close at the latest.
  void Finish(Done done, Status status);
  void RunFinished();

  SimNetwork& network_;
  NodeLoop& loop_;
  std::shared_ptr<SimLink> link_;
  Garbler garbler_;
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  PeerId next_peer_ = 1;
  SendId next_send_ = 1;
  std::vector<Peer> peers_;  // By id - 1; without a connection if it is lost.
  std::vector<Finished> finished_;
  TimerId finish_timer_ = 0;
  std::map<PeerId, TimerId> refused_;  // Connections without a listener; the timer calls OnLost.
  size_t open_sends_ = 0;
  size_t max_queued_bytes_ = 0;
  uint64_t blocks_taken_ = 0;
};

}  // namespace motley
