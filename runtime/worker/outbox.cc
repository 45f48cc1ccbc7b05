// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/outbox.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "coding/decode/part_sums.h"
#include "coding/kernels/sketch.h"
#include "coding/kernels/wire_floats.h"
#include "runtime/links/packed_slice.h"
#include "runtime/memory_need.h"

namespace motley {

Outbox::Outbox(Transport& transport, PeerOf peer_of, Slicing cut, uint64_t seed,
               std::function<void()> freed, OwnMemory memory)
    : transport_(transport),
      peer_of_(std::move(peer_of)),
      cut_(std::move(cut)),
      seed_(seed),
      freed_(std::move(freed)),
      memory_(std::move(memory)) {
  for (Vector& vector : vectors_) vector.cut = cut_;
}

// Old memory is freed first, so that memory need not hold both.
Status Outbox::MakeRoom(Vector& vector) const {
  const Slicing& cut = vector.cut;
  vector.sum = nullptr;
  vector.packed = nullptr;
  MOTLEY_ASSIGN_OR_RETURN(vector.sum,
                          HostVector::Make("the worker's answer", cut.total(), memory_));
  if (cut.format() == WireFormat::kFloat32) return Status::Ok();
  vector.packed = std::make_shared<Bytes>(cut.count() * WireBytes(cut.format(), cut.length()));
  return Status::Ok();
}

Outbox::Vector* Outbox::Free() {
  for (Vector& vector : vectors_) {
    if (vector.unsent == 0 && !vector.computing) return &vector;
  }
  return nullptr;
}

Status Outbox::Fit(Vector& vector, uint32_t parts) const {
  if (parts == 1) {
    if (vector.cut.total() != cut_.total()) vector.cut = cut_;
  } else {
    vector.cut = Slicing(AnswerEnds(Field::kComplexPacked, cut_.total(), cut_.ends(), parts),
                         cut_.length(), cut_.format());
  }
  if (vector.sum != nullptr && vector.sum->size() == vector.cut.total()) return Status::Ok();
  return OrNoMemory("the worker's answer", [&] { return MakeRoom(vector); });
}

void Outbox::Describe(Vector& vector, const Header& header, uint64_t name) {
  vector.name = name;
  vector.header = header;
  vector.header.kind = FrameKind::kGradient;
  vector.header.total = vector.sum->size();
  vector.header.format = vector.cut.format();
  vector.final.assign(vector.cut.count(), 0);
  vector.sends.clear();
}

bool Outbox::Final(Vector& vector, size_t begin, size_t end) {
  MOTLEY_ASSERT(begin < end && end <= vector.sum->size());
  if (filter_) return false;  // The filter changes whole vectors.
  bool could_leave = false;
  const Slicing& cut = vector.cut;
  for (size_t slice = cut.Holding(begin); slice < cut.count() && cut.begin(slice) < end; ++slice) {
    const size_t first = std::max(begin, cut.begin(slice));
    const size_t last = std::min(end, cut.begin(slice) + cut.size(slice));
    // The slice was not sent either.
    MOTLEY_ASSERT(vector.final[slice] <= cut.size(slice) - (last - first));
    vector.final[slice] += last - first;
    if (vector.final[slice] != cut.size(slice)) continue;
    could_leave |= vector.held;
    if (!vector.held) SendSlice(vector, slice);
  }
  return could_leave;
}

void Outbox::LetGo(Vector& vector) {
  vector.held = false;
  for (size_t slice = 0; slice < vector.final.size(); ++slice) {
    if (vector.final[slice] == vector.cut.size(slice)) SendSlice(vector, slice);
  }
}

void Outbox::Send(Vector& vector) {
  if (filter_ && vector.sends.empty()) filter_(vector.header.step, *vector.sum);
  // A closed transport calls back at once, and nobody may take the vector then.
  vector.computing = true;
  for (size_t slice = 0; slice < vector.final.size(); ++slice) {
    if (vector.final[slice] != kSent) SendSlice(vector, slice);
  }
  vector.computing = false;
  if (vector.unsent == 0) freed_();
}

// Returns the slice as it travels. Its values become those that will arrive, so that norm and
// sketch are theirs.
BytesView Outbox::Pack(Vector& vector, size_t slice) const {
  const Slicing& cut = vector.cut;
  const std::span<float> values = std::span(*vector.sum).subspan(cut.begin(slice), cut.size(slice));
  if (vector.packed == nullptr) return AsBytes(std::span<const float>(values));
  const std::span<std::byte> to =
      std::span(*vector.packed)
          .subspan(slice * WireBytes(cut.format(), cut.length()), cut.bytes(slice));
  PackFloats(cut.format(), values,
             DrawsOfAnswer(seed_, vector.header.step, vector.name, cut.begin(slice)), to,
             values.data());
  return to;
}

void Outbox::SendSlice(Vector& vector, size_t slice) {
  const Slicing& cut = vector.cut;
  const BytesView piece = Pack(vector, slice);
  const std::span<const float> values =
      std::span(*vector.sum).subspan(cut.begin(slice), cut.size(slice));
  Header header = vector.header;
  header.offset = cut.begin(slice);
  header.shard = static_cast<uint32_t>(cut.ShardOf(slice));
  const Sketch sketch = SketchOf(values, SignsOf(header));
  header.norm = std::sqrt(sketch.squares);
  header.sketch = sketch.projection;
  header.tally = vector.tally;
  header.paused = vector.unsent == 0 && !vector.sends.empty();
  vector.final[slice] = kSent;
  ++vector.unsent;
  auto sent = alive_.Guard([this, &vector](const Status&) {
    if (--vector.unsent == 0 && !vector.computing) freed_();
  });
  // The sends keep the bytes alive if this object is destroyed first.
  std::shared_ptr<const void> keep = vector.sum;
  if (vector.packed != nullptr) keep = vector.packed;
  vector.sends.push_back(transport_.Send(
      peer_of_(header.shard), header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
      [sent = std::move(sent), keep = std::move(keep)](const Status& status) { sent(status); }));
}

void Outbox::Cancel(StepId step, uint32_t order) {
  for (Vector& vector : vectors_) {
    const Header& header = vector.header;
    const bool meant =
        order == 0 ? header.step <= step : header.step == step && header.row_id == order;
    if (vector.unsent == 0 || !meant) continue;
    for (const SendId id : std::exchange(vector.sends, {})) transport_.Cancel(id);
  }
}

void Outbox::TakeBack() {
  for (Vector& vector : vectors_) {
    for (const SendId id : std::exchange(vector.sends, {})) transport_.Cancel(id);
  }
}

}  // namespace motley
