// SPDX-License-Identifier: Apache-2.0
// How long a step may take at most once faults are over.
#pragma once

#include <cstddef>

#include "sim/sim_cluster.h"

namespace motley {

// Ten times what the slowest worker needs to get the whole data set and the parameters and to
// answer every row alone, plus ten times the longest fault, since deadlines are learned from what
// was seen. `vector_length` in floats.
Duration LivenessLimit(const SimOptions& options, const Dataset& data, size_t vector_length);

}  // namespace motley
