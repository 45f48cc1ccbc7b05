// SPDX-License-Identifier: Apache-2.0
// Draws how the links of a scenario's job are used.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// 8 % of the jobs with few workers measure their links first, as for a long vector. Half of these
// may leave it to the server. 15 % of the jobs whose shards are elsewhere have no follower or
// three, and the others one or two. In 15 % of the scenarios whose answers are only added, vectors
// travel rounded. Where a code does not need all answers, these always wait for grants in 20 % of
// the scenarios. In another 10 % the server's link is so thin that the job may choose that by
// itself. One of several workers that hold the vector is far from the others in 30 % of the
// scenarios.
void DrawLinks(SimOptions& options);

}  // namespace motley
