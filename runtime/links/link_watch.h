// SPDX-License-Identifier: Apache-2.0
// Learns about the links to workers while a job trains: asks for a word now and then, ahead of the
// parameters that go out or behind them, and tells how long it took. Loop thread only.
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
  // To a worker and back, behind so many bytes of parameters (0: ahead of them).
  using Tell = std::function<void(WorkerId, uint64_t bytes, Duration time)>;

  LinkWatch(Loop& loop, Transport& transport, uint32_t workers, Tell tell);

  // Something went out to the worker, `bytes` of it parameters. At most one word is under way to
  // each, and not more than one every 20 ms.
  void Ask(WorkerId worker, PeerId peer, Header header, uint64_t bytes);
  void OnAnswer(WorkerId worker, const wire::ProbeT& probe);
  void Forget(WorkerId worker);

 private:
  struct Seat {
    uint64_t id = 0;  // Of the last word.
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
