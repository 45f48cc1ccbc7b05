// SPDX-License-Identifier: Apache-2.0
#include "cli/report/sweep_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/counted.h"
#include "cli/report/svg.h"
#include "cli/report/table.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

constexpr size_t kMostLines = 20;
constexpr double kLeft = 80, kTop = 56, kWidth = 520, kHeight = 180, kPanel = 250;

std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

nlohmann::ordered_json JsonOf(const SweepResult& result, const SweptRun& run) {
  nlohmann::ordered_json values;
  for (size_t i = 0; i < result.names.size(); ++i) values[result.names[i]] = run.values[i];
  nlohmann::ordered_json json = {{"trial", run.trial},
                                 {"epochs", run.epochs},
                                 {"values", values},
                                 {"loss", nullptr},
                                 {"seconds", run.seconds}};
  if (std::isfinite(run.loss)) json["loss"] = run.loss;
  if (run.test_loss) json["test_loss"] = *run.test_loss;
  if (run.test_accuracy) json["test_accuracy"] = *run.test_accuracy;
  if (!run.error.empty()) json["error"] = run.error;
  return json;
}

// Places the values of one flag on an axis: numbers by size, and texts side by side.
class Axis {
 public:
  Axis(const std::vector<SweptRun>& runs, size_t flag) : flag_(flag) {
    bool numbers = true;
    double low = std::numeric_limits<double>::max(), high = -low;
    for (const SweptRun& run : runs) {
      const std::optional<double> number = NumberOf(run.values[flag]);
      numbers = numbers && number;
      if (number) low = std::min(low, *number), high = std::max(high, *number);
      texts_.emplace(run.values[flag], 0);
    }
    logarithmic_ = numbers && low > 0 && high > 10 * low;
    numbers_ = numbers && high > low;
    low_ = logarithmic_ ? std::log10(low) : low;
    high_ = logarithmic_ ? std::log10(high) : high;
    double place = 0.5;
    for (auto& [text, at] : texts_) at = place++ / static_cast<double>(texts_.size());
  }

  double At(const SweptRun& run) const { return AtText(run.values[flag_]); }

  // Marks below the axis, from 0 to 1.
  std::vector<std::pair<double, std::string>> Marks() const {
    std::vector<std::pair<double, std::string>> marks;
    if (!numbers_ || texts_.size() <= 8) {
      for (const auto& [text, at] : texts_) marks.emplace_back(AtText(text), text);
      return marks;
    }
    for (int i = 0; i <= 4; ++i) {
      const double value = low_ + (high_ - low_) * i / 4;
      marks.emplace_back(PartOf(value),
                         fmt::format("{:.3g}", logarithmic_ ? std::pow(10, value) : value));
    }
    return marks;
  }

 private:
  double PartOf(double value) const { return 0.05 + 0.9 * (value - low_) / (high_ - low_); }
  double AtText(const std::string& text) const {
    if (!numbers_) return texts_.at(text);
    const double number = *NumberOf(text);
    return PartOf(logarithmic_ ? std::log10(number) : number);
  }

  const size_t flag_;
  std::map<std::string, double> texts_;  // And their places.
  bool numbers_ = false, logarithmic_ = false;
  double low_ = 0, high_ = 1;
};

class Picture {
 public:
  explicit Picture(const SweepResult& result) : result_(result) {
    for (const SweptRun& run : result.runs) {
      if (!std::isfinite(run.loss)) continue;
      runs_.push_back(run);
      least_ = std::min(least_, run.loss);
      largest_ = std::max(largest_, run.loss);
      epochs_ = std::max(epochs_, run.epochs);
    }
    // A loss that falls far is only readable on a logarithmic scale.
    logarithmic_ = least_ > 0 && largest_ > 20 * least_;
    if (!(largest_ > least_)) largest_ = least_ + 1;
  }

