// SPDX-License-Identifier: Apache-2.0
#include "cli/report/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/report/svg.h"
#include "fmt/core.h"

namespace motley {
namespace {

using Kind = TraceSpan::Kind;

constexpr double kLabelWidth = 150, kPlotWidth = 760, kMargin = 16, kTop = 58;
constexpr double kLane = 26, kBar = 18, kLegend = 46;
constexpr double kThinBar = 5;  // Height of transfers, which lie below the assigned work.

struct Look {
  Kind kind;
  const char* fill;
  const char* words;
};
// Colours also differ in brightness, for colour-blind users.
constexpr std::array<Look, 9> kLooks = {{{Kind::kAnswered, "#2f6db5", "answer used"},
                                         {Kind::kLate, "#e8a33d", "late"},
                                         {Kind::kCancelled, "#b9bec6", "not needed, cancelled"},
                                         {Kind::kLost, "#c0392b", "worker lost"},
                                         {Kind::kOpen, "#e3d7ec", "no answer"},
                                         {Kind::kCollect, "#d5e3f3", "server collects"},
                                         {Kind::kUpdate, "#3c8d5a", "update"},
                                         {Kind::kReceives, "#8e6bb0", "parameters arrive"},
                                         {Kind::kSends, "#14607a", "vector sent"}}};

const Look& LookOf(Kind kind) {
  return *std::find_if(kLooks.begin(), kLooks.end(), [&](const Look& l) { return l.kind == kind; });
}

bool IsTransfer(const TraceSpan& span) {
  return span.kind == Kind::kReceives || span.kind == Kind::kSends;
}

class Picture {
 public:
  Picture(std::vector<TraceSpan> spans, const std::map<uint32_t, std::string>& names,
          uint64_t begin_ns, uint64_t end_ns)
      : spans_(std::move(spans)),
        begin_(begin_ns),
        length_(std::max<double>(end_ns - begin_ns, 1)) {
    lanes_.emplace(0, "server");
    for (const auto& [worker, name] : names) lanes_.emplace(worker + 1, name);
    for (const TraceSpan& span : spans_) {
      lanes_.try_emplace(span.track, fmt::format("worker {}", span.track - 1));
    }
    bottom_ = kTop + kLane * static_cast<double>(lanes_.size());
  }

  std::string Draw(const std::string& title, uint64_t decoded_ns) {
    const double width = kLabelWidth + kPlotWidth + 2 * kMargin;
    const double height = bottom_ + 30 + kLegend;
    text_ = SvgOpening(width, height);
    Put("<title>{0}</title>\n<text x=\"{1}\" y=\"24\" font-size=\"15\">{0}</text>\n",
        Escaped(title), kMargin);
    DrawAxis();
    DrawLanes();
    for (const bool transfers : {false, true}) {  // Transfers are drawn on top.
      for (const TraceSpan& span : spans_) {
        if (IsTransfer(span) == transfers) DrawSpan(span);
      }
    }
    DrawDecoded(decoded_ns);
    DrawLegend();
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...);
  }
  double X(uint64_t ns) const {
    const double at = ns <= begin_ ? 0 : static_cast<double>(ns - begin_) / length_;
    return kMargin + kLabelWidth + kPlotWidth * std::min(at, 1.0);
  }
  double Y(uint32_t track) const {
    return kTop + kLane * static_cast<double>(std::distance(lanes_.begin(), lanes_.find(track)));
  }

  void DrawAxis() {
    const double tick = TickOf(length_);
    for (double at = 0; at <= length_; at += tick) {
      const double x = kMargin + kLabelWidth + kPlotWidth * at / length_;
      Put("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\" stroke=\"#e4e7eb\"/>\n", x,
          kTop - 6, bottom_);
      Put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n", x,
          bottom_ + 16, Words(at, length_));
    }
  }

  void DrawLanes() {
    for (const auto& [track, name] : lanes_) {
      Put("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, Y(track) + 17,
          Escaped(name.size() > 20 ? name.substr(0, 19) + "~" : name));
    }
  }

