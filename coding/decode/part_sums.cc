// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/part_sums.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "coding/kernels/combine.h"

namespace motley {
namespace {

constexpr size_t kGrain = size_t{1} << 14;  // Even.
constexpr size_t kBlock = size_t{1} << 12;  // Floats of an answer that stay in cache. Even.

}  // namespace

size_t PartLength(Field field, size_t length, uint32_t parts) {
  const size_t part = (length + parts - 1) / parts;
  return field == Field::kComplexPacked ? part + part % 2 : part;
}

std::vector<size_t> AnswerEnds(Field field, size_t length, std::span<const size_t> ends,
                               uint32_t parts) {
  if (ends.empty()) return {PartLength(field, length, parts)};
  std::vector<size_t> of_answer;
  size_t begin = 0;
  size_t answer = 0;
  for (const size_t end : ends) {
    answer += PartLength(field, end - begin, parts);
    of_answer.push_back(answer);
    begin = end;
  }
  return of_answer;
}

FloatRange InPart(size_t begin, size_t end, size_t part_length, uint32_t part, size_t length) {
  const size_t from = std::min(part * part_length + begin, length);
  const size_t to = std::min(part * part_length + end, length);
  return {from, to - from};
}

void AddParts(Field field, std::span<const Complex> weights, std::span<const float> values,
              std::span<float> answer, ParallelFor& parallel, std::span<const size_t> ends) {
  const auto parts = static_cast<uint32_t>(weights.size());
  if (ends.size() > 1 && parts > 1) {
    const std::vector<size_t> of_answer = AnswerEnds(field, values.size(), ends, parts);
    size_t begin = 0;
    size_t from = 0;
    for (size_t range = 0; range < ends.size(); ++range) {
      AddParts(field, weights, values.subspan(begin, ends[range] - begin),
               answer.subspan(from, of_answer[range] - from), parallel);
      begin = ends[range];
      from = of_answer[range];
    }
    return;
  }
  MOTLEY_ASSERT(answer.size() == PartLength(field, values.size(), parts));
  const auto add = [&](size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += kBlock) {
      for (uint32_t part = 0; part < parts; ++part) {
        const FloatRange range =
            InPart(at, std::min(at + kBlock, end), answer.size(), part, values.size());
        if (weights[part] == Complex(0) || range.size == 0) continue;
        AddWeighted(field, weights[part], values.subspan(range.begin, range.size),
                    answer.subspan(at, range.size));
      }
    }
  };
  if (answer.size() <= kGrain) return add(0, answer.size());
  parallel.For(answer.size(), kGrain, add);
}

}  // namespace motley
