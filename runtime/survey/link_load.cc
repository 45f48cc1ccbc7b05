// SPDX-License-Identifier: Apache-2.0
#include "runtime/survey/link_load.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr int kFramesUnderWay = 8;
// Simulated links may be unlimited, so that a stream without an end would never let time pass.
constexpr double kMostPerSecond = 2e8;  // Bytes to one node.
constexpr uint64_t kWarmUpParts = 3;    // The first third of the time does not count.

}  // namespace

LinkLoad::~LinkLoad() { Stop(); }

void LinkLoad::Stop() {
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
  streams_.clear();
  early_.clear();
  came_.clear();
  counting_ = false;
}

void LinkLoad::Start(uint32_t id, Duration time, const std::vector<To>& to, Done done) {
  Stop();
  const auto frame = std::make_shared<const Bytes>(kLoadFrameBytes);
  const StreamRules rules{
      FrameKind::kLoad, kFramesUnderWay,
      static_cast<uint64_t>(ToSeconds(time) * kMostPerSecond) / kLoadFrameBytes};
  for (const To& node : to) {
    streams_.push_back(
        std::make_unique<ProbeStream>(transport_, node.peer, frame, node.header, rules));
    streams_.back()->Set(true);
  }
  const Duration warm_up = time / kWarmUpParts;
  timer_ = loop_.After(warm_up, [this, id, rest = time - warm_up, done = std::move(done)] {
    counting_ = true;
    timer_ = loop_.After(rest, [this, id, since = loop_.Now(), done] {
      timer_ = 0;
      wire::LinkReportT report;
      report.id = id;
      report.nanoseconds = static_cast<uint64_t>((loop_.Now() - since).count());
      for (const auto& [node, bytes] : early_) {
        const uint64_t least = bytes * (kWarmUpParts - 1) / kWarmUpParts;
        came_[node] = std::max(came_[node], least);
      }
      for (const auto& [node, bytes] : came_) {
        report.nodes.push_back(node);
        report.bytes.push_back(bytes);
      }
      Stop();
      done(report);
    });
  });
}

std::span<std::byte> LinkLoad::Room(const Header& header) {
  if (header.length > kLoadFrameBytes) return {};
  sink_.resize(kLoadFrameBytes);
  return std::span(sink_).first(header.length);
}

void LinkLoad::Arrived(uint32_t node, const Header& header) {
  (counting_ ? came_ : early_)[node] += header.length;
}

}  // namespace motley
