// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/shared_link.h"

namespace motley {

SharedLink::~SharedLink() {
  for (const auto& [page, length] : sent_) arena_->Release(page);
}

void SharedLink::Announce(Outgoing& message) {
  if (!std::exchange(message.announced, true)) arena_->Announce(message.pieces);
}

void SharedLink::Retire(Outgoing& message) {
  if (std::exchange(message.announced, false)) arena_->Retire(message.pieces);
}

std::optional<SharedPlace> SharedLink::Put(const Outgoing& message) {
  const auto place = arena_->Put(message.pieces, message.header.length);
  if (!place) return std::nullopt;
  sent_.emplace_back(place->page, message.header.length);
  sent_bytes_ += message.header.length;
  return place;
}

bool SharedLink::OnRelease(uint64_t count) {
  if (count < released_ || count - released_ > sent_.size()) return false;
  for (; released_ < count; ++released_) {
    const auto [page, length] = sent_.front();
    sent_.pop_front();
    sent_bytes_ -= length;
    arena_->Release(page);
  }
  return true;
}

Result<BytesView> SharedLink::At(const SharedPlace& place, size_t length) {
  return view_ != nullptr ? view_->At(place, length) : BytesView();
}

bool SharedLink::OnRead(const SharedPlace& place, size_t length) {
  ++read_;
  unreported_bytes_ += length;
  return view_->Holds(place);
}

std::optional<uint64_t> SharedLink::TakeReport() {
  unreported_bytes_ = 0;
  return std::exchange(reported_, read_) != read_ ? std::optional(read_) : std::nullopt;
}

}  // namespace motley
