// SPDX-License-Identifier: Apache-2.0
// Bounds on what a worker reports about itself. The scheduler computes with these figures. The
// server therefore refuses an impossible figure, and sends only that worker away.
#pragma once

#include "base/status.h"
#include "transport/wire/control.h"

namespace motley {

// kDataError names the wrong figure and its limit.
Status CheckClaims(const wire::ReadyT& ready);
Status CheckClaims(const wire::ProgressT& progress, uint64_t batch);
Status CheckClaims(const wire::AnswerEndT& end, uint64_t batch);

}  // namespace motley
