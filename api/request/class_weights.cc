// SPDX-License-Identifier: Apache-2.0
#include "api/request/class_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/suggest.h"
#include "data/files/text_scan.h"

namespace motley {
namespace {

constexpr double kMostWeight = 1e6;
constexpr size_t kShown = 6;          // Number of classes listed in texts.
constexpr uint64_t kAskEvery = 1024;  // Rows counted between two looks at `unwanted`.

Status NoWeights(std::string_view part) {
  return Status::InvalidArgument(
      fmt::format("`class_weights` {}: write balanced, or weights of classes, like "
                  "setosa=2,virginica=0.5; a weight is a number from 0 to {:.0f}",
                  Quoted(part), kMostWeight));
}

std::optional<size_t> FindClass(const std::string& key, const std::vector<std::string>& names) {
  const auto named = std::find(names.begin(), names.end(), key);
  if (named != names.end()) return static_cast<size_t>(named - names.begin());
  size_t index = 0;
  const char* const end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  if (error != std::errc() || stop != end || index >= names.size()) return std::nullopt;
  return index;
}

Status NoSuchClass(const std::string& key, const std::vector<std::string>& names) {
  const std::string close = Suggest(key, names);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(kShown, names.size()));
  return Status::InvalidArgument(
      fmt::format("`class_weights`: {} is not one of the {} classes, {}{}{}", Quoted(key),
                  names.size(), fmt::join(first, ", "), names.size() > kShown ? ", ..." : "",
                  close.empty() ? "" : fmt::format("; did you mean {}?", Quoted(close))));
}

Result<std::vector<float>> Balanced(const DataSource& train, size_t classes,
                                    const Unwanted& unwanted) {
  std::vector<uint64_t> counts(classes);
  const uint64_t rows = train.shape().rows;
  for (uint64_t row = 0; row < rows; ++row) {
    const bool asks = row % kAskEvery == 0 && unwanted;
    if (asks && unwanted()) return Status::Cancelled("counting the classes was stopped");
    MOTLEY_ASSIGN_OR_RETURN(const float label, train.LabelOf(row));
    ++counts[static_cast<size_t>(label)];
  }
  const auto there = std::count_if(counts.begin(), counts.end(), [](uint64_t m) { return m > 0; });
  std::vector<float> weights(classes, 1.0f);
  for (size_t i = 0; i < classes; ++i) {
    if (counts[i] == 0) continue;  // The class has no samples.
    weights[i] = static_cast<float>(static_cast<double>(rows) /
                                    (static_cast<double>(there) * static_cast<double>(counts[i])));
  }
  return weights;
}

}  // namespace

Result<ClassWeightsWish> ParseClassWeights(std::string_view text) {
  ClassWeightsWish wish;
  wish.balanced = text == "balanced";
  if (wish.balanced) return wish;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const size_t equals = part.rfind('=');
    if (equals == part.npos || equals == 0) return NoWeights(part);
    const Result<double> weight = ParseNumber(Trim(part.substr(equals + 1)));
    if (!weight.ok() || !(*weight >= 0 && *weight <= kMostWeight)) return NoWeights(part);
    const std::string key(Trim(part.substr(0, equals)));
    for (const auto& [known, other] : wish.named) {
      if (known != key) continue;
      return Status::InvalidArgument(fmt::format(
          "`class_weights`: {} is given twice, with {} and {}", Quoted(key), other, *weight));
    }
    wish.named.emplace_back(key, *weight);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return wish;
}

Result<std::vector<float>> ResolveClassWeights(const ClassWeightsWish& wish,
                                               const std::vector<std::string>& names,
                                               const DataSource& train, const Unwanted& unwanted) {
  const uint32_t classes = train.shape().classes;
  if (classes == 0) {
    return Status::InvalidArgument(
        "`class_weights`: the labels are real numbers. Leave it out, or use `task` classify");
  }
  if (wish.balanced) return Balanced(train, classes, unwanted);
  std::vector<float> weights(classes, 1.0f);
  std::vector<bool> set(classes);
  for (const auto& [key, weight] : wish.named) {
    const std::optional<size_t> found = FindClass(key, names);
    if (!found || *found >= classes) return NoSuchClass(key, names);
    if (set[*found]) {
      return Status::InvalidArgument(
          fmt::format("`class_weights`: {} is a class that is already named", Quoted(key)));
    }
    set[*found] = true;
    weights[*found] = static_cast<float>(weight);
  }
  if (std::any_of(weights.begin(), weights.end(), [](float weight) { return weight > 0; })) {
    return weights;
  }
  return Status::InvalidArgument("`class_weights`: all are 0, so nothing would be learned");
}

std::string DescribeClassWeights(const std::vector<float>& weights,
                                 const std::vector<std::string>& names) {
  std::string text = "class weights: ";
  for (size_t i = 0; i < std::min(kShown, weights.size()); ++i) {
    const std::string name = i < names.size() ? names[i] : fmt::format("{}", i);
    text += fmt::format("{}{} {:.4g}", i > 0 ? ", " : "", name, weights[i]);
  }
  return weights.size() > kShown ? text + ", ..." : text;
}

}  // namespace motley
