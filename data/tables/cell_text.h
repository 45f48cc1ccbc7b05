// SPDX-License-Identifier: Apache-2.0
// What the text of a table's field means.
#pragma once

#include <string>
#include <string_view>

namespace motley {

// True for the ways in which tools write missing values: an empty field, NA, NaN, null, None, ? and
// so on.
bool MeansMissing(std::string_view field);
// True for what users write in place of a missing number: -, unknown, n.a., #DIV/0!. In columns of
// text these are ordinary texts.
bool LooksMissing(std::string_view field);
// Returns valid UTF-8, for JSON. Other bytes are taken for Latin-1.
std::string AsUtf8(std::string_view text);
// Returns valid UTF-8, for JSON. Other bytes are taken for Latin-1.
std::string AsUtf8(std::string_view text);
// A column's name as in a list of names: quoted as in CSV if it has a comma or a quote.
std::string InList(const std::string& name);
// Returns valid UTF-8: "12" for 12.0f.
std::string NumberText(float number);

}  // namespace motley
