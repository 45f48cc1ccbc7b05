// SPDX-License-Identifier: Apache-2.0
// Numbers that no other run has, even with the same seed. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace motley {

std::string FreshToken();  // 128 random bits.
uint32_t FreshJobId();     // Not 0.
Incarnation FreshIncarnation();

}  // namespace motley
