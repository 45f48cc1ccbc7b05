// SPDX-License-Identifier: Apache-2.0
// Functions that all decoders share.
#pragma once

#include "coding/decode/decoder.h"

namespace motley {

// kInvalidArgument unless there is one flag per row.
Status CheckPresent(const CodeForm& form, const std::vector<bool>& present);

// The missing rows that are not empty, ascending.
std::vector<RowId> MissingRows(const CodeForm& form, const std::vector<bool>& present);

// "3 of 8 answers are missing".
std::string DescribeMissing(const CodeForm& form, size_t missing);

// Returns the result if it is within the limits, otherwise kNotDecodable with the reason. Computes
// the amplification from `a` and the largest coefficient.
Result<DecodingVector> Accept(const CodeForm& form, DecodingVector result, size_t missing,
                              const DecodeLimits& limits);

}  // namespace motley
