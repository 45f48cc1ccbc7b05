// SPDX-License-Identifier: Apache-2.0
// Floats as they travel (base/wire_format.h, docs/decisions/0050). Every instruction set gives the
// same bytes and the same values. Any thread.
//
//   float32  4 bytes per value, unchanged
//   bf16     2 bytes per value: rounded to nearest, ties to even
//   int8     for each block of 256 values a float and then one byte per value. The float is a 127th
//            of the block's largest magnitude, or NaN if one of the values is not finite. A byte is
//            a multiple of it from -127 to 127, rounded up or down by chance, so that the mean is
//            the value. The last block may be shorter.
//
// The chance is drawn from 16 bits, so the mean is right to 2^-24 of the block's largest magnitude.
// Zeros stay zeros.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "base/wire_format.h"

namespace motley {

// Writes WireBytes(format, values.size()) bytes. `draws` makes the same values the same bytes. If
// `rounded` is not null, it receives the values that UnpackFloats will give; it may be
// `values.data()`.
void PackFloats(WireFormat format, std::span<const float> values, Random::Philox draws,
                std::span<std::byte> to, float* rounded = nullptr);

// kDataError: the bytes are not those of so many values. A block with a value that was not finite
// becomes NaN.
Status UnpackFloats(WireFormat format, BytesView bytes, std::span<float> values);

namespace reference {  // The same, one value at a time.
void PackBlock(const float* values, const Random::Philox& draws, size_t block, std::byte* to,
               float* rounded);
void PackFloats(WireFormat format, std::span<const float> values, Random::Philox draws,
                std::span<std::byte> to, float* rounded = nullptr);
}  // namespace reference

}  // namespace motley
