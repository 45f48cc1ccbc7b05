// SPDX-License-Identifier: Apache-2.0
// Two ends of a loopback TCP connection over bare libuv: the baseline of the transport. One thread,
// the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"

struct uv_loop_s;

namespace motley {

class RawPair {
 public:
  // No delay, and cubic congestion control at both ends, like the transport on loopback.
  // kUnavailable: there is no loopback.
  static Result<std::unique_ptr<RawPair>> Connect(uv_loop_s* loop);
  virtual ~RawPair() = default;

  // Writes `payload` `messages` times at one end, and reads it into one buffer at the other.
  virtual void Stream(BytesView payload, size_t messages) = 0;
  // Sends `payload` back and forth `rounds` times.
  virtual void PingPong(BytesView payload, size_t rounds) = 0;
  virtual const Bytes& received() const = 0;  // The last buffer that either read.
};

}  // namespace motley
