// SPDX-License-Identifier: Apache-2.0
#include "cli/report/svg.h"

#include <cmath>
#include <filesystem>

#include "fmt/core.h"

namespace motley {

std::string SvgOpening(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
}

std::string Escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (byte < 0x20 || byte >= 0x7f) {
      safe += '?';
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string Words(double ns, double scale) {
  if (scale < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (scale < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

double TickOf(double length) {
  const double raw = length / 6;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (raw <= times * power) return times * power;
  }
  return 10 * power;
}

Status CheckSvgName(std::string_view flag, const std::string& path) {
  const std::filesystem::path name(path);
  const std::string extension = name.extension().string();
  if (extension.empty() || extension == ".svg" || path.starts_with("/dev/")) return Status::Ok();
  std::filesystem::path svg = name;
  svg.replace_extension(".svg");
  return Status::InvalidArgument(
      fmt::format("{} {}: pictures are written as SVG, and {} is another kind of file. Type {} {}, "
                  "and convert it with rsvg-convert or inkscape if you need {}",
                  flag, path, extension, flag, svg.string(), extension));
}

}  // namespace motley
