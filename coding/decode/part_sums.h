// SPDX-License-Identifier: Apache-2.0
// Sums for codes with short answers, which cut vectors into parts of equal length. An answer is as
// long as one part, z = sum_i sum_u w_{i,u} g_i[part u], and part u of the sum is a weighted sum of
// answers. Vectors have even length for complex packing. Any thread; spans do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "coding/code_form.h"

namespace motley {

// The length of a part, and so of an answer; even for complex packing. The last parts may be
// shorter or empty and count as padded with zeros.
size_t PartLength(Field field, size_t length, uint32_t parts);

// A vector may consist of ranges that are cut into parts on their own, because each belongs to
// another shard. `ends` are the ends of the ranges, in order; empty: the vector is one range. An
// answer then has the answers of the ranges, one behind the other. These are where they end.
std::vector<size_t> AnswerEnds(Field field, size_t length, std::span<const size_t> ends,
                               uint32_t parts);

struct FloatRange {
  size_t begin = 0;
  size_t size = 0;
};

// The range that floats [begin, end) of an answer have in part `part` of a vector of `length`.
FloatRange InPart(size_t begin, size_t end, size_t part_length, uint32_t part, size_t length);

// answer += sum_u weights[u] * part u of `values`, in one pass. There are weights.size() parts, and
// answer.size() is their PartLength, or the last of AnswerEnds.
void AddParts(Field field, std::span<const Complex> weights, std::span<const float> values,
              std::span<float> answer, ParallelFor& parallel, std::span<const size_t> ends = {});

}  // namespace motley
