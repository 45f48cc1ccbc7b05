// SPDX-License-Identifier: Apache-2.0
// A gradient code as bytes, for nodes that decode answers but did not make the code. Neighbouring
// entries of a row with equal coefficients are one run. Pure; any thread.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

Bytes EncodeForm(const CodeForm& form);

// kDataError: these are not the bytes of a valid code (Validate). Allocates no more than a small
// multiple of their size, except for the partitions of runs: at most `partitions` for each row.
// `partitions` is the job's number of them, which the form must have.
Result<CodeForm> DecodeForm(BytesView bytes, uint32_t partitions);

}  // namespace motley
