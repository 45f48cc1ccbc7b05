// SPDX-License-Identifier: Apache-2.0
// Counts every allocation of a test program that includes counted_memory.cc, which replaces
// operator new. Any thread.
#pragma once

#include <cstddef>

namespace motley {

size_t AllocatedBytes();
// The most allocated at any time since the last reset.
size_t MostAllocatedBytes();
void ResetMostAllocated();  // Sets it to the bytes allocated now.

}  // namespace motley