  std::string Draw() {
    text_ =
        SvgOpening(kLeft + kWidth + 40, kTop + kPanel * static_cast<double>(result_.names.size()));
    Put("<title>motley sweep</title>\n<text x=\"16\" y=\"22\" font-size=\"15\">validation loss of "
        "{}; dark dots: {} epochs</text>\n",
        Counted(result_.runs.size(), "run"), epochs_);
    for (size_t flag = 0; flag < result_.names.size() && !runs_.empty(); ++flag) DrawPanel(flag);
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...);
  }
  double Scaled(double loss) const { return logarithmic_ ? std::log10(loss) : loss; }
  double Y(double top, double loss) const {
    const double low = Scaled(least_), high = Scaled(largest_);
    return top + kHeight * (0.96 - 0.92 * (Scaled(loss) - low) / (high - low));
  }

  void DrawPanel(size_t flag) {
    const double top = kTop + kPanel * static_cast<double>(flag);
    const Axis axis(runs_, flag);
    Put("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"none\" "
        "stroke=\"#e4e7eb\"/>\n",
        kLeft, top, kWidth, kHeight);
    for (const double loss : {least_, largest_}) {
      Put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#555\">{:.4g}</text>\n",
          kLeft - 6, Y(top, loss) + 4, loss);
    }
    for (const auto& [at, text] : axis.Marks()) {
      Put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n",
          kLeft + kWidth * at, top + kHeight + 16, Escaped(text));
    }
    Put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", kLeft + kWidth / 2,
        top + kHeight + 36, Escaped(result_.names[flag]));
    for (const SweptRun& run : runs_) {
      Put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"><title>trial {}, {} epochs: "
          "{:.5g}</title></circle>\n",
          kLeft + kWidth * axis.At(run), Y(top, run.loss),
          run.epochs == epochs_ ? "#0072b2" : "#a9cbe3", run.trial, run.epochs, run.loss);
    }
  }

  const SweepResult& result_;
  std::vector<SweptRun> runs_;  // Those that did not fail.
  double least_ = std::numeric_limits<double>::max(), largest_ = 0;
  uint32_t epochs_ = 0;
  bool logarithmic_ = false;
  std::string text_;
};

}  // namespace

std::vector<SweptRun> SweepResult::Ranked() const {
  std::map<uint32_t, SweptRun> longest;
  for (const SweptRun& run : runs) {
    SweptRun& so_far = longest.try_emplace(run.trial, run).first->second;
    if (run.rung > so_far.rung) so_far = run;
  }
  std::vector<SweptRun> ranked;
  for (auto& [trial, run] : longest) ranked.push_back(std::move(run));
  std::stable_sort(ranked.begin(), ranked.end(), [](const SweptRun& a, const SweptRun& b) {
    if (a.error.empty() != b.error.empty()) return a.error.empty();
    return a.epochs != b.epochs ? a.epochs > b.epochs : a.loss < b.loss;
  });
  return ranked;
}

std::string SweepTable(const SweepResult& result, size_t columns) {
  const std::vector<SweptRun> ranked = result.Ranked();
  std::vector<std::string> header{"trial"};
  header.insert(header.end(), result.names.begin(), result.names.end());
  for (const char* name : {"epochs", "loss", "test loss", "test accuracy", "s"}) {
    header.emplace_back(name);
  }
  Table table(header);
  for (size_t i = 0; i < std::min(kMostLines, ranked.size()); ++i) {
    const SweptRun& run = ranked[i];
    std::vector<std::string> line{fmt::format("{}", run.trial)};
    line.insert(line.end(), run.values.begin(), run.values.end());
    line.push_back(fmt::format("{}", run.epochs));
    line.push_back(run.error.empty() ? fmt::format("{:.5g}", run.loss) : "failed");
    line.push_back(run.test_loss ? fmt::format("{:.5g}", *run.test_loss) : "-");
    line.push_back(run.test_accuracy ? fmt::format("{:.4f}", *run.test_accuracy) : "-");
    line.push_back(fmt::format("{:.1f}", run.seconds));
    table.Add(std::move(line));
  }
  table.Fit(columns, {"s", "test loss"});
  std::string text = table.Format() + "\n";
  if (ranked.size() > kMostLines) {
    text += fmt::format("{} more, see --json\n", Counted(ranked.size() - kMostLines, "trial"));
  }
  const auto failed = std::count_if(ranked.begin(), ranked.end(),
                                    [](const SweptRun& run) { return !run.error.empty(); });
  if (failed > 0) {
    text +=
        fmt::format("{} failed; trial {}: {}\n", Counted(static_cast<uint64_t>(failed), "trial"),
                    ranked.back().trial, ranked.back().error);
  }
  if (!result.best_command.empty() && ranked.front().epochs < result.epochs) {
    text += fmt::format(
        "no trial was trained for all {} epochs; with more trials or a smaller `keep`, some are\n",
        result.epochs);
  }
  if (!result.best_command.empty()) {
    text += fmt::format("best: trial {}, model {}\n  {}\n", ranked.front().trial, result.best_model,
                        result.best_command);
  }
  return text;
}

std::string SweepJson(const SweepResult& result) {
  auto trials = nlohmann::ordered_json::array();
  for (const SweptRun& run : result.Ranked()) trials.push_back(JsonOf(result, run));
  const nlohmann::ordered_json json = {{"trials", trials},
                                       {"planned", result.trials},
                                       {"runs", result.runs.size()},
                                       {"best_command", result.best_command},
                                       {"best_model", result.best_model}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string SweepSvg(const SweepResult& result) { return Picture(result).Draw(); }

}  // namespace motley
