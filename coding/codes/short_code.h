// SPDX-License-Identifier: Apache-2.0
// Communication-efficient gradient code (Ye and Abbe, ICML 2018, arXiv 1802.03475). Answers are 1/m
// as long as a gradient, for d = s + m copies of every partition, which is the minimum. Pure; any
// thread.
//
// Gradients are cut into m parts (part_sums.h; the paper's blocks of m coordinates, reordered).
// Worker j answers, for the partitions i that it holds,
//   z_j = sum_i sum_u E[j,i,u] g_i[part u].
// Any placement with d copies works; this is the walk of the heterogeneous code (cyclic_walk.h), so
// loads follow the speeds.
//
// The paper inverts an (n - s) x (n - s) Vandermonde matrix, which is accurate for real numbers
// only up to n of about 20. Here all systems are d x d, for any n. With nodes z_j on the complex
// unit circle (coordinates packed in pairs), C[t,j] = z_j^t for t = 0..d-1, and m different powers
// t_u,
//   C_W E[W,i,u] = e_{t_u}                  for the holders W of group i, so V[.,u] = e_{t_u};
//   X C_S = 0,  X[u,t_u'] = delta_{u,u'}    for the missing workers S.
// So the server keeps d sums of 1/m of a gradient each. The t_u are at both ends of 0..d-1, which
// leaves X with s consecutive powers: any S of s workers can then be solved for, with the least
// amplification.
//
// Float errors are at most 4e-6 (measured: 2.4e-6) of the direct sum of gradients with parts of
// similar size, for n <= 32, s <= 3, m <= 4 and speeds up to 10 times apart. An error spreads over
// all parts, so a part much smaller than the others has a larger relative error. Values below the
// noise of the other parts are set to zero (noise_floor.h).
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// "short". kInvalidArgument unless 1 <= m <= kMaxParts and s + m <= n.
Result<CodeForm> BuildShortCode(const CodeRequest& request);

}  // namespace motley
