// SPDX-License-Identifier: Apache-2.0
// Counts every allocation of a test program that has counted_memory.cc among its sources: it
// replaces operator new. Any thread.
#pragma once

#include <cstddef>

namespace motley {

size_t AllocatedBytes();
// The most at any time since the last reset.
size_t MostAllocatedBytes();
void ResetMostAllocated();  // To what is allocated now.

}  // namespace motley
