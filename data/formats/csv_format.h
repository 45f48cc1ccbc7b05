// SPDX-License-Identifier: Apache-2.0
// CSV: fields between commas, semicolons or tabs (detected in the first line), optionally quoted,
// optionally under a line of column names. One column is the label. Fields are numbers; with
// ReadOptions::table they are cells of a table instead.
// A first line 0,1,2,... is taken for names, which pandas writes for unnamed columns. A first line
// of fewer than four columns, or of other numbers in equal steps, could also be a sample. It is
// taken for names only if the second line has a fraction.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kCsvFormat;

}  // namespace motley
