// SPDX-License-Identifier: Apache-2.0
// What the decoders have in common.
#pragma once

#include "coding/decode/decoder.h"

namespace motley {

// kInvalidArgument unless there is one flag per row.
Status CheckPresent(const CodeForm& form, const std::vector<bool>& present);

// Rows that hold something and are not present, ascending.
std::vector<RowId> MissingRows(const CodeForm& form, const std::vector<bool>& present);

// "3 of 8 answers are missing".
std::string DescribeMissing(const CodeForm& form, size_t missing);

// The result when it is within the limits, otherwise kNotDecodable with the reason. Works out the
// amplification from `a` and `largest` = max|B|.
Result<DecodingVector> Accept(const CodeForm& form, DecodingVector result, size_t missing,
                              const DecodeLimits& limits);

}  // namespace motley
