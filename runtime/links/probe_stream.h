// SPDX-License-Identifier: Apache-2.0
// Sends slices that mean nothing over one connection as fast as the link takes them, to measure it.
// Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "transport/transport.h"

namespace motley {

// The size of slices of answers and parameters.
inline constexpr size_t kProbeSliceBytes = size_t{1} << 20;
inline constexpr int kProbeSlicesUnderWay = 2;

struct StreamRules {
  FrameKind kind = FrameKind::kProbe;
  int under_way = kProbeSlicesUnderWay;
  uint64_t most = UINT64_MAX;  // Slices in all.
};

// Keeps some slices under way on one connection while it is set.
class ProbeStream {
 public:
  // All are borrowed. Slices that are still under way may outlive the stream.
  ProbeStream(Transport& transport, PeerId peer, std::shared_ptr<const Bytes> slice,
              Header header = {}, StreamRules rules = {});
  ~ProbeStream();

  void Set(bool on);

 private:
  struct State;
  static void Fill(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace motley
