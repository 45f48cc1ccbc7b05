// SPDX-License-Identifier: Apache-2.0
// Two ends of a loopback TCP connection over bare libuv: what the transport is measured against.
// One thread, the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"

struct uv_loop_s;

namespace motley {

class RawPair {
 public:
  // No delay, and cubic congestion control at both ends, as the transport has on loopback.
  // kUnavailable when there is no loopback.
  static Result<std::unique_ptr<RawPair>> Connect(uv_loop_s* loop);
  virtual ~RawPair() = default;

  // Writes `payload` so often from one end, and reads it into one buffer at the other.
  virtual void Stream(BytesView payload, size_t messages) = 0;
  // Sends `payload` there and back so often.
  virtual void PingPong(BytesView payload, size_t rounds) = 0;
  virtual const Bytes& received() const = 0;  // The last buffer of either.
};

}  // namespace motley
