// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace motley {

namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the usual table are enough to see swaps.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view ClosestName(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  size_t best_distance = 0;
  for (const std::string_view name : names) {
    const size_t distance = EditDistance(LowerCase(word), LowerCase(name));
    const size_t allowed = std::max<size_t>(1, std::max(word.size(), name.size()) / 3);
    if (distance > allowed || distance >= std::max(word.size(), name.size())) continue;
    if (best.empty() || distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string Suggest(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(ClosestName(word, views));
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view name = ClosestName(word, names);
  return name.empty() ? "" : fmt::format("; did you mean '{}'?", name);
}

Status CheckChoice(std::string_view what, std::string_view value,
                   const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return Status::Ok();
  const std::string close = Suggest(value, choices);
  return Status::InvalidArgument(fmt::format(
      "{} '{}' is not known.{} It is one of: {}", what, value,
      close.empty() ? "" : fmt::format(" Did you mean '{}'?", close), fmt::join(choices, ", ")));
}

}  // namespace motley
