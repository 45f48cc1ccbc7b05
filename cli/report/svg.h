// SPDX-License-Identifier: Apache-2.0
// Common parts of pictures (SVG).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// The opening tag and a white background; sizes in pixels.
std::string SvgOpening(double width, double height);
// `text` as the content of an element, in ASCII.
std::string Escaped(const std::string& text);
// Formats `ns` in the unit that suits `scale`: "850 us", "12.5 ms", "3.2 s".
std::string Words(double ns, double scale);
// The distance of ticks: 1, 2 or 5 times a power of ten. About six ticks fit into `length`.
double TickOf(double length);

// kInvalidArgument: the name asks for another kind of picture. The error says what to type.
Status CheckSvgName(std::string_view flag, const std::string& path);

}  // namespace motley
