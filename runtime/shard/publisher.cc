// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/publisher.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/kernels/wire_floats.h"
#include "runtime/links/packed_slice.h"

namespace motley {

Publisher::Publisher(Transport& transport, Slicing cut, uint32_t shard, Newest newest,
                     uint64_t seed)
    : transport_(transport),
      cut_(std::move(cut)),
      shard_(shard),
      newest_(std::move(newest)),
      seed_(seed) {}

Publisher::~Publisher() {
  for (const auto& flight : flights_) flight->owner = nullptr;
}

Publisher::Reader::~Reader() {
  if (flight_ == nullptr) return;
  flight_->reader = nullptr;
  publisher_.TakeBack(*flight_);
}

bool Publisher::Reader::Publish(uint64_t version, ParameterCopy copy) {
  if (sent_ && *sent_ >= version) return false;
  waiting_.reset();
  if (flight_ != nullptr) publisher_.TakeBack(*flight_);
  if (flight_ != nullptr && flight_->left > 0) {
    waiting_ = version;
    return false;
  }
  Send(version, std::move(copy));
  return true;
}

ParameterCopy Publisher::Reader::Sent(uint64_t version) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [version](const auto& each) { return each.first == version; });
  return found != kept_.end() ? found->second : nullptr;
}

void Publisher::Reader::Forget(uint64_t before) {
  std::erase_if(kept_, [before](const auto& each) { return each.first < before; });
}

uint64_t Publisher::Reader::bytes() const { return publisher_.cut_.bytes_of(publisher_.shard_); }

// `values` are those of the shard.
std::shared_ptr<const Bytes> Publisher::Packed(uint64_t version, std::span<const float> values) {
  if (cut_.format() == WireFormat::kFloat32) return nullptr;
  if (packed_ != nullptr && packed_version_ == version) return packed_;
  if (packed_ == nullptr || packed_.use_count() > 1) {
    packed_ = std::make_shared<Bytes>(cut_.bytes_of(shard_));
  }
  packed_version_ = version;
  std::span<std::byte> to(*packed_);
  for (size_t slice = cut_.first_slice(shard_); slice < cut_.first_slice(shard_ + 1); ++slice) {
    const size_t begin = cut_.begin(slice);
    PackFloats(cut_.format(), values.subspan(begin - cut_.begin_of(shard_), cut_.size(slice)),
               DrawsOfParameters(seed_, version, begin), to.first(cut_.bytes(slice)));
    to = to.subspan(cut_.bytes(slice));
  }
  return packed_;
}

void Publisher::Reader::Send(uint64_t version, ParameterCopy copy) {
  const Slicing& cut = publisher_.cut_;
  const uint32_t shard = publisher_.shard_;
  const bool whole = copy->size() == cut.total();
  const size_t copy_begin = whole ? 0 : cut.begin_of(shard);
  MOTLEY_ASSERT(whole || copy->size() == cut.end_of(shard) - copy_begin);
  const size_t first = cut.first_slice(shard);
  const size_t count = cut.first_slice(shard + 1) - first;
  // A Done that runs right now still holds its flight.
  if (flight_ == nullptr || flight_.use_count() > 1) flight_ = std::make_shared<Flight>();
  sent_ = version;
  if (keeps_) kept_.emplace_back(version, copy);
  const std::shared_ptr<Flight> flight = flight_;
  flight->owner = &publisher_;
  flight->reader = this;
  flight->peer = peer_;
  flight->version = version;
  flight->sends.assign(count, 0);
  flight->left = count;
  flight->copy = std::move(copy);
  const std::span<const float> values(flight->copy->data() + (cut.begin_of(shard) - copy_begin),
                                      cut.end_of(shard) - cut.begin_of(shard));
  flight->packed = publisher_.Packed(version, values);
  BytesView left = flight->packed != nullptr ? BytesView(*flight->packed) : AsBytes(values);
  publisher_.flights_.push_back(flight);
  Header header = header_;
  header.kind = FrameKind::kParameters;
  header.version = header.step = version;
  header.total = cut.total();
  header.shard = shard;
  header.format = cut.format();
  for (size_t slice = 0; slice < count; ++slice) {
    header.offset = cut.begin(first + slice);
    const BytesView piece = left.first(cut.bytes(first + slice));
    left = left.subspan(piece.size());
    flight->sends[slice] =
        publisher_.transport_.Send(peer_, header, std::span<const BytesView>(&piece, 1),
                                   Priority::kBulk, [flight, slice](const Status&) {
                                     flight->sends[slice] = 0;
                                     if (--flight->left > 0) return;
                                     flight->copy = nullptr;
                                     flight->packed = nullptr;
                                     if (flight->owner != nullptr) flight->owner->OnEnded(*flight);
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
  std::erase_if(flights_, [&](const auto& each) { return each.get() == &flight; });
  Reader* const reader = flight.reader;
  if (reader == nullptr || reader->flight_.get() != &flight || !reader->waiting_) return;
  uint64_t version = *std::exchange(reader->waiting_, std::nullopt);
  ParameterCopy copy = newest_(version);
  if (copy != nullptr) reader->Send(version, std::move(copy));
}

std::optional<Publisher::Oldest> Publisher::OldestReader(uint64_t version) const {
  const Flight* oldest = nullptr;
  for (const auto& flight : flights_) {
    if (flight->version >= version) continue;
    if (oldest == nullptr || flight->version < oldest->version) oldest = flight.get();
  }
  if (oldest == nullptr) return std::nullopt;
  return Oldest{oldest->version, oldest->peer};
}

}  // namespace motley
