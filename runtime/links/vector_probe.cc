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

VectorProbe::VectorProbe(Loop& loop, Transport& transport, const Slicing& cut, Tell tell)
    : loop_(loop),
      transport_(transport),
      cut_(cut),
      slices_(static_cast<uint32_t>(std::clamp<size_t>(cut.count() / kPart, 1, kMostSlices))),
      tell_(std::move(tell)) {}

VectorProbe::Turn::Turn(VectorProbe& probe, WorkerId worker, PeerId peer, const Header& header)
    : probe_(probe), worker_(worker), peer_(peer), header_(header) {
  const auto before = [](const Turn* turn, WorkerId id) { return turn->worker_ < id; };
  std::vector<Turn*>& turns = probe.turns_;
  turns.insert(std::lower_bound(turns.begin(), turns.end(), worker, before), this);
}

VectorProbe::Turn::~Turn() {
  if (waits_) --probe_.waiting_;
  std::erase(probe_.turns_, this);
  if (probe_.now_ == this) probe_.now_ = nullptr;
  probe_.Next();
}

void VectorProbe::Turn::Ask() {
  if (waits_ || probe_.now_ == this || told_ >= kEnough || tries_ >= kMostTries) return;
  waits_ = true;
  ++probe_.waiting_;
  probe_.Next();
}

// Asks the waiting worker that was asked least often.
void VectorProbe::Next() {
  if (now_ != nullptr || waiting_ == 0) return;
  const auto before = [](const Turn* a, const Turn* b) {
    return a->waits_ != b->waits_ ? a->waits_ : a->tries_ < b->tries_;
  };
  now_ = *std::min_element(turns_.begin(), turns_.end(), before);
  now_->waits_ = false;
  --waiting_;
  ++now_->tries_;
  came_ = 0;
  wire::ProbeT probe;
  probe.slices = slices_;
  SendControl(transport_, now_->peer_, now_->header_, probe);
}

Result<std::span<std::byte>> VectorProbe::Turn::Begin(const Header& header) {
  VectorProbe& probe = probe_;
  if (probe.now_ != this) return Status::DataError("a probe that was not asked for");
  MOTLEY_ASSIGN_OR_RETURN(const size_t slice, SliceOf(probe.cut_, header));
  if (slice != probe.came_) return Status::DataError("a probe's slices out of order");
  if (probe.came_ == 0) {
    probe.since_ = probe.loop_.Now();
    probe.alone_ = true;
  }
  probe.sink_.resize(header.length);
  return std::span(probe.sink_);
}

void VectorProbe::Turn::Finish() {
  VectorProbe& probe = probe_;
  if (probe.now_ != this || ++probe.came_ < probe.slices_) return;
  probe.now_ = nullptr;
  if (probe.alone_) {
    ++told_;
    const size_t last = probe.came_ - 1;
    const double part = static_cast<double>(probe.cut_.begin(last) + probe.cut_.size(last)) /
                        static_cast<double>(probe.cut_.total());
    probe.tell_(worker_, FromSeconds(ToSeconds(probe.loop_.Now() - probe.since_) / part));
  }
  probe.Next();
}

void VectorProbe::Disturb() {
  alone_ = false;
  if (waiting_ == 0) return;
  for (Turn* turn : turns_) turn->waits_ = false;  // They are asked again with the next step.
  waiting_ = 0;
}

}  // namespace motley
