// SPDX-License-Identifier: Apache-2.0
// The link between two processes of this machine, measured with the transport that jobs use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/loop.h"
#include "base/status.h"
#include "profiles/profile.h"

namespace motley {

struct LinkProbe {
  LinkProfile loaded;  // Slices of 1 MiB both ways at once, control messages between them.
  double idle_latency_seconds = 0;
};

// Takes about `seconds` and a second thread. kUnavailable, kResource: no connection to this machine
// itself. SIGPIPE must be ignored.
Result<LinkProbe> ProbeLocalLink(double seconds);
// The same with whoever listens at `address` and answers so; `received`: the bytes of slices that
// arrived there, from any thread. kUnavailable also when there is no connection, or no answer,
// within `patience`.
Result<LinkProbe> ProbeLink(const std::string& address, const std::function<uint64_t()>& received,
                            double seconds, Duration patience);

}  // namespace motley
