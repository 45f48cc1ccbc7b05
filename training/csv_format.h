// SPDX-License-Identifier: Apache-2.0
// CSV: numbers between commas, semicolons or tabs (told by the first line), optionally in double
// quotes, optionally under a line of column names; one column is the label. Values stay as they
// are, without rescaling. A first line 0,1,2,... is a line of names, as pandas writes it for
// columns without names; of fewer than four columns only if the second line has a fraction, because
// it could be a sample.
#pragma once

#include "training/raw_samples.h"

namespace motley {

extern const FileFormat kCsvFormat;

}  // namespace motley
