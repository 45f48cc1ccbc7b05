// SPDX-License-Identifier: Apache-2.0
// Selects the notices of one kind.
#pragma once

#include <variant>
#include <vector>

#include "scheduler/notice.h"

namespace motley {

template <typename Kind, typename AnyNotice>
std::vector<Kind> Only(const std::vector<AnyNotice>& notices) {
  std::vector<Kind> found;
  for (const AnyNotice& notice : notices) {
    if (const auto* one = std::get_if<Kind>(&notice)) found.push_back(*one);
  }
  return found;
}

}  // namespace motley
