// SPDX-License-Identifier: Apache-2.0
// Vectors cut into parts of equal length that codes with short messages mix: a message is as long
// as one part, z = sum_i sum_u w_{i,u} g_i[part u], and part u of the sum is a weighted sum of
// messages. Vectors have even length for complex packing. Any thread; spans do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "coding/code_form.h"

namespace motley {

// Floats in a part, and so in a message; even for complex packing. The last parts may be shorter or
// empty: they count as filled with zeros.
size_t PartLength(Field field, size_t length, uint32_t parts);

// message += sum_u weights[u] * part u of `values`; weights.size() parts, message.size() must be
// their PartLength.
void AddParts(Field field, std::span<const Complex> weights, std::span<const float> values,
              std::span<float> message, ParallelFor& parallel);

// Part u of `out` = sum_j weights[j * parts + u] * messages[j]. An empty message counts as zeros.
void WriteParts(Field field, std::span<const Complex> weights, uint32_t parts,
                std::span<const std::span<const float>> messages, std::span<float> out,
                ParallelFor& parallel);

}  // namespace motley
