// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace motley {

// The learning rate of a job that names none: 0.1, and 0.001 with adam, whose steps are as long as
// the rate itself. 0.1 for a name that is no optimizer's.
double DefaultLearningRate(std::string_view optimizer);

}  // namespace motley
