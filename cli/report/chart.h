// SPDX-License-Identifier: Apache-2.0
// A picture (SVG) that compares codes: the mean step of each as a bar, and how its steps are
// distributed.
#pragma once

#include <string>
#include <vector>

namespace motley {

struct ChartSeries {
  std::string name;
  double mean = 0;           // Seconds of a step,
  double low = 0, high = 0;  // and between which it lies; both 0: not known.
  std::vector<double> step_seconds;
};

// `ideal_seconds`: drawn as a line through the bars; 0: none. `series` is not empty.
std::string ChartSvg(const std::string& title, const std::vector<ChartSeries>& series,
                     double ideal_seconds);

}  // namespace motley
