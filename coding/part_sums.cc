// SPDX-License-Identifier: Apache-2.0
#include "coding/part_sums.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "coding/combine.h"

namespace motley {
namespace {

constexpr size_t kGrain = size_t{1} << 14;  // Even.

struct Range {
  size_t begin = 0;
  size_t size = 0;
};

// [begin, end) of a message where it meets part u of a vector of `length` floats.
Range InPart(size_t begin, size_t end, size_t part_length, uint32_t part, size_t length) {
  const size_t from = std::min(part * part_length + begin, length);
  const size_t to = std::min(part * part_length + end, length);
  return {from, to - from};
}

}  // namespace

size_t PartLength(Field field, size_t length, uint32_t parts) {
  const size_t part = (length + parts - 1) / parts;
  return field == Field::kComplexPacked ? part + part % 2 : part;
}

void AddParts(Field field, std::span<const Complex> weights, std::span<const float> values,
              std::span<float> message, ParallelFor& parallel) {
  const auto parts = static_cast<uint32_t>(weights.size());
  MOTLEY_ASSERT(message.size() == PartLength(field, values.size(), parts));
  parallel.For(message.size(), kGrain, [&](size_t begin, size_t end) {
    for (uint32_t part = 0; part < parts; ++part) {
      const Range range = InPart(begin, end, message.size(), part, values.size());
      if (weights[part] == Complex(0) || range.size == 0) continue;
      AddWeighted(field, weights[part], values.subspan(range.begin, range.size),
                  message.subspan(begin, range.size));
    }
  });
}

void WriteParts(Field field, std::span<const Complex> weights, uint32_t parts,
                std::span<const std::span<const float>> messages, std::span<float> out,
                ParallelFor& parallel) {
  MOTLEY_ASSERT(weights.size() == messages.size() * parts);
  const size_t part_length = PartLength(field, out.size(), parts);
  for (const auto& message : messages) {
    MOTLEY_ASSERT(message.empty() || message.size() == part_length);
  }
  parallel.For(part_length, kGrain, [&](size_t begin, size_t end) {
    std::vector<Complex> used;
    std::vector<const float*> terms;
    for (uint32_t part = 0; part < parts; ++part) {
      const Range range = InPart(begin, end, part_length, part, out.size());
      if (range.size == 0) continue;
      used.clear();
      terms.clear();
      for (size_t j = 0; j < messages.size(); ++j) {
        const Complex weight = weights[j * parts + part];
        if (messages[j].empty() || weight == Complex(0)) continue;
        used.push_back(weight);
        terms.push_back(messages[j].data() + begin);
      }
      const std::span<float> sum = out.subspan(range.begin, range.size);
      std::fill(sum.begin(), sum.end(), 0.0F);
      if (!terms.empty()) WeightedSum(field, used, terms, sum);
    }
  });
}

}  // namespace motley
