// SPDX-License-Identifier: Apache-2.0
// Graph code (Glasgow and Wootters, JSAIT 2021). The vertices of a random (s + 1)-regular graph are
// 2 floor(n / (s + 1)) blocks of partitions, and its edges are the workers: each worker holds two
// blocks with coefficients 1. Loads are equal, whatever the speeds.
//
// The graph is a union of perfect matchings: floor((s + 1) / 2) random Hamiltonian cycles of even
// length give two matchings each, and an odd s + 1 adds one random matching. Of 20 draws the best
// expander (least second eigenvalue) is kept. Each matching tiles all partitions, so C has one row
// per matching (SetClasses): any s stragglers leave one matching whole, and a plain sum is exact.
// With more stragglers, the decoder of block_graph.h has an error close to that of repetition, and
// about half of it when an adversary chooses the missing workers. If s + 1 does not divide n, the
// remaining workers are edges outside of all matchings: only the approximate decoder uses them.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildGraphCode(const CodeRequest& request);

}  // namespace motley
