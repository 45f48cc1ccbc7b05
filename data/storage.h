// SPDX-License-Identifier: Apache-2.0
// How the features of dense samples are kept, sent, and copied to devices: as float32, or rounded
// once to numbers of 16 bits, which devices widen where they compute. All else is float32.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "devices/kernels.h"

namespace motley {

enum class Storage : uint16_t { kFloat32 = 0, kFp16 = MOTLEY_FP16, kBf16 = MOTLEY_BF16 };

const char* NameOf(Storage storage);
// "float32", "fp16", "bf16". kInvalidArgument: another.
Result<Storage> ParseStorage(std::string_view name);

inline size_t BytesOf(Storage storage) { return storage == Storage::kFloat32 ? 4 : 2; }

// The bits of the nearest number of `storage`, of two equally near ones the even; infinite when
// there is none so large. 16 bits only.
uint16_t Rounded(float value, Storage storage);
// Neither infinite nor no number.
bool IsFinite(uint16_t bits, Storage storage);

}  // namespace motley
