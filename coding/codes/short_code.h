// SPDX-License-Identifier: Apache-2.0
// Communication-efficient gradient code (Ye and Abbe, ICML 2018, arXiv 1802.03475): answers 1/m as
// long as a gradient, for d = s + m copies of every partition, which is the least possible. Pure;
// any thread.
//
// Gradients are cut into m parts (part_sums.h; the paper's blocks of m coordinates, reordered).
// Worker j answers, for the partitions i that it holds,
//   z_j = sum_i sum_u E[j,i,u] g_i[part u].
// Any placement with d copies will do; this one is the walk of the heterogeneous code
// (cyclic_walk.h), whose loads follow the speeds.
// The paper inverts an (n - s) x (n - s) Vandermonde matrix, which real numbers bear up to n of
// about 20. Here both ends are d x d, whatever n is: with nodes z_j on the complex unit circle
// (coordinates packed in pairs), C[t,j] = z_j^t for t = 0..d-1, and m different powers t_u,
//   C_W E[W,i,u] = e_{t_u}                  for the holders W of group i, so V[.,u] = e_{t_u};
//   X C_S = 0,  X[u,t_u'] = delta_{u,u'}    for the missing workers S.
// So the server keeps d sums of 1/m of a gradient each. With the t_u at both ends of 0..d-1, X is
// left with s powers in a row, so that any S of s workers can be solved for, and least
// amplification.
//
// Errors in float are at most 4e-6 (2.4e-6 measured) of the direct sum of gradients whose parts are
// alike, for n <= 32, s <= 3, m <= 4 and speeds up to 10 times apart. An error is spread over the
// parts: a part much smaller than the others has a larger one relative to itself, and what is below
// the noise of its counterparts is set to zero (noise_floor.h).
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// "short". kInvalidArgument unless 1 <= m <= kMaxParts and s + m <= n.
Result<CodeForm> BuildShortCode(const CodeRequest& request);

}  // namespace motley
