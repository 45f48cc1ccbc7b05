// SPDX-License-Identifier: Apache-2.0
#include "runtime/publisher.h"

#include <utility>

#include "runtime/slicing.h"

namespace motley {

Publisher::Publisher(Transport& transport, uint32_t workers, uint32_t slice_length)
    : transport_(transport), slice_length_(slice_length), seats_(workers) {}

bool Publisher::Publish(WorkerId worker, PeerId peer, Header header, uint64_t version,
                        ParameterCopy copy) {
  Seat& seat = seats_[worker];
  if (seat.any && seat.version >= version) return false;
  if (seat.sends != nullptr) {
    for (const SendId id : *seat.sends) {
      if (id != 0) transport_.Cancel(id);
    }
  }
  const Slicing cut{copy->size(), slice_length_};
  // Those that are under way still write into theirs.
  if (seat.sends == nullptr || seat.sends.use_count() > 1) seat.sends = std::make_shared<Sends>();
  seat.sends->assign(cut.count(), 0);
  seat.any = true;
  seat.version = version;
  header.kind = FrameKind::kParameters;
  header.version = version;
  header.step = version;
  header.total = copy->size();
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    header.offset = cut.begin(slice);
    const std::span<const float> values(copy->data() + cut.begin(slice), cut.size(slice));
    const BytesView piece = AsBytes(values);
    (*seat.sends)[slice] =
        transport_.Send(peer, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                        [copy, sends = seat.sends, slice](const Status&) { (*sends)[slice] = 0; });
  }
  return true;
}

void Publisher::Forget(WorkerId worker) { seats_[worker] = Seat(); }

}  // namespace motley
