// SPDX-License-Identifier: Apache-2.0
// Weights of classes in training, as a user gives them.
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
  std::vector<std::pair<std::string, double>> named;  // Class name or number, and weight.

  bool given() const { return balanced || !named.empty(); }
};

// Parses "balanced", "setosa=2,virginica=0.5" or "1=20". An empty text gives no weights.
// kInvalidArgument: any other text.
Result<ClassWeightsWish> ParseClassWeights(std::string_view text);

// One weight per class, as in ModelSpec. Classes that are not named weigh 1. Balanced: if n samples
// have k different classes and m of them are in one class, each of those m weighs n / (k m). So all
// classes count alike, and the mean weight of a sample is 1. `names` are the names of the classes;
// a class may also be given by its position there. Balanced weights read all of `train`.
// kInvalidArgument: no such class, or labels are real numbers. kCancelled: `unwanted` returned
// true.
Result<std::vector<float>> ResolveClassWeights(const ClassWeightsWish& wish,
                                               const std::vector<std::string>& names,
                                               const DataSource& train,
                                               const Unwanted& unwanted = nullptr);

// A text for users: "class weights: no 0.55, yes 5.5".
std::string DescribeClassWeights(const std::vector<float>& weights,
                                 const std::vector<std::string>& names);

}  // namespace motley
