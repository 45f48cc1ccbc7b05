// SPDX-License-Identifier: Apache-2.0
#include "collective/vector_cut.h"

#include <algorithm>

#include "coding/kernels/combine.h"

namespace motley {

std::vector<Chunk> CutContribution(size_t values, size_t beside, uint32_t segments,
                                   size_t longest) {
  std::vector<Chunk> chunks;
  for (uint32_t segment = 0; segment < segments; ++segment) {
    const size_t end =
        values / segments * (segment + 1) + std::min<size_t>(values % segments, segment + 1);
    size_t begin = values / segments * segment + std::min<size_t>(values % segments, segment);
    for (; begin < end; begin += longest) {
      chunks.push_back({segment, begin, std::min(longest, end - begin), false});
    }
  }
  if (beside > 0) chunks.push_back({segments - 1, 0, beside, true});
  return chunks;
}

std::span<std::byte> BytesOf(Contribution& contribution, const Chunk& chunk) {
  if (chunk.beside) return std::as_writable_bytes(std::span(contribution.beside));
  return std::as_writable_bytes(std::span(contribution.vector).subspan(chunk.begin, chunk.size));
}

void AddTo(Contribution& contribution, const Chunk& chunk, const std::byte* bytes) {
  if (chunk.beside) {
    const auto* values = reinterpret_cast<const double*>(bytes);
    for (size_t i = 0; i < chunk.size; ++i) contribution.beside[i] += values[i];
    return;
  }
  AddWeighted(Field::kReal, 1, {reinterpret_cast<const float*>(bytes), chunk.size},
              std::span(contribution.vector).subspan(chunk.begin, chunk.size));
}

}  // namespace motley
