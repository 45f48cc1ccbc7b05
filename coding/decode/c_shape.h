// SPDX-License-Identifier: Apache-2.0
// The kinds of C that decode by different methods, and the independent blocks of a C.
#pragma once

#include <vector>

#include "coding/code_form.h"

namespace motley {

enum class CShape {
  kNodes,    // C[t,i] = z_i^t: any s rows may be missing, never more.
  kClasses,  // Each row is in at most one accumulator, with weight 1; v = 1: one whole class
             // decodes.
  kDense,    // All others, and all codes with parts.
};

// Precondition: !form.tiling().
CShape ShapeOfC(const CodeForm& form);

// Rows that share accumulators, directly or through other rows. A block is a code of its own, and
// one block that decodes is enough. A block with r accumulators is assumed to tolerate r - 1
// missing rows, but no more than the form does.
struct CBlock {
  std::vector<RowId> rows;  // Ascending; empty rows are in no block.
  size_t bears = 0;
};

// Precondition: !form.tiling(). Blocks that only have accumulators with v = 0 are left out.
std::vector<CBlock> BlocksOfC(const CodeForm& form);
// True if some block misses no more rows than it tolerates; `present` has one flag per row.
bool SomeBlockDecodes(const std::vector<CBlock>& blocks, const std::vector<bool>& present);

}  // namespace motley
