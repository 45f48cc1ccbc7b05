// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace motley {

// The default learning rate: 0.1, or 0.001 for adam, whose steps are as long as the rate itself.
// 0.1 for an unknown name.
double DefaultLearningRate(std::string_view optimizer);

}  // namespace motley
