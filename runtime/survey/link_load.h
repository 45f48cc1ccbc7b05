// SPDX-License-Identifier: Apache-2.0
// One node's part in a measurement of all links at once (runtime/survey/link_survey.h). For a fixed
// time the node sends frames to other nodes as fast as its links take them, and counts what arrives
// from each node in the last part of that time. A node sends at most 200 MB/s to each other node on
// average, which the fastest links carry before anything counts. They are then reported as if these
// bytes took the whole time. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/loop/loop.h"
#include "runtime/links/probe_stream.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

// Frames are short, because even a link of 10 Mbit/s should carry several while it is measured.
inline constexpr size_t kLoadFrameBytes = size_t{16} << 10;

class LinkLoad {
 public:
  using Done = std::function<void(const wire::LinkReportT&)>;
  struct To {
    PeerId peer = 0;
    Header header;  // Each frame has it.
  };

  // All are borrowed.
  LinkLoad(Loop& loop, Transport& transport) : loop_(loop), transport_(transport) {}
  ~LinkLoad();

  // Sends to these nodes for `time`, and then reports what arrived. A measurement that runs is
  // given up.
  void Start(uint32_t id, Duration time, const std::vector<To>& to, Done done);
  // The room for a kLoad frame, which may be late. It is empty if the frame is too long.
  std::span<std::byte> Room(const Header& header);
  // A frame from this node arrived.
  void Arrived(uint32_t node, const Header& header);

 private:
  void Stop();

  Loop& loop_;
  Transport& transport_;
  std::vector<std::unique_ptr<ProbeStream>> streams_;
  std::map<uint32_t, uint64_t> early_, came_;  // Bytes before and while it counts, by node.
  bool counting_ = false;
  TimerId timer_ = 0;
  Bytes sink_;
};

}  // namespace motley
