// SPDX-License-Identifier: Apache-2.0
// The kinds of C that decode by different means.
#pragma once

#include "coding/code_form.h"

namespace motley {

enum class CShape {
  kNodes,    // C[t,i] = z_i^t: any s rows may be missing, never more.
  kClasses,  // Each row in at most one accumulator, with weight 1; v = 1: one whole class is
             // enough.
  kDense,    // Anything else; taken to bear any s missing rows and no more.
};

// Precondition: !form.tiling().
CShape ShapeOfC(const CodeForm& form);

}  // namespace motley
