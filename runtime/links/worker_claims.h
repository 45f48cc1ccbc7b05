// SPDX-License-Identifier: Apache-2.0
// Bounds on what a worker says about itself. The scheduler computes with these figures, so a figure
// that cannot be true stops at the server's door, and the worker is sent away alone.
#pragma once

#include "base/status.h"
#include "transport/wire/control.h"

namespace motley {

// `batch`: samples of a step. kDataError says which figure is wrong and what the limit is.
Status CheckClaims(const wire::ReadyT& ready);
Status CheckClaims(const wire::ProgressT& progress, uint64_t batch);
Status CheckClaims(const wire::AnswerEndT& end, uint64_t batch);

}  // namespace motley
