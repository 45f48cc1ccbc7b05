// SPDX-License-Identifier: Apache-2.0
// The streams that the suites of streams and channels run on.
#pragma once

#include <vector>

#include "tests/conformance/stream_suite.h"

namespace motley {

// Scripted streams, and those of every scheme in the list.
std::vector<StreamCase> AllStreams();

}  // namespace motley
