// SPDX-License-Identifier: Apache-2.0
// Which files `--data` means.
#pragma once

#include <string>

#include "base/status.h"
#include "data/readers.h"

namespace motley {

// ParseDataSpec, with folders in MNIST's layout resolved to their files. kNotFound: such a folder
// without images.
Result<DataSpec> FindFiles(const std::string& spec);

}  // namespace motley
