// SPDX-License-Identifier: Apache-2.0
// Measures the link to a worker while a job trains. It sends the worker a probe now and then, ahead
// of outgoing parameters or behind them, and reports the round trip. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class LinkWatch {
 public:
  // The round trip behind this many bytes of parameters (0: ahead of them).
  using Tell = std::function<void(uint64_t bytes, Duration time)>;

  // `header` has the job and the incarnation.
  LinkWatch(Loop& loop, Transport& transport, PeerId peer, const Header& header, Tell tell)
      : loop_(loop), transport_(transport), peer_(peer), header_(header), tell_(std::move(tell)) {}

  // The server sent something to the worker, `bytes` of it parameters. At most one probe is under
  // way, and at most one is sent every 20 ms.
  void Ask(uint64_t bytes);
  void OnAnswer(const wire::ProbeT& probe);

 private:
  Loop& loop_;
  Transport& transport_;
  const PeerId peer_;
  const Header header_;
  const Tell tell_;
  uint64_t id_ = 0;  // The id of the last probe.
  bool waits_ = false;
  bool behind_ = false;
  uint64_t bytes_ = 0;
  Time asked_{};
};

}  // namespace motley
