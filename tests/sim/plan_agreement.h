// SPDX-License-Identifier: Apache-2.0
// Holds what `motley plan` says of a step to what it takes in the whole simulator: the same file,
// the same assumptions (docs/planner.md).
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// On a sample profile, with a batch of 256: every scheme that a job can run, with every number of
// copies, unless the plan says that its runs differ.
void ExpectAgreementOn(const std::string& profile);
// On clusters drawn from these seeds; hardly any scheme is unsteady there.
void ExpectAgreementOnDrawn(uint64_t from, uint64_t to);

}  // namespace motley
