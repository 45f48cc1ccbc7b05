// SPDX-License-Identifier: Apache-2.0
// A transport over a real one, whose connections a test can break.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "transport/transport.h"

namespace motley {

class CutTransport final : public Transport, private Receiver {
 public:
  explicit CutTransport(std::unique_ptr<Transport> real) : real_(std::move(real)) {}

  // Ends all connections; both ends hear of it.
  void CutAll() {
    for (const PeerId peer : std::exchange(peers_, {})) {
      real_->Disconnect(peer);
      if (receiver_ != nullptr) receiver_->OnLost(peer, Status::Unavailable("the cable was cut"));
    }
  }

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
  void Disconnect(PeerId peer) override {
    peers_.erase(peer);
    real_->Disconnect(peer);
  }
  void Close() override { real_->Close(); }

 private:
  void OnConnected(PeerId peer) override {
    peers_.insert(peer);
    receiver_->OnConnected(peer);
  }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    return receiver_->OnPayload(peer, header);
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    receiver_->OnPayloadDone(peer, header, discarded);
  }
  void OnLost(PeerId peer, const Status& why) override {
    peers_.erase(peer);
    receiver_->OnLost(peer, why);
  }

  std::unique_ptr<Transport> real_;
  Receiver* receiver_ = nullptr;
  std::set<PeerId> peers_;
};

}  // namespace motley
