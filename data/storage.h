// SPDX-License-Identifier: Apache-2.0
// The type in which features of dense samples are kept, sent and copied to devices: float32, or
// 16-bit numbers that are rounded once and widened by the devices as they compute. Everything else
// is float32.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "devices/kernels.h"

namespace motley {

enum class Storage : uint16_t { kFloat32 = 0, kFp16 = MOTLEY_FP16, kBf16 = MOTLEY_BF16 };

const char* NameOf(Storage storage);
// Parses "float32", "fp16" or "bf16"; kInvalidArgument otherwise.
Result<Storage> ParseStorage(std::string_view name);

inline size_t BytesOf(Storage storage) { return storage == Storage::kFloat32 ? 4 : 2; }

// The bits of the nearest number of a 16-bit `storage`. Ties go to the even number; values beyond
// the range become infinite.
uint16_t Rounded(float value, Storage storage);
// False for infinities and NaN.
bool IsFinite(uint16_t bits, Storage storage);

}  // namespace motley
