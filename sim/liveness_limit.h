// SPDX-License-Identifier: Apache-2.0
// The longest time that a step may take once faults are over.
#pragma once

#include <cstddef>

#include "sim/sim_cluster.h"

namespace motley {

// Ten times the longest fault, plus ten times what the slowest worker needs to receive the whole
// data set and the parameters and to answer every row alone. Faults count because deadlines are
// learned from measured times. `vector_length` is in floats.
Duration LivenessLimit(const SimOptions& options, const Dataset& data, size_t vector_length);

}  // namespace motley
