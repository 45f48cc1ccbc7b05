// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for flags, keys and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace motley {

// The entry of `choices` that `word` was probably meant to be: smallest edit distance (insertions,
// deletions, substitutions, swapped neighbours), the first one among equals; empty when even that
// differs in more than a third of the letters. A choice that starts with `word` (3 letters at
// least) counts as one edit.
std::string Suggest(std::string_view word, const std::vector<std::string>& choices);

}  // namespace motley
