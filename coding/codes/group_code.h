// SPDX-License-Identifier: Apache-2.0
// Group-based heterogeneity-aware code (Wang, Guo, Tang, Li, Li, ICDCS 2019), for speeds that are
// not well known. The placement is that of the heterogeneous code, in the order of the workers. A
// group is a set of workers whose partitions tile the data exactly once; P <= s + 1 groups without
// a common worker send plain sums. The workers outside hold each partition s + 1 - P times and are
// coded for s - P stragglers, on the unit circle (unit_circle.h).
//
// As one C-form: C has one row per group, 1 at its members, v = 1, and below them the s - P + 1
// rows of the rest's own C. So x C = 0 on the missing rows is solved by any whole group, however
// many others are missing; and where every group lost a member, at most s - P of the s missing are
// outside.
//
// Groups are found one after another, each by exact cover among the workers that are left: depth
// first over the first uncovered partition, in 20 random orders of the workers of which the most
// groups are kept; at most 10,000 steps a group, and 20 million looks at a worker or a run of
// partitions that it holds in each order. (The paper enumerates all groups and drops those that
// meet most others; with equal speeds there are exponentially many.) Without any group, as is usual
// with odd speeds, this is the heterogeneous code; the fewer distinct loads, the more groups.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildGroupCode(const CodeRequest& request);

}  // namespace motley
