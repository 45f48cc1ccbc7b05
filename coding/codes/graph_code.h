// SPDX-License-Identifier: Apache-2.0
// Graph code (Glasgow and Wootters, JSAIT 2021): 2 floor(n / (s + 1)) blocks of partitions are the
// vertices of a random (s + 1)-regular graph and workers are its edges: each holds two blocks with
// coefficients 1. Speeds do not matter: loads are equal.
//
// The graph is put together from perfect matchings: floor((s + 1) / 2) random Hamiltonian cycles of
// even length, each two matchings, and one random matching more when s + 1 is odd; of 20 draws the
// best expander (least second eigenvalue). Each matching tiles all partitions, so C has one row per
// matching (SetClasses): any s stragglers leave one whole, and a plain sum is exact. Beyond s, the
// decoder of block_graph.h leaves an error close to that of repetition, and about half of it when
// an adversary chooses who is missing. Workers that are left over when s + 1 does not divide n are
// edges of no class: only the approximate decoder uses them.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildGraphCode(const CodeRequest& request);

}  // namespace motley
