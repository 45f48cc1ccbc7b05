// SPDX-License-Identifier: Apache-2.0
// The Store of production: files under one folder.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/store/store.h"

namespace motley {

enum class MissingFolder { kCreate, kRefuse };

// `folder` is made, with its parents and so that their names survive a power cut, when it is
// missing and `missing` says so; otherwise kNotFound. kInvalidArgument when it is a file.
Result<std::unique_ptr<Store>> OpenFileStore(const std::string& folder, MissingFolder missing);

}  // namespace motley
