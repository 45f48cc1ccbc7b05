// SPDX-License-Identifier: Apache-2.0
// Which partition is which does not matter to a code: any renumbering of its columns is as good. So
// a code for workers that hold data already is renumbered to what they hold. Pure.
#pragma once

#include <vector>

#include "coding/code_form.h"

namespace motley {

// `held[i]`: by partition, whether owner i (of RowLists) holds it. Where owners are to have as many
// partitions as they hold, hardly anything is left to be sent: greedily, those with the fewest
// holders first.
CodeForm RelabelToHeld(const CodeForm& code, const std::vector<const std::vector<bool>*>& held);

}  // namespace motley