  void DrawSpan(const TraceSpan& span) {
    const double from = X(span.begin_ns), to = X(span.end_ns);
    const bool thin = IsTransfer(span);
    Put("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" rx=\"2\" fill=\"{}\">"
        "<title>{}: {}</title></rect>\n",
        from, Y(span.track) + 4 + (thin ? kBar - kThinBar : 0), std::max(to - from, 0.75),
        thin ? kThinBar : kBar, LookOf(span.kind).fill, NameOf(span),
        Words(static_cast<double>(span.end_ns - span.begin_ns), length_));
  }

  void DrawDecoded(uint64_t decoded_ns) {
    const double x = X(decoded_ns);
    Put("<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2:.1f}\" stroke=\"#111\" "
        "stroke-dasharray=\"4 3\"/>\n<text x=\"{3:.1f}\" y=\"{4}\" text-anchor=\"end\">"
        "decoded</text>\n",
        x, kTop - 8, bottom_, x - 4, kTop - 8);
  }

  void DrawLegend() {
    double x = kMargin;
    for (const Look& look : kLooks) {
      const bool there = std::any_of(spans_.begin(), spans_.end(),
                                     [&](const TraceSpan& s) { return s.kind == look.kind; });
      if (!there) continue;
      Put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x, bottom_ + 38, look.fill, x + 17, bottom_ + 48, look.words);
      x += 32 + 7.0 * static_cast<double>(std::string_view(look.words).size());
    }
  }

  std::vector<TraceSpan> spans_;
  std::map<uint32_t, std::string> lanes_;  // By track.
  uint64_t begin_;
  double length_;  // ns
  double bottom_ = 0;
  std::string text_;
};

const TraceSpan* Find(const std::vector<TraceSpan>& spans, Kind kind, uint64_t step) {
  const auto at = std::find_if(spans.begin(), spans.end(), [&](const TraceSpan& span) {
    return span.kind == kind && span.step == step;
  });
  return at == spans.end() ? nullptr : &*at;
}

}  // namespace

std::optional<uint64_t> SlowestStep(const std::vector<TraceSpan>& spans) {
  std::map<uint64_t, uint64_t> opened;  // By step.
  for (const TraceSpan& span : spans) {
    if (span.kind == Kind::kCollect) opened.emplace(span.step, span.begin_ns);
  }
  std::optional<uint64_t> slowest;
  uint64_t longest = 0;
  for (const TraceSpan& update : spans) {
    const auto at = opened.find(update.step);
    if (update.kind != Kind::kUpdate || at == opened.end()) continue;
    const uint64_t took = update.end_ns - at->second;
    if (slowest && took <= longest) continue;
    slowest = update.step;
    longest = took;
  }
  return slowest;
}

Result<std::string> TimelineSvg(const std::vector<TraceSpan>& spans,
                                const std::map<uint32_t, std::string>& worker_names,
                                uint64_t step) {
  const TraceSpan* collect = Find(spans, Kind::kCollect, step);
  const TraceSpan* update = Find(spans, Kind::kUpdate, step);
  if (collect == nullptr || update == nullptr) {
    std::optional<uint64_t> last;
    for (const TraceSpan& span : spans) {
      if (span.kind == Kind::kUpdate && (!last || span.step > *last)) last = span.step;
    }
    if (!last) return Status::NotFound(fmt::format("step {} was not finished, nor any", step));
    return Status::NotFound(
        fmt::format("step {} was not finished; the last one that was is {}", step, *last));
  }
  // A row of an earlier step may reach into this one and keep its worker busy.
  std::vector<TraceSpan> shown;
  for (const TraceSpan& span : spans) {
    const bool overlaps = span.begin_ns < update->end_ns && span.end_ns > collect->begin_ns;
    if (span.step == step || (span.track > 0 && overlaps)) shown.push_back(span);
  }
  const double collected = static_cast<double>(collect->end_ns - collect->begin_ns);
  return Picture(std::move(shown), worker_names, collect->begin_ns, update->end_ns)
      .Draw(fmt::format("step {}: decoded after {}", step, Words(collected, collected)),
            collect->end_ns);
}

}  // namespace motley
