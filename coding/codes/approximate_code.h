// SPDX-License-Identifier: Apache-2.0
// The placement of code "approximate", whose steps need not be exact; it equals that of repetition.
// Exact steps tolerate any s missing workers. With more missing at random, copies with plain sums
// lose the least (approximate.h). They also follow the speeds and have small least-squares weights.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildApproximateCode(const CodeRequest& request);

}  // namespace motley
