// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/stranger.h"

#include "runtime/links/messages.h"
#include "sim/world/sim_process.h"

namespace motley {

Stranger::Stranger(VirtualLoop& world, SimNetwork& network, Random random)
    : loop_(world), random_(random), transport_(network.MakeTransport(loop_)) {
  transport_->SetReceiver(this);
}

void Stranger::Start(double every_seconds) { Knock(FromSeconds(every_seconds)); }

void Stranger::Stop() {
  transport_->Close();
  loop_.Kill();
}

void Stranger::Knock(Duration every) {
  transport_->Connect(kSimServerAddress);
  loop_.After(every, [this, every] { Knock(every); });
}

void Stranger::OnConnected(PeerId peer, const PeerIdentity&) {
  ++visits_;
  const uint64_t what = random_.Below(3);
  if (what == 0) return;
  if (what == 1) {
    SendBytes(*transport_, peer, Header(), Bytes(100, std::byte{0xa5}), Priority::kControl,
              nullptr);
    return;
  }
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = "a guess";
  join.incarnation = random_.Next64() | 1;
  SendControl(*transport_, peer, Header(), join);
}

}  // namespace motley
