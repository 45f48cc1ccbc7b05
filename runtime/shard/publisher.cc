// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/publisher.h"

#include <utility>

#include "base/assert.h"

namespace motley {

Publisher::Publisher(Transport& transport, uint32_t workers, Slicing cut, uint32_t shard,
                     Newest newest)
    : transport_(transport),
      cut_(std::move(cut)),
      shard_(shard),
      newest_(std::move(newest)),
      seats_(workers) {}

Publisher::~Publisher() {
  for (const Seat& seat : seats_) {
    if (seat.flight != nullptr) seat.flight->owner = nullptr;
  }
  for (const auto& flight : forgotten_) flight->owner = nullptr;
}

bool Publisher::Publish(WorkerId worker, PeerId peer, Header header, uint64_t version,
                        ParameterCopy copy) {
  Seat& seat = seats_[worker];
  if (seat.any && seat.version >= version) return false;
  header.kind = FrameKind::kParameters;
  header.version = version;
  header.step = version;
  seat.waiting.reset();
  if (seat.flight != nullptr) TakeBack(*seat.flight);
  if (seat.flight != nullptr && seat.flight->left > 0) {
    seat.waiting = header;
    return false;
  }
  Send(worker, peer, header, std::move(copy));
  return true;
}

void Publisher::Send(WorkerId worker, PeerId peer, Header header, ParameterCopy copy) {
  Seat& seat = seats_[worker];
  MOTLEY_ASSERT(copy->size() == cut_.total());
  const size_t first = cut_.first_slice(shard_);
  const size_t count = cut_.first_slice(shard_ + 1) - first;
  // A Done that runs right now still holds its flight.
  if (seat.flight == nullptr || seat.flight.use_count() > 1) {
    seat.flight = std::make_shared<Flight>();
  }
  seat.any = true;
  seat.version = header.version;
  const std::shared_ptr<Flight> flight = seat.flight;
  flight->owner = this;
  flight->worker = worker;
  flight->peer = peer;
  flight->version = header.version;
  flight->sends.assign(count, 0);
  flight->left = count;
  header.total = copy->size();
  flight->copy = std::move(copy);
  header.shard = shard_;
  for (size_t slice = 0; slice < count; ++slice) {
    header.offset = cut_.begin(first + slice);
    const std::span<const float> values(flight->copy->data() + header.offset,
                                        cut_.size(first + slice));
    const BytesView piece = AsBytes(values);
    flight->sends[slice] = transport_.Send(peer, header, std::span<const BytesView>(&piece, 1),
                                           Priority::kBulk, [flight, slice](const Status&) {
                                             flight->sends[slice] = 0;
                                             if (--flight->left > 0) return;
                                             flight->copy = nullptr;
                                             if (flight->owner != nullptr)
                                               flight->owner->OnEnded(*flight);
                                           });
  }
}

void Publisher::TakeBack(Flight& flight) {
  for (const SendId id : flight.sends) {
    if (id != 0) transport_.Cancel(id);
  }
}

// A Done of a lost connection also comes here; a Send to that connection then only fails.
void Publisher::OnEnded(const Flight& flight) {
  std::erase_if(forgotten_, [&](const auto& each) { return each.get() == &flight; });
  Seat& seat = seats_[flight.worker];
  if (seat.flight.get() != &flight || !seat.waiting) return;
  const Header header = *std::exchange(seat.waiting, std::nullopt);
  ParameterCopy copy = newest_(header.version);
  if (copy != nullptr) Send(flight.worker, flight.peer, header, std::move(copy));
}

void Publisher::Forget(WorkerId worker) {
  Seat seat = std::exchange(seats_[worker], Seat());
  if (seat.flight == nullptr) return;
  forgotten_.push_back(seat.flight);
  TakeBack(*seat.flight);
  if (seat.flight->left == 0) std::erase(forgotten_, seat.flight);
}

std::optional<PeerId> Publisher::OldestReader(uint64_t version) {
  const Flight* oldest = nullptr;
  const auto look_at = [&](const std::shared_ptr<Flight>& flight) {
    if (flight == nullptr || flight->left == 0 || flight->version >= version) return;
    if (oldest == nullptr || flight->version < oldest->version) oldest = flight.get();
  };
  for (const Seat& seat : seats_) look_at(seat.flight);
  for (const auto& flight : forgotten_) look_at(flight);
  if (oldest == nullptr) return std::nullopt;
  return oldest->peer;
}

}  // namespace motley
