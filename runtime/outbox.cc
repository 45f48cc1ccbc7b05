// SPDX-License-Identifier: Apache-2.0
#include "runtime/outbox.h"

#include <cmath>
#include <utility>

#include "coding/sketch.h"
#include "runtime/memory_need.h"

namespace motley {

Outbox::Outbox(Transport& transport, PeerId peer, size_t length, uint32_t slice_length,
               std::function<void()> freed)
    : transport_(transport), peer_(peer), slice_length_(slice_length), freed_(std::move(freed)) {
  for (Vector& vector : vectors_) vector.sum = std::make_shared<std::vector<float>>(length);
}

Outbox::Vector* Outbox::Free() {
  for (Vector& vector : vectors_) {
    if (vector.unsent == 0 && !vector.computing) return &vector;
  }
  return nullptr;
}

Status Outbox::Fit(Vector& vector, size_t length) {
  if (vector.sum->size() == length) return Status::Ok();
  vector.sum = std::make_shared<std::vector<float>>();  // First, so that both need not fit.
  return OrNoMemory("the worker's answer", [&] {
    vector.sum->resize(length);
    return Status::Ok();
  });
}

void Outbox::Send(Vector& vector, Header header) {
  std::vector<float>& sum = *vector.sum;
  if (filter_) filter_(vector.step, sum);
  header.kind = FrameKind::kGradient;
  header.step = vector.step;
  header.total = sum.size();
  header.tally = vector.tally;
  const Slicing cut{sum.size(), slice_length_};
  Describe(vector, cut, header);
  vector.sends.clear();
  vector.unsent = cut.count();
  const auto sent = alive_.Guard([this, &vector](const Status&) {
    if (--vector.unsent == 0) freed_();
  });
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    header.offset = cut.begin(slice);
    header.sketch = vector.sketches[slice];
    const std::span<const float> values = std::span(sum).subspan(header.offset, cut.size(slice));
    const BytesView piece = AsBytes(values);
    // The vector stays with its sends, also when this object goes first.
    vector.sends.push_back(
        transport_.Send(peer_, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                        [sent, keep = vector.sum](const Status& status) { sent(status); }));
  }
}

// The norm is said with the first slice, so all are looked at before it leaves.
void Outbox::Describe(Vector& vector, const Slicing& cut, Header& header) {
  double squares = 0;
  vector.sketches.clear();
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    header.offset = cut.begin(slice);
    const auto values = std::span<const float>(*vector.sum).subspan(header.offset, cut.size(slice));
    const Sketch sketch = SketchOf(values, SignsOf(header));
    squares += sketch.squares;
    vector.sketches.push_back(sketch.projection);
  }
  header.norm = std::sqrt(squares);
}

void Outbox::Cancel(StepId step) {
  for (Vector& vector : vectors_) {
    if (vector.computing || vector.unsent == 0 || vector.step > step) continue;
    for (const SendId id : std::exchange(vector.sends, {})) transport_.Cancel(id);
  }
}

void Outbox::CancelRow(StepId step, RowId row) {
  for (Vector& vector : vectors_) {
    if (vector.computing || vector.step != step || vector.row != row) continue;
    for (const SendId id : std::exchange(vector.sends, {})) transport_.Cancel(id);
  }
}

void Outbox::TakeBack() {
  for (Vector& vector : vectors_) {
    for (const SendId id : std::exchange(vector.sends, {})) transport_.Cancel(id);
  }
}

}  // namespace motley
