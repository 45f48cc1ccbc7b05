// SPDX-License-Identifier: Apache-2.0
// The placement of code "approximate", whose steps need not be exact: that of repetition. Any s
// workers may be missing from an exact step; beyond that, copies with plain sums keep most when
// whoever is missing is random (approximate.h), follow the speeds, and have small least-squares
// weights.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildApproximateCode(const CodeRequest& request);

}  // namespace motley
