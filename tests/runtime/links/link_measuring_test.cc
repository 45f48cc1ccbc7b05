// SPDX-License-Identifier: Apache-2.0
// Links are measured while the server sees no other traffic on them (VectorProbe).
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

// While the beginning of a vector arrives for a measurement, the end of an earlier slice of another
// worker arrives. The slice is from an earlier incarnation, so nobody wants it.
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

  std::map<PeerId, Header> last_;  // The last header of each peer.
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
