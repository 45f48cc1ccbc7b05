// SPDX-License-Identifier: Apache-2.0
// What pictures (SVG) have in common.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// The opening tag and a white ground, in pixels.
std::string SvgOpening(double width, double height);
// As the content of an element: ASCII.
std::string Escaped(const std::string& text);
// "850 us", "12.5 ms", "3.2 s": of the size of `scale`.
std::string Words(double ns, double scale);
// 1, 2 or 5 times a power of ten, so that about six of them fit into `length`.
double TickOf(double length);

// kInvalidArgument, with what to type, where the name says that another kind of picture is meant.
Status CheckSvgName(std::string_view flag, const std::string& path);

}  // namespace motley
