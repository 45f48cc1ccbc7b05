// SPDX-License-Identifier: Apache-2.0
// All-reduce over two binary trees (Sanders, Speck and Traeff, Two-tree algorithms for full
// bandwidth broadcast, reduction and scan, 2009). Each tree takes every other chunk. Members that
// are inside one tree are leaves of the other, so that a link carries at most two vectors each way.
// A chunk needs 2 log2 n hops.
#pragma once

#include <vector>

#include "collective/algorithm.h"

namespace motley {

std::vector<Step> TreeSteps(const Place& place);

}  // namespace motley
