// SPDX-License-Identifier: Apache-2.0
#include "sim/world/modelled_vectors.h"

#include <algorithm>

#include "coding/decode/part_sums.h"
#include "runtime/links/route.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr size_t kSliceFloats = 4;  // Floats in a short slice: enough to check sums.

// Floats of a short vector with as many slices as a modelled one of `floats`.
size_t ShortLength(size_t floats, size_t slice, size_t short_slice) {
  const Slicing modelled(floats, slice);
  const size_t before_last = modelled.count() - 1;
  return before_last * short_slice + std::min(short_slice, modelled.size(before_last));
}

std::vector<size_t> EndsOf(const Route& route) {
  const std::vector<uint64_t> ends = route.ends();
  return {ends.begin(), ends.end()};
}

size_t SizeAt(const std::vector<size_t>& ends, size_t range) {
  return ends[range] - (range == 0 ? 0 : ends[range - 1]);
}

}  // namespace

ModelledVectors::ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length, uint32_t parts,
                                 uint32_t shards)
    : slice_(std::min<size_t>(kSliceFloats, slice_length)), modelled_slice_(slice_length) {
  const size_t parameters = (gradient_bytes + sizeof(float) - 1) / sizeof(float);
  const size_t padding = VectorLength(parameters) - parameters;
  const Route modelled(parameters, shards);
  // The first range is one of the longest.
  const size_t each = ShortLength(modelled.size(0), modelled_slice_, slice_);
  const size_t few = modelled.shards() * each - padding;
  const Route route(few, static_cast<uint32_t>(modelled.shards()));
  answers_ = {{EndsOf(route), EndsOf(modelled)}};
  parameters_ = answers_.front();
  parameters_.short_ends.back() = few;
  parameters_.modelled_ends.back() = parameters;
  const Cut whole = answers_.front();
  for (uint32_t count = 2; count <= parts; ++count) {
    const auto cut = [count](const std::vector<size_t>& ends) {
      return AnswerEnds(Field::kComplexPacked, ends.back(), ends, count);
    };
    answers_.push_back({cut(whole.short_ends), cut(whole.modelled_ends)});
  }
}

size_t ModelledVectors::PayloadBytes(const Header& header) const {
  if (header.kind == FrameKind::kPartition) {
    return static_cast<size_t>(sample_times_ * static_cast<double>(header.length));
  }
  if (modelled_slice_ == 0 || header.length == 0) return header.length;
  const size_t floats = WireFloats(header.format, header.length);
  switch (header.kind) {
    case FrameKind::kShardSum:
    case FrameKind::kShardCopy:
    case FrameKind::kShardState: {  // Offsets count within the shard.
      const Cut& cut = answers_.front();
      const size_t range = SizeAt(cut.short_ends, header.shard);
      const size_t modelled = SizeAt(cut.modelled_ends, header.shard);
      // The state of an optimizer follows the values.
      const size_t times = (header.total + range - 1) / range;
      return sizeof(float) * SliceFloats(header.offset, times * range, times * modelled, floats);
    }
    case FrameKind::kProbe:
      if (header.total == 0) return header.length;  // Without a vector.
      [[fallthrough]];
    case FrameKind::kGradient:
    case FrameKind::kParameters: {
      const Cut& cut = CutOf(header);
      const auto range = static_cast<size_t>(
          std::upper_bound(cut.short_ends.begin(), cut.short_ends.end(), header.offset) -
          cut.short_ends.begin());
      const size_t size = SizeAt(cut.short_ends, range);
      const size_t offset = header.offset - (cut.short_ends[range] - size);
      return WireBytes(header.format,
                       SliceFloats(offset, size, SizeAt(cut.modelled_ends, range), floats));
    }
    default: return header.length;
  }
}

size_t ModelledVectors::SliceFloats(size_t offset, size_t range, size_t modelled_range,
                                    size_t floats) const {
  const size_t before = std::min(offset / slice_ * modelled_slice_, modelled_range);
  // Ranges and parts are rounded to even lengths, so a short one may have a slice more or less.
  if (offset + slice_ >= range) return modelled_range - before;
  return before < modelled_range ? std::min(modelled_slice_, modelled_range - before) : floats;
}

const ModelledVectors::Cut& ModelledVectors::CutOf(const Header& header) const {
  if (header.kind == FrameKind::kParameters) return parameters_;
  for (auto cut = answers_.rbegin(); cut != answers_.rend(); ++cut) {
    if (cut->short_ends.back() == header.total) return *cut;
  }
  return answers_.front();
}

}  // namespace motley
