// SPDX-License-Identifier: Apache-2.0
// Archives as numpy.savez and numpy.savez_compressed write them, with arrays for features and
// labels. They are opened by path, not as a stream: a ZIP file's list is at its end.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kNpzFormat;

}  // namespace motley
