// SPDX-License-Identifier: Apache-2.0
// The sentence of what an audit found, for users.
#pragma once

#include <string>

#include "runtime/job.h"

namespace motley {

// "audit of step 3: the gradient that worker 1 (old-pc) sent differs by ...".
std::string AuditText(const AuditWarning& warning);

}  // namespace motley
