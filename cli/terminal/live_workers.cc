// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/live_workers.h"

#include <algorithm>
#include <string_view>

#include "cli/terminal/terminal.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kRateSeconds = 2;  // Minimum, once the job has run that long.

const char* StateWord(uint32_t state, bool computes) {
  switch (state) {
    case MOTLEY_WORKER_LEFT: return "left";
    case MOTLEY_WORKER_LOST: return "lost";
    case MOTLEY_WORKER_LATE: return "late";
    default: return computes ? "up" : "idle";
  }
}

// Formats a number as "950", "12.3k" or "1.24M".
std::string Short(double number) {
  if (number < 999.5) return fmt::format("{:.0f}", number);
  if (number < 999'500) return fmt::format("{:.3g}k", number / 1e3);
  return fmt::format("{:.3g}M", number / 1e6);
}

// Cuts UTF-8 text to the characters that fit.
std::string Cut(std::string_view text, size_t columns) {
  size_t end = 0;
  for (size_t used = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && ++used > columns) break;
  }
  return std::string(text.substr(0, end));
}

std::string Padded(std::string_view text, size_t columns) {
  std::string cut = Cut(text, columns);
  return cut + std::string(columns - ColumnsOf(cut), ' ');
}

}  // namespace

void LiveWorkers::Look(double seconds,
                       const std::vector<std::pair<uint32_t, motley_worker_metrics>>& workers) {
  while (seen_.size() > 1 && seen_[1].seconds <= seconds - kRateSeconds) seen_.pop_front();
  const Seen before = seen_.empty() ? Seen{seconds, {}} : seen_.front();
  const double passed = seconds - before.seconds;
  Seen now{seconds, {}};
  double together = 0;
  rows_.clear();
  for (const auto& [worker, metrics] : workers) {
    now.samples.resize(std::max<size_t>(now.samples.size(), worker + 1));
    now.samples[worker] = metrics.samples;
    // A new worker began with 0 samples.
    const uint64_t then = worker < before.samples.size() ? before.samples[worker] : 0;
    const uint64_t done = metrics.samples - std::min(then, metrics.samples);
    Row row{worker, metrics.name, "", 0, 0, metrics.late};
    if (passed > 0) row.samples_per_second = static_cast<double>(done) / passed;
    row.state = StateWord(metrics.state, done > 0 || passed == 0);
    together += row.samples_per_second;
    rows_.push_back(std::move(row));
  }
  for (Row& row : rows_) {
    if (together > 0) row.share = row.samples_per_second / together;
  }
  seen_.push_back(std::move(now));
}

std::vector<std::string> FormatWorkers(const std::vector<LiveWorkers::Row>& rows, size_t columns,
                                       size_t lines) {
  constexpr size_t kOthers = 35, kWidest = 24, kNarrowest = 6;
  const size_t room = columns > kOthers + kNarrowest ? columns - kOthers - 1 : kNarrowest;
  const size_t name = std::min(room, kWidest);
  const auto line = [&](std::string_view who, std::string_view share, std::string_view rate,
                        std::string_view late, std::string_view state) {
    const std::string all =
        fmt::format("{} {:>6} {:>10} {:>6}  {}", Padded(who, name), share, rate, late, state);
    return Cut(all, columns > 0 ? columns - 1 : 0);
  };
  std::vector<std::string> table = {line("worker", "share", "samples/s", "late", "state")};
  for (const LiveWorkers::Row& row : rows) {
    if (table.size() + 1 >= lines && &row != &rows.back()) {
      const size_t left = rows.size() + 1 - table.size();
      table.push_back(Cut(fmt::format("and {} more", left), columns > 0 ? columns - 1 : 0));
      break;
    }
    const bool there = row.samples_per_second > 0;
    table.push_back(line(fmt::format("{} {}", row.worker, row.name),
                         there ? fmt::format("{:.0f} %", 100 * row.share) : "-",
                         there ? Short(row.samples_per_second) : "-", fmt::format("{}", row.late),
                         row.state));
  }
  return table;
}

}  // namespace motley
