// SPDX-License-Identifier: Apache-2.0
// The kinds of C that decode by different means, and the blocks that one may fall into.
#pragma once

#include <vector>

#include "coding/code_form.h"

namespace motley {

enum class CShape {
  kNodes,    // C[t,i] = z_i^t: any s rows may be missing, never more.
  kClasses,  // Each row in at most one accumulator, with weight 1; v = 1: one whole class is
             // enough.
  kDense,    // Anything else; all with parts.
};

// Precondition: !form.tiling().
CShape ShapeOfC(const CodeForm& form);

// Rows that share accumulators, directly or through others. A block is a code by itself: one that
// decodes is enough. Taken to bear as many missing rows as it has accumulators beside one, and no
// more than the form bears.
struct CBlock {
  std::vector<RowId> rows;  // Ascending; rows without any partition are in none.
  size_t bears = 0;
};

// Precondition: !form.tiling(). Blocks with an accumulator of v = 0 only are left out.
std::vector<CBlock> BlocksOfC(const CodeForm& form);
// Whether one of them misses no more rows than it bears; `present` has one flag per row.
bool SomeBlockDecodes(const std::vector<CBlock>& blocks, const std::vector<bool>& present);

}  // namespace motley
