// SPDX-License-Identifier: Apache-2.0
// Group-based heterogeneity-aware code (Wang, Guo, Tang, Li, Li, ICDCS 2019), for speeds that are
// not well known. The placement is that of the heterogeneous code, in the order of the workers. A
// group is a set of workers whose partitions tile the data exactly once. P <= s + 1 groups without
// a common worker send plain sums. The workers outside the groups hold each partition s + 1 - P
// times, and are coded for s - P stragglers on the unit circle (unit_circle.h).
//
// As one C-form: C has one row per group, 1 at its members, with v = 1; below these are the s - P +
// 1 rows of the C of the workers outside. Any whole group solves x C = 0 on the missing rows,
// however many others are missing. If every group lost a member, at most s - P of the s missing
// workers are outside the groups.
//
// Groups are found one after another, each by exact cover among the remaining workers: depth first
// over the first uncovered partition. The search runs in 20 random orders of the workers, and the
// order with the most groups wins. It takes at most 10,000 steps per group, and in each order at
// most 20 million visits of a worker or of one of its runs of partitions. (The paper enumerates all
// groups and drops those that intersect most others; with equal speeds there are exponentially
// many.) With speeds in odd ratios there usually is no group, and the code equals the heterogeneous
// code. Fewer distinct loads give more groups.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildGroupCode(const CodeRequest& request);

}  // namespace motley
