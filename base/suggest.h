// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for mistyped keys, flags and names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal
// string alignment).
size_t EditDistance(std::string_view a, std::string_view b);

// The name nearest to `word`, the first of equals; empty when none is near enough to be meant (more
// than a third of the letters differ).
std::string_view ClosestName(std::string_view word, std::span<const std::string_view> names);
// The same for names that were put together at run time.
std::string Suggest(std::string_view word, const std::vector<std::string>& names);

// "; did you mean 'name'?", or nothing, to put behind an error about `word`.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

// Fine when `value` is one of `choices`; otherwise lists them, the probably meant one first. `what`
// is what people call the value: "`code`", "--code", "optimizer".
Status CheckChoice(std::string_view what, std::string_view value,
                   const std::vector<std::string>& choices);

}  // namespace motley
