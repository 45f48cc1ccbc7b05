// SPDX-License-Identifier: Apache-2.0
// A transport that forwards everything to a real one, for tests that change or watch a part of it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "transport/transport.h"

namespace motley {

class ForwardingTransport : public Transport, protected Receiver {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> real) : real_(std::move(real)) {}

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
  Traffic TrafficOf(PeerId peer) const override { return real_->TrafficOf(peer); }
  void Disconnect(PeerId peer) override { real_->Disconnect(peer); }
  void Close() override { real_->Close(); }

 protected:
  void OnConnected(PeerId peer, const PeerIdentity& identity) override {
    receiver_->OnConnected(peer, identity);
  }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    return receiver_->OnPayload(peer, header);
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    receiver_->OnPayloadDone(peer, header, discarded);
  }
  void OnShortage(const Status& why) override { receiver_->OnShortage(why); }
  void OnLost(PeerId peer, const Status& why) override { receiver_->OnLost(peer, why); }

  Receiver* receiver() const { return receiver_; }

 private:
  std::unique_ptr<Transport> real_;
  Receiver* receiver_ = nullptr;
};

}  // namespace motley
