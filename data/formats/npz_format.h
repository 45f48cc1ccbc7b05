// SPDX-License-Identifier: Apache-2.0
// Archives of numpy.savez and numpy.savez_compressed, with arrays for features and labels. They are
// opened by path, not as a stream, because the directory of a ZIP file is at its end.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kNpzFormat;

}  // namespace motley
