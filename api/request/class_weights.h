// SPDX-License-Identifier: Apache-2.0
// What samples of each class weigh in training, as a user says it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"

namespace motley {

struct ClassWeightsWish {
  bool balanced = false;
  std::vector<std::pair<std::string, double>> named;  // Each class by its name or number.

  bool given() const { return balanced || !named.empty(); }
};

// "balanced", "setosa=2,virginica=0.5", "1=20"; an empty text is no wish. kInvalidArgument.
Result<ClassWeightsWish> ParseClassWeights(std::string_view text);

// One weight per class, as ModelSpec has them. Classes that are not named weigh 1. Balanced: of n
// samples and k classes that occur, one with m samples has n / (k m), so that all classes count
// alike and a sample weighs 1 in the mean. `names`: of the classes; a class is also found by its
// position there. Reads all of `train` for balanced weights. kInvalidArgument: no such class, or
// labels that are real numbers; kCancelled when it is unwanted.
Result<std::vector<float>> ResolveClassWeights(const ClassWeightsWish& wish,
                                               const std::vector<std::string>& names,
                                               const DataSource& train,
                                               const Unwanted& unwanted = nullptr);

// For people: "class weights: no 0.55, yes 5.5".
std::string DescribeClassWeights(const std::vector<float>& weights,
                                 const std::vector<std::string>& names);

}  // namespace motley
