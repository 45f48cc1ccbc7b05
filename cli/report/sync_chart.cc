// SPDX-License-Identifier: Apache-2.0
// Draws the picture of a SyncComparison.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/report/svg.h"
#include "cli/report/sync_report.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kLeft = 80, kTop = 56, kWidth = 560, kHeight = 220, kPanel = 300, kLegend = 190;
constexpr double kBeyond = 1.5;  // Panels end at this many times the slowest time to the target.
// Colours by Okabe and Ito, and two more; they are distinct for colour-blind users, too.
constexpr std::array<const char*, 9> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#e69f00", "#56b4e9",
                                                 "#111111", "#8c510a", "#999999"};

// The loss of one cluster's trials over time.
class Panel {
 public:
  Panel(std::vector<const SyncTrial*> trials, const SyncTarget& target, double top)
      : trials_(std::move(trials)), target_(target), top_(top) {
    double slowest = 0, longest = 0;
    for (const SyncTrial* trial : trials_) {
      const LearningCurve& curve = trial->seeds.front();
      longest = std::max(longest, curve.back().seconds);
      slowest = std::max(slowest, target.SecondsOf(curve).value_or(0));
    }
    seconds_ = slowest > 0 ? std::min(longest, kBeyond * slowest) : longest;
    if (!(seconds_ > 0)) seconds_ = 1;
    double least = std::numeric_limits<double>::max(), largest = 0;
    Visit([&](const CurvePoint& point) {
      least = std::min(least, point.loss);
      largest = std::max(largest, point.loss);
    });
    low_ = least > 0 && least <= largest ? std::log10(least) : 0;
    high_ = largest > 0 ? std::log10(largest) : 1;
    if (!(high_ - low_ > 1e-6)) high_ = low_ + 1;
  }

  std::string Draw() {
    Put("<text x=\"{}\" y=\"{:.1f}\" font-size=\"14\">{}</text>\n", kLeft, top_ - 10,
        Escaped(trials_.front()->cluster));
    DrawAxes();
    for (size_t i = 0; i < trials_.size(); ++i) DrawCurve(i);
    return text_;
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...);
  }
  double X(double seconds) const { return kLeft + kWidth * seconds / seconds_; }
  double Y(double loss) const {
    return top_ + kHeight * (1 - (std::log10(loss) - low_) / (high_ - low_));
  }
  bool IsShown(const CurvePoint& point) const {
    return point.seconds <= seconds_ && std::isfinite(point.loss) && point.loss > 0;
  }
  template <typename Call>
  void Visit(Call call) const {
    for (const SyncTrial* trial : trials_) {
      for (const CurvePoint& point : trial->seeds.front()) {
        if (IsShown(point)) call(point);
      }
    }
  }

  void DrawAxes() {
    const double tick = TickOf(seconds_);
    for (double at = 0; at <= seconds_ * (1 + 1e-9); at += tick) {
      Put("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e7eb\"/>"
          "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\" fill=\"#555\">{4}</text>\n",
          X(at), top_, top_ + kHeight, top_ + kHeight + 16, Words(at * 1e9, seconds_ * 1e9));
    }
    for (int i = 0; i <= 4; ++i) {
      const double loss = std::pow(10, low_ + (high_ - low_) * i / 4);
      Put("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e7eb\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#555\">{5:.3g}</text>\n",
          kLeft, kLeft + kWidth, Y(loss), kLeft - 6, Y(loss) + 4, loss);
    }
    Put("<text x=\"16\" y=\"{0:.1f}\" transform=\"rotate(-90 16 {0:.1f})\" "
        "text-anchor=\"middle\">loss</text>\n",
        top_ + kHeight / 2);
  }

  void DrawCurve(size_t i) {
    const SyncTrial& trial = *trials_[i];
    const char* colour = kColours[i % kColours.size()];
    std::string dots;
    for (const CurvePoint& point : trial.seeds.front()) {
      if (IsShown(point)) dots += fmt::format("{:.1f},{:.1f} ", X(point.seconds), Y(point.loss));
    }
    Put("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", dots,
        colour);
    const double y = top_ + 18 * static_cast<double>(i);
    const double left = kLeft + kWidth + 20;
    const auto reached = target_.SecondsOf(trial.seeds.front());
    Put("<rect x=\"{}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\">{}: {}</text>\n",
        left, y, colour, left + 18, y + 10, Escaped(trial.sync),
        reached ? Words(*reached * 1e9, *reached * 1e9) : "not reached");
    if (!reached) return;
    const auto at = std::find_if(trial.seeds.front().begin(), trial.seeds.front().end(),
                                 [&](const CurvePoint& point) { return target_.ReachedBy(point); });
    if (!IsShown(*at)) return;
    Put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", X(at->seconds),
        Y(at->loss), colour);
  }

  const std::vector<const SyncTrial*> trials_;
  const SyncTarget target_;
  const double top_;
  double seconds_ = 0;         // At the right end.
  double low_ = 0, high_ = 1;  // Range of the logarithm of the loss.
  std::string text_;
};

}  // namespace

std::string SyncSvg(const SyncComparison& comparison) {
  std::vector<std::vector<const SyncTrial*>> panels;
  for (const SyncTrial& trial : comparison.trials) {
    if (panels.empty() || panels.back().front()->cluster != trial.cluster) panels.emplace_back();
    panels.back().push_back(&trial);
  }
  const double height = kTop + kPanel * static_cast<double>(panels.size());
  std::string text = SvgOpening(kLeft + kWidth + kLegend, height);
  text += fmt::format(
      "<title>{0}</title>\n<text x=\"16\" y=\"22\" font-size=\"15\">{0}</text>\n",
      Escaped(fmt::format("{}: seconds to {}", comparison.job, comparison.target.Text())));
  double top = kTop + 10;
  for (const auto& trials : panels) {
    text += Panel(trials, comparison.target, top).Draw();
    top += kPanel;
  }
  return text + "</svg>\n";
}

}  // namespace motley
