// SPDX-License-Identifier: Apache-2.0
#include "runtime/publisher.h"

#include <utility>

#include "runtime/slicing.h"

namespace motley {

Publisher::Publisher(Transport& transport, uint32_t workers, uint32_t slice_length)
    : transport_(transport), slice_length_(slice_length), seats_(workers) {}

void Publisher::Publish(WorkerId worker, PeerId peer, Header header, uint64_t version,
                        ParameterCopy copy) {
  Seat& seat = seats_[worker];
  if (seat.any && seat.version >= version) return;
  if (seat.sends != nullptr) {
    const Sends old = *seat.sends;  // Each leaves it while it is cancelled.
    for (const auto& [slice, id] : old) transport_.Cancel(id);
  }
  const auto sends = seat.sends = std::make_shared<Sends>();
  seat.any = true;
  seat.version = version;
  header.kind = FrameKind::kParameters;
  header.version = version;
  header.step = version;
  header.total = copy->size();
  const Slicing cut{copy->size(), slice_length_};
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    header.offset = cut.begin(slice);
    const std::span<const float> values(copy->data() + cut.begin(slice), cut.size(slice));
    const BytesView piece = AsBytes(values);
    (*sends)[slice] =
        transport_.Send(peer, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                        [copy, sends, slice](const Status&) { sends->erase(slice); });
  }
}

void Publisher::Forget(WorkerId worker) { seats_[worker] = Seat(); }

}  // namespace motley
