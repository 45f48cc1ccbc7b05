// SPDX-License-Identifier: Apache-2.0
// Draws the picture of a LearningLog.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/report/learning_log.h"
#include "cli/report/svg.h"
#include "fmt/core.h"

namespace motley {
namespace {

using Point = LearningLog::Point;

constexpr double kLeft = 70, kTop = 40, kWidth = 680, kHeight = 320;
constexpr size_t kMostDots = 2000;  // More dots would overlap.

class Picture {
 public:
  explicit Picture(const std::vector<Point>& points) : points_(points) {
    double largest = 0, least = std::numeric_limits<double>::max();
    for (const Point& point : points) {
      epochs_ = std::max(epochs_, point.epoch);
      for (const double loss : {point.loss, point.validation}) {
        if (!std::isfinite(loss)) continue;
        largest = std::max(largest, loss);
        least = std::min(least, loss);
      }
    }
    // A loss that falls far is only readable on a logarithmic scale.
    logarithmic_ = least > 0 && largest > 20 * least;
    low_ = logarithmic_ ? std::log10(least) : 0;
    high_ = logarithmic_ ? std::log10(largest) : largest;
    if (!(high_ > low_)) high_ = low_ + 1;
    if (!(epochs_ > 0)) epochs_ = 1;
  }

  std::string Draw() {
    Put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<title>loss over epochs</title>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"white\"/>\n",
        kLeft + kWidth + 20, kTop + kHeight + 50);
    DrawAxes();
    DrawLine(false, "#8fb3dc", "loss of the steps", kLeft);
    DrawLine(true, "#c0392b", "validation loss", kLeft + 160);
    DrawBest();
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...);
  }
  double X(double epoch) const { return kLeft + kWidth * epoch / epochs_; }
  double Y(double loss) const {
    const double at = logarithmic_ ? std::log10(loss) : loss;
    return kTop + kHeight * (1 - (at - low_) / (high_ - low_));
  }

  void DrawAxes() {
    const double tick = TickOf(epochs_);
    for (double at = 0; at <= epochs_ * (1 + 1e-9); at += tick) {
      Put("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#e4e7eb\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#555\">{4:.4g}</text>\n",
          X(at), kTop, kTop + kHeight, kTop + kHeight + 16, at);
    }
    Put("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">epochs</text>\n", kLeft + kWidth / 2,
        kTop + kHeight + 36);
    const double step = logarithmic_ ? (high_ - low_) / 6 : TickOf(high_ - low_);
    for (double at = low_; at <= high_ + 1e-9 * (high_ - low_); at += step) {
      const double loss = logarithmic_ ? std::pow(10, at) : at;
      Put("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e7eb\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#555\">{5:.3g}</text>\n",
          kLeft, kLeft + kWidth, Y(loss), kLeft - 6, Y(loss) + 4, loss);
    }
  }

  static std::optional<double> Value(const Point& point, bool validation) {
    if (validation ? !point.judged : point.judged) return std::nullopt;
    const double loss = validation ? point.validation : point.loss;
    return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
  }

  void DrawLine(bool validation, const char* colour, const char* words, double legend) {
    std::string dots;
    const size_t every = std::max<size_t>(1, points_.size() / kMostDots);
    size_t seen = 0;
    for (const Point& point : points_) {
      const std::optional<double> loss = Value(point, validation);
      if (!loss || (!validation && seen++ % every != 0)) continue;
      dots += fmt::format("{:.1f},{:.1f} ", X(point.epoch), Y(*loss));
    }
    if (dots.empty()) return;
    Put("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n"
        "<rect x=\"{}\" y=\"16\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"26\">{}</text>\n",
        dots, colour, legend, colour, legend + 17, words);
  }

  void DrawBest() {
    const auto best = std::find_if(points_.rbegin(), points_.rend(), [](const Point& point) {
      return point.best && std::isfinite(point.validation);
    });
    if (best == points_.rend()) return;
    Put("<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"#111\"><title>best: {2:.6g} after "
        "{3} steps</title></circle><text x=\"{4}\" y=\"26\">best: {2:.4g} after {3} steps</text>\n",
        X(best->epoch), Y(best->validation), best->validation, best->step, kLeft + 300);
  }

  const std::vector<Point>& points_;
  double epochs_ = 0;
  bool logarithmic_ = false;
  double low_ = 0, high_ = 1;  // Range of the loss, or of its logarithm.
  std::string text_;
};

}  // namespace

std::string CurveSvg(const std::vector<Point>& points) { return Picture(points).Draw(); }

}  // namespace motley
