// SPDX-License-Identifier: Apache-2.0
// Measures the links to workers while a job trains. It sends a worker a probe now and then, ahead
// of outgoing parameters or behind them, and reports the round trip. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class LinkWatch {
 public:
  // The round trip to a worker, behind this many bytes of parameters (0: ahead of them).
  using Tell = std::function<void(WorkerId, uint64_t bytes, Duration time)>;

  LinkWatch(Loop& loop, Transport& transport, uint32_t workers, Tell tell);

  // The server sent something to the worker, `bytes` of it parameters. At most one probe per worker
  // is under way, and at most one is sent every 20 ms.
  void Ask(WorkerId worker, PeerId peer, Header header, uint64_t bytes);
  void OnAnswer(WorkerId worker, const wire::ProbeT& probe);
  void Forget(WorkerId worker);

 private:
  struct Seat {
    uint64_t id = 0;  // The id of the last probe.
    bool waits = false;
    bool behind = false;
    uint64_t bytes = 0;
    Time asked{};
  };
  Loop& loop_;
  Transport& transport_;
  Tell tell_;
  uint64_t next_id_ = 1;
  std::vector<Seat> seats_;
};

}  // namespace motley
