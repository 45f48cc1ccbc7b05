// SPDX-License-Identifier: Apache-2.0
// CSV: numbers between commas, semicolons or tabs (told by the first line), optionally in double
// quotes, optionally under a line of column names; one column is the label. Values stay as they
// are, without rescaling.
#pragma once

#include "training/raw_samples.h"

namespace motley {

extern const FileFormat kCsvFormat;

}  // namespace motley
