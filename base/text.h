// SPDX-License-Identifier: Apache-2.0
// Cleans text from peers and files before it goes to terminals, events and JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

// `text` as valid UTF-8 of at most `most_bytes`, cut between characters. Invalid bytes become
// U+FFFD, line ends and tabs become blanks. Other control characters are removed, and so are those
// that change the direction of writing.
std::string CleanText(std::string_view text, size_t most_bytes);

}  // namespace motley
