// SPDX-License-Identifier: Apache-2.0
// Finds the column of labels in a table. All formats that have columns use the same rules.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// The column that `label` says, by name or by number from 0. If it is empty: the only column with a
// usual name for labels, else the last. `columns` has their names, or the first line's fields if
// they are not `named`, and is not empty. kNotFound: there is no such column.
Result<size_t> LabelColumn(std::string_view label, std::span<const std::string_view> columns,
                           bool named);

// A note for the user who did not say which column is the label; empty: the choice is obvious.
std::string LabelNote(std::string_view path, std::span<const std::string_view> names,
                      size_t chosen);

}  // namespace motley
