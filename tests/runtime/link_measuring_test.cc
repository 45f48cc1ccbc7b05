// SPDX-License-Identifier: Apache-2.0
// Links are measured while nothing else is on them, as far as the server sees (VectorProbe).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

// While the beginning of a vector comes for a measurement, the end of a slice comes that another
// worker began to send before. It is of an earlier life, so that nobody wants it.
class LateSlices final : public Transport, private Receiver {
 public:
  explicit LateSlices(std::unique_ptr<Transport> real) : real_(std::move(real)) {}

  void SetReceiver(Receiver* receiver) override {
    receiver_ = receiver;
    real_->SetReceiver(receiver == nullptr ? nullptr : this);
  }
  Result<std::string> Listen(const std::string& address) override { return real_->Listen(address); }
  void StopListening() override { real_->StopListening(); }
  PeerId Connect(const std::string& address) override { return real_->Connect(address); }
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override {
    return real_->Send(peer, header, pieces, priority, std::move(done));
  }
  void Cancel(SendId id) override { real_->Cancel(id); }
  size_t QueuedBytes(PeerId peer) const override { return real_->QueuedBytes(peer); }
  std::string HostOf(PeerId peer) const override { return real_->HostOf(peer); }
  Traffic TrafficOf(PeerId peer) const override { return real_->TrafficOf(peer); }
  void Disconnect(PeerId peer) override { real_->Disconnect(peer); }
  void Close() override { real_->Close(); }

  int came = 0;

 private:
  void OnConnected(PeerId peer) override { receiver_->OnConnected(peer); }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    if (header.kind != FrameKind::kProbe) {
      if (header.job != 0) last_[peer] = header;
      return receiver_->OnPayload(peer, header);
    }
    const auto other = std::find_if(last_.begin(), last_.end(),
                                    [&](const auto& one) { return one.first != peer; });
    if (other == last_.end()) return receiver_->OnPayload(peer, header);
    Header late = other->second;
    late.kind = FrameKind::kGradient;
    --late.incarnation;
    EXPECT_TRUE(receiver_->OnPayload(other->first, late).empty());
    const std::span<std::byte> room = receiver_->OnPayload(peer, header);
    receiver_->OnPayloadDone(other->first, late, true);
    ++came;
    return room;
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    receiver_->OnPayloadDone(peer, header, discarded);
  }
  void OnLost(PeerId peer, const Status& why) override { receiver_->OnLost(peer, why); }

  std::unique_ptr<Transport> real_;
  Receiver* receiver_ = nullptr;
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
