// SPDX-License-Identifier: Apache-2.0
// The production Store: files under one folder.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/store/store.h"

namespace motley {

enum class MissingFolder { kCreate, kRefuse };

// Opens `folder`. If it is missing and `missing` allows it, creates it durably with its parents;
// otherwise kNotFound. kInvalidArgument: it is a file.
Result<std::unique_ptr<Store>> OpenFileStore(const std::string& folder, MissingFolder missing);

}  // namespace motley
