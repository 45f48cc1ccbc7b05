// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for mistyped keys, flags and names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
// (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b);

// The name nearest to `word`, or the first of several. Empty when none is near enough: when more
// than a third of the letters differ. Capital and small letters are alike.
std::string_view ClosestName(std::string_view word, std::span<const std::string_view> names);
// The same for names that were built at run time.
std::string Suggest(std::string_view word, const std::vector<std::string>& names);

// "; did you mean 'name'?", or nothing: the end of an error message about `word`.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

// Fine when `value` is one of `choices`. Otherwise an error that lists them and suggests the
// nearest one. `what` is the user's name for the value: "`code`", "--code", "optimizer".
Status CheckChoice(std::string_view what, std::string_view value,
                   const std::vector<std::string>& choices);

}  // namespace motley
