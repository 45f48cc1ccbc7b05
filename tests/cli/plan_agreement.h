// SPDX-License-Identifier: Apache-2.0
// Holds what `motley plan` says of a step to what it takes in the whole simulator: the same file,
// the same assumptions (docs/explanation/planner.md).
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// On a sample profile, with a batch of 256: every scheme, with every number of copies, takes as
// long with other seeds: within 10 %, or within the intervals that both runs state. Of at least
// this part of the schemes (`steady`) these are narrower than that.
void ExpectAgreementOn(const std::string& profile, double steady);
// On clusters drawn from these seeds; of four in five schemes.
void ExpectAgreementOnDrawn(uint64_t from, uint64_t to);

}  // namespace motley
