// SPDX-License-Identifier: Apache-2.0
#include "cli/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/report/svg.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kMargin = 16, kTop = 64, kGap = 40;
constexpr double kLabel = 170, kBars = 360, kCurves = 380;
constexpr double kLane = 30, kBar = 18, kLeastHeight = 240, kBottom = 52;
constexpr int kCurvePoints = 200;   // Maximum per curve.
constexpr double kMostShown = 3.0;  // Curves end at this many means; rare steps may be longer.
// Colours by Okabe and Ito. They are distinct for colour-blind users, too.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#555555"};

const char* ColourOf(size_t i) { return kColours[i % kColours.size()]; }

class Chart {
 public:
  Chart(const std::vector<ChartSeries>& series, double ideal) : series_(series), ideal_(ideal) {
    double mean = 0;
    for (const ChartSeries& one : series_) {
      longest_bar_ = std::max({longest_bar_, one.mean, one.high});
      mean = std::max(mean, one.mean);
      sorted_.push_back(one.step_seconds);
      std::sort(sorted_.back().begin(), sorted_.back().end());
      if (!sorted_.back().empty()) longest_step_ = std::max(longest_step_, sorted_.back().back());
    }
    longest_bar_ = std::max(longest_bar_ * 1.12, 1e-9);
    longest_step_ = std::clamp(longest_step_ * 1.02, 1e-9, std::max(kMostShown * mean, 1e-9));
    height_ = std::max(kLane * static_cast<double>(series_.size()), kLeastHeight);
  }

  std::string Draw(const std::string& title) {
    const double width = 2 * kMargin + kLabel + kBars + kGap + kCurves;
    text_ = SvgOpening(width, kTop + height_ + kBottom);
    Put("<title>{0}</title>\n<text x=\"{1}\" y=\"24\" font-size=\"15\">{0}</text>\n",
        Escaped(title), kMargin);
    DrawBars();
    DrawCurves();
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...);
  }

  // Draws an axis of times that begins at `left` and is `width` wide for `length` seconds.
  void DrawTimes(double left, double width, double length, const char* heading) {
    Put("<text x=\"{:.1f}\" y=\"{}\" fill=\"#333\">{}</text>\n", left, kTop - 14, heading);
    const double tick = TickOf(length);
    for (double at = 0; at <= length; at += tick) {
      const double x = left + width * at / length;
      Put("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\" "
          "stroke=\"#e4e7eb\"/>\n",
          x, kTop - 4, kTop + height_);
      Put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n", x,
          kTop + height_ + 16, Words(at * 1e9, length * 1e9));
    }
  }

  void DrawBars() {
    const double left = kMargin + kLabel;
    const auto x = [&](double seconds) { return left + kBars * seconds / longest_bar_; };
    DrawTimes(left, kBars, longest_bar_, "mean step");
    for (size_t i = 0; i < series_.size(); ++i) {
      const ChartSeries& one = series_[i];
      const double y = kTop + kLane * static_cast<double>(i) + 6;
      Put("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, y + 13, Escaped(one.name));
      Put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\">"
          "<title>{}: {}</title></rect>\n",
          left, y, x(one.mean) - left, kBar, ColourOf(i), Escaped(one.name),
          Words(one.mean * 1e9, one.mean * 1e9));
      if (one.high > one.low) {
        const double middle = y + kBar / 2;
        Put("<path d=\"M{0:.2f} {2:.1f}H{1:.2f}M{0:.2f} {3:.1f}v8M{1:.2f} {3:.1f}v8\" "
            "stroke=\"#111\" fill=\"none\"/>\n",
            x(one.low), x(one.high), middle, middle - 4);
      }
    }
    if (ideal_ <= 0) return;
    Put("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\" stroke=\"#111\" "
        "stroke-dasharray=\"4 3\"/>\n<text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">ideal</text>\n",
        x(std::min(ideal_, longest_bar_)), kTop - 4, kTop + height_, kTop + height_ + 34);
  }

  void DrawCurves() {
    const double left = kMargin + kLabel + kBars + kGap;
    DrawTimes(left, kCurves, longest_step_, "part of the steps that are over within this time");
    for (const double part : {0.0, 0.5, 1.0}) {
      const double y = kTop + height_ * (1 - part);
      Put("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#e4e7eb\"/>\n<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\" "
          "fill=\"#555\">{5:.0f} %</text>\n",
          left, left + kCurves, y, left - 4, y + 4, 100 * part);
    }
    for (size_t i = 0; i < sorted_.size(); ++i) DrawCurve(left, i);
  }

  void DrawCurve(double left, size_t i) {
    const std::vector<double>& steps = sorted_[i];
    if (steps.empty()) return;
    std::string points = fmt::format("{:.1f},{:.1f}", left, kTop + height_);
    const size_t every = std::max<size_t>(1, steps.size() / kCurvePoints);
    for (size_t k = 0; k < steps.size(); k += every) {
      const double part = static_cast<double>(k + 1) / static_cast<double>(steps.size());
      const double at = std::min(steps[k] / longest_step_, 1.0);
      points += fmt::format(" {:.1f},{:.1f}", left + kCurves * at, kTop + height_ * (1 - part));
      if (at == 1.0) break;
    }
    Put("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\">"
        "<title>{}</title></polyline>\n",
        points, ColourOf(i), Escaped(series_[i].name));
  }

  const std::vector<ChartSeries>& series_;
  const double ideal_;
  std::vector<std::vector<double>> sorted_;
  double longest_bar_ = 0, longest_step_ = 0;  // Seconds at the right end.
  double height_ = 0;
  std::string text_;
};

}  // namespace

std::string ChartSvg(const std::string& title, const std::vector<ChartSeries>& series,
                     double ideal_seconds) {
  return Chart(series, ideal_seconds).Draw(title);
}

}  // namespace motley
