// SPDX-License-Identifier: Apache-2.0
// Notices that a machine, a link or a whole process has fallen silent, long before TCP does. On
// each watched connection it sends a message every second, unless the node sent another one, and
// measures how long nothing has arrived. Both ends run a heartbeat. Loop thread only.
//
// Silence is counted in turns of this node's own timer. A node that was stopped or late itself
// therefore does not take its peers for silent. A long message that is still arriving ends a
// silence (Transport::TrafficOf).
//
// Example: a cable is pulled. After 3 s the peer counts as silent: others may do its work and take
// its place. The connection stays for a minute, because a paused process or a short outage comes
// back with everything that it holds. Then it is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/loop/loop.h"
#include "transport/transport.h"

namespace motley {

inline constexpr Duration kBeatEvery = std::chrono::seconds(1);
inline constexpr Duration kSilentAfter = std::chrono::seconds(3);
inline constexpr Duration kLostAfter = std::chrono::seconds(60);

class Heartbeat {
 public:
  struct Hooks {
    // Runs once when the peer was silent for kSilentAfter, and again only after it was heard.
    std::function<void(PeerId)> silent;
    // The peer has sent something again after this much silence.
    std::function<void(PeerId, Duration)> back;
    // The peer was silent for kLostAfter. It is forgotten already.
    std::function<void(PeerId)> lost;
  };

  // `loop` and `transport` are borrowed.
  Heartbeat(Loop& loop, Transport& transport, Hooks hooks);
  ~Heartbeat();

  // `header` is sent with each beat. The peer must watch this end as well.
  void Watch(PeerId peer, const Header& header);
  void Forget(PeerId peer);
  bool Silent(PeerId peer) const;

 private:
  struct Link {
    Header header;
    uint64_t received = 0;  // Bytes received until the last look.
    uint64_t sent = 0;      // Bytes sent until the last beat.
    Duration silence{};
    bool told = false;
  };

  void Tick();
  void Look(PeerId peer, Link& link, Duration passed);

  Loop& loop_;
  Transport& transport_;
  Hooks hooks_;
  std::map<PeerId, Link> links_;
  TimerId timer_ = 0;  // 0: no peer is watched.
  Time last_tick_{};
  uint32_t turn_ = 0;
  bool beats_ = false;  // This turn sends beats. Every turn looks for silence, four times as often.
};

}  // namespace motley
