// SPDX-License-Identifier: Apache-2.0
// Renumbers the partitions of a code to match what workers already hold. Any numbering of its
// columns is equally good for a code. Pure.
#pragma once

#include <vector>

#include "coding/code_form.h"

namespace motley {

// `held[i]` says for each partition if owner i (of RowLists) holds it. If owners are to have as
// many partitions as they hold, hardly anything is left to send. Greedy: partitions with the fewest
// holders come first.
CodeForm RelabelToHeld(const CodeForm& code, const std::vector<const std::vector<bool>*>& held);

}  // namespace motley
