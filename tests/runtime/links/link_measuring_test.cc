// SPDX-License-Identifier: Apache-2.0
// Links are measured while nothing else is on them, as far as the server sees (VectorProbe).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "tests/runtime/forwarding_transport.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

// While the beginning of a vector comes for a measurement, the end of a slice comes that another
// worker began to send before. It is of an earlier life, so that nobody wants it.
class LateSlices final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  int came = 0;

 private:
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    if (header.kind != FrameKind::kProbe) {
      if (header.job != 0) last_[peer] = header;
      return receiver()->OnPayload(peer, header);
    }
    const auto other = std::find_if(last_.begin(), last_.end(),
                                    [&](const auto& one) { return one.first != peer; });
    if (other == last_.end()) return receiver()->OnPayload(peer, header);
    Header late = other->second;
    late.kind = FrameKind::kGradient;
    --late.incarnation;
    EXPECT_TRUE(receiver()->OnPayload(other->first, late).empty());
    const std::span<std::byte> room = receiver()->OnPayload(peer, header);
    receiver()->OnPayloadDone(other->first, late, true);
    ++came;
    return room;
  }

  std::map<PeerId, Header> last_;  // Of each.
};

TEST(LinkMeasuring, ALateSliceThatNobodyWantsVoidsIt) {
  for (const bool late : {false, true}) {
    JobWorld world(JobWorld::Options(3, "auto"));
    LateSlices* slices = nullptr;
    if (late) {
      auto wrapped = std::make_unique<LateSlices>(std::move(world.server_transport));
      slices = wrapped.get();
      world.server_transport = std::move(wrapped);
    }
    world.StartServer();
    world.StartWorkers();
    EXPECT_TRUE(world.Run().status.ok());
    EXPECT_EQ(world.watcher.links_measured == 0, late) << world.watcher.links_measured;
    EXPECT_TRUE(!late || slices->came > 0);
  }
}

}  // namespace
}  // namespace motley
