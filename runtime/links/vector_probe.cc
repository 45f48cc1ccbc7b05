// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/vector_probe.h"

#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

// A probe asks for an eighth of a vector (kPart), so that it costs little of a step. More than 4
// slices would show nothing new.
constexpr size_t kPart = 8, kMostSlices = 4;
constexpr uint32_t kEnough = 2;     // Measurements per worker.
constexpr uint32_t kMostTries = 8;  // Attempts per worker. Answers may always arrive in between.

}  // namespace

VectorProbe::VectorProbe(Loop& loop, Transport& transport, uint32_t workers, const Slicing& cut,
                         Tell tell)
    : loop_(loop),
      transport_(transport),
      cut_(cut),
      slices_(static_cast<uint32_t>(std::clamp<size_t>(cut.count() / kPart, 1, kMostSlices))),
      tell_(std::move(tell)),
      seats_(workers) {}

void VectorProbe::Ask(WorkerId worker, PeerId peer, const Header& header) {
  Seat& seat = seats_[worker];
  if (seat.waits || now_ == worker || seat.told >= kEnough || seat.tries >= kMostTries) return;
  seat.peer = peer;
  seat.header = header;
  seat.waits = true;
  ++waiting_;
  Next();
}

// Asks the waiting worker that was asked least often.
void VectorProbe::Next() {
  if (now_ || waiting_ == 0) return;
  const auto before = [](const Seat& a, const Seat& b) {
    return a.waits != b.waits ? a.waits : a.tries < b.tries;
  };
  Seat& seat = *std::min_element(seats_.begin(), seats_.end(), before);
  seat.waits = false;
  --waiting_;
  ++seat.tries;
  now_ = static_cast<WorkerId>(&seat - seats_.data());
  came_ = 0;
  wire::ProbeT probe;
  probe.slices = slices_;
  SendControl(transport_, seat.peer, seat.header, probe);
}

Result<std::span<std::byte>> VectorProbe::Begin(WorkerId worker, const Header& header) {
  if (now_ != worker) return Status::DataError("a probe that was not asked for");
  MOTLEY_ASSIGN_OR_RETURN(const size_t slice, SliceOf(cut_, header));
  if (slice != came_) return Status::DataError("a probe's slices out of order");
  if (came_ == 0) {
    since_ = loop_.Now();
    alone_ = true;
  }
  sink_.resize(header.length);
  return std::span(sink_);
}

void VectorProbe::Finish(WorkerId worker) {
  if (now_ != worker || ++came_ < slices_) return;
  now_.reset();
  const size_t length = cut_.begin(came_ - 1) + cut_.size(came_ - 1);
  if (alone_) {
    ++seats_[worker].told;
    const double part = static_cast<double>(length) / static_cast<double>(cut_.total());
    tell_(worker, FromSeconds(ToSeconds(loop_.Now() - since_) / part));
  }
  Next();
}

void VectorProbe::Disturb() {
  alone_ = false;
  if (waiting_ == 0) return;
  for (Seat& seat : seats_) seat.waits = false;  // The workers are asked again with the next step.
  waiting_ = 0;
}

void VectorProbe::Forget(WorkerId worker) {
  if (seats_[worker].waits) --waiting_;
  seats_[worker] = Seat();
  if (now_ == worker) now_.reset();
  Next();
}

}  // namespace motley
