// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithm.h"

#include "collective/algorithms/butterfly_steps.h"
#include "collective/algorithms/hierarchical_steps.h"
#include "collective/algorithms/ring_steps.h"
#include "collective/algorithms/tree_steps.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr CollectiveAlgorithm kAlgorithms[] = {
    {"ring", "each member passes sums to the next one, round a ring", RingSteps, false},
    {"tree", "sums rise in two trees, half of the vector in each, and come down again", TreeSteps,
     false},
    {"butterfly", "members exchange ever smaller parts of the vector, and then gather them",
     ButterflySteps, false},
    {"hierarchical", "leaders of groups sum within their group, and then among each other",
     HierarchicalSteps, true},
};

}  // namespace

std::span<const CollectiveAlgorithm> CollectiveAlgorithms() { return kAlgorithms; }

Result<const CollectiveAlgorithm*> FindCollective(std::string_view name) {
  std::string names;
  for (const CollectiveAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
  }
  return Status::NotFound(
      fmt::format("there is no collective \"{}\"; write one of {}", name, names));
}

}  // namespace motley
