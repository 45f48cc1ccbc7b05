// SPDX-License-Identifier: Apache-2.0
// Draws a picture (SVG) that compares codes: a bar for the mean step of each, and the distribution
// of its steps.
#pragma once

#include <string>
#include <vector>

namespace motley {

struct ChartSeries {
  std::string name;
  double mean = 0;           // Seconds of a step.
  double low = 0, high = 0;  // Bounds of the mean; both 0: unknown.
  std::vector<double> step_seconds;
};

// `ideal_seconds` is drawn as a line through the bars; 0: no line. `series` is not empty.
std::string ChartSvg(const std::string& title, const std::vector<ChartSeries>& series,
                     double ideal_seconds);

}  // namespace motley
