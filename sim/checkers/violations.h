// SPDX-License-Identifier: Apache-2.0
// The list of broken invariants that checkers report, in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace motley {

class Violations {
 public:
  static constexpr size_t kMostKept = 20;  // One bug may break every later step.

  void Add(std::string what) {
    if (list_.size() < kMostKept) list_.push_back(std::move(what));
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

}  // namespace motley
