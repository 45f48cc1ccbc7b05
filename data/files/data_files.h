// SPDX-License-Identifier: Apache-2.0
// Finds the files that `--data` names.
#pragma once

#include <string>

#include "base/status.h"
#include "data/readers.h"

namespace motley {

// ParseDataSpec, with folders in MNIST's layout replaced by their files. kNotFound: such a folder
// has no images.
Result<DataSpec> FindFiles(const std::string& spec);

}  // namespace motley
