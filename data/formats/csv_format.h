// SPDX-License-Identifier: Apache-2.0
// CSV: fields between commas, semicolons or tabs (told by the first line), optionally in double
// quotes, optionally under a line of column names; one column is the label. All fields are numbers,
// which stay as they are, or, with ReadOptions::table, the cells of a table. A first line 0,1,2,...
// is a line of names, as pandas writes it for columns without names; of fewer than four columns, or
// with other numbers in equal steps, only if the second line has a fraction, because it could be a
// sample.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kCsvFormat;

}  // namespace motley
