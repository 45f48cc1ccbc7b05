// SPDX-License-Identifier: Apache-2.0
// Words of strangers, before we repeat them: on terminals, in events, in JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

// `text` as UTF-8 of `most_bytes` at most, cut between characters. Bytes that are no UTF-8 become
// U+FFFD. Line ends and tabs become blanks; other control characters and those that turn the
// direction of writing are left out.
std::string CleanText(std::string_view text, size_t most_bytes);

}  // namespace motley
