// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "api/reports/run_recording.h"
#include "base/counted.h"
#include "cli/report/scores.h"
#include "cli/report/table.h"
#include "cli/terminal/flag_words.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using nlohmann::json;

constexpr size_t kMostWorkerLines = 32;
constexpr double kMeasurableStep = 1e-3;  // Seconds. In shorter ones, speeds are mostly noise.
constexpr size_t kLinesOfAKind = 8;       // Used if there are more workers.

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / 1e6);
}

// NaN for null, which stands for NaN and infinity in JSON.
double Number(const json& value) { return value.is_number() ? value.get<double>() : NAN; }

WorkerLine LineOf(const json& worker) {
  WorkerLine line;
  line.worker = worker.at("worker");
  line.name = worker.at("name");
  line.relative_speed = Number(worker.at("relative_speed"));
  line.share = Number(worker.at("share"));
  line.samples = Number(worker.at("samples"));
  line.steps_in_time = Number(worker.at("steps_in_time"));
  line.late = Number(worker.at("late"));
  line.held_bytes = worker.at("held_bytes");
  line.lost = worker.at("lost");
  line.left = worker.at("left");
  return line;
}

std::string Losses(const json& report) {
  std::string text;
  if (report.contains("final_loss")) {
    text = fmt::format("final loss {:.6g}", Number(report["final_loss"]));
  } else if (report.contains("last_epoch_loss")) {
    text = fmt::format("last epoch's loss {:.6g} (mean over its steps)",
                       Number(report["last_epoch_loss"]));
  }
  if (report.contains("test_accuracy")) {
    text += fmt::format(", test accuracy {:.2f} %", Number(report["test_accuracy"]) * 100);
  } else if (report.contains("test_loss")) {
    text += fmt::format(", test loss {:.6g}", Number(report["test_loss"]));
  }
  text += "\n";
  if (report.contains("not_tested")) {
    return text + fmt::format("test: no scores, because {}; motley predict scores a saved model\n",
                              report["not_tested"].get<std::string>());
  }
  if (!report.contains("test")) return text;
  const std::string test = report["test"].dump();
  return text + fmt::format("test: {}\n", ScoresText(test)) + ConfusionText(test);
}

bool LeavesBest(const json& report) {
  const auto judging = report.find("judging");
  return judging != report.end() && judging->value("kept_best", false);
}

// A line about a model that is not the last version.
std::string WhichModel(const json& report) {
  const auto judging = report.find("judging");
  if (!LeavesBest(report)) return "";
  return fmt::format("the model is that of step {}, the best of {} on {}\n",
                     judging->at("best_step").get<uint64_t>(),
                     Counted(judging->at("evaluations").get<uint64_t>(), "evaluation"),
                     Counted(judging->at("samples").get<uint64_t>(), "held-out sample"));
}

std::string CodeOf(const json& report) {
  const auto code = report.at("code").get<std::string>();
  const std::string at_end = report.value("code_at_end", code);
  if (code != at_end) return fmt::format("{} ({} at the end)", code, at_end);
  if (!report.contains("parts")) return code;
  return fmt::format("{} (answers of 1/{})", code, report["parts"].get<uint32_t>());
}

std::string Tolerates(const json& report) {
  const auto asked = report.at("tolerate").get<uint32_t>();
  const uint32_t at_end = report.value("tolerate_at_end", asked);
  return asked == at_end ? std::to_string(asked) : fmt::format("{} ({} at the end)", asked, at_end);
}

// For a resumed job: the time of this run. The whole time is that of all runs.
std::string OfThisRun(const json& report) {
  if (!report.contains("resumed_from")) return "";
  return fmt::format(" in all runs, {:.2f} s in this one, from step {} on",
                     Number(report.at("run_seconds")), report.at("resumed_from").get<uint64_t>());
}

// Steps count from 0, as in --fault.
std::string Slowest(const json& step) {
  if (!step.contains("max_step")) return "";
  return fmt::format(", slowest step {:.1f} ms (step {})", Number(step.at("max")) * 1e3,
                     step.at("max_step").get<uint64_t>());
}

// A worker's name with its number: "worker-0", or "0 pc2". Messages speak of worker 0 (pc2).
std::string Numbered(const WorkerLine& line) {
  const bool has_it = line.name.starts_with(fmt::format("worker-{}", line.worker));
  return has_it ? line.name : fmt::format("{} {}", line.worker, line.name);
}

// The workers that a table shows, in ascending order. Up to 32 workers are all shown. Of more it
// shows the first ones, the slowest, and the first lost ones.
std::vector<size_t> ShownLines(const std::vector<WorkerLine>& lines) {
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (lines.size() <= kMostWorkerLines) return order;
  std::set<size_t> shown(order.begin(), order.begin() + kLinesOfAKind);
  size_t lost = 0;
  for (size_t i = 0; i < lines.size() && lost < kLinesOfAKind; ++i) {
    if (lines[i].lost && ++lost > 0) shown.insert(i);
  }
  std::erase_if(order, [&](size_t i) { return lines[i].lost; });
  const auto speed = [&](size_t i) {
    return std::isfinite(lines[i].relative_speed) ? lines[i].relative_speed : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return speed(a) < speed(b); });
  order.resize(std::min(order.size(), kLinesOfAKind));
  shown.insert(order.begin(), order.end());
  return {shown.begin(), shown.end()};
}

bool HasSpeeds(const std::vector<WorkerLine>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [](const WorkerLine& line) { return std::isfinite(line.relative_speed); });
}

std::string LeftOut(const std::vector<WorkerLine>& lines, size_t shown) {
  if (shown == lines.size()) return "";
  const auto [slowest, fastest] = std::minmax_element(
      lines.begin(), lines.end(),
      [](const WorkerLine& a, const WorkerLine& b) { return a.relative_speed < b.relative_speed; });
  const auto lost =
      std::count_if(lines.begin(), lines.end(), [](const WorkerLine& line) { return line.lost; });
  const std::string speeds = HasSpeeds(lines)
                                 ? fmt::format(" of speed {:.2f} to {:.2f}",
                                               slowest->relative_speed, fastest->relative_speed)
                                 : "";
  return fmt::format("and {} more: {} workers{}, {} lost; --json lists every one\n",
                     lines.size() - shown, lines.size(), speeds, lost);
}

}  // namespace

std::string ApproximateLine(uint64_t approximate, uint64_t steps, double mean, double max) {
  const std::string error = fmt::format(", error {:.3g} mean {:.3g} max", mean, max);
  return fmt::format("approximate: {} of {}{}\n", approximate, Counted(steps, "step"),
                     approximate > 0 ? error : "");
}

std::string WorkerTable(const std::vector<WorkerLine>& lines) {
  const bool speeds = HasSpeeds(lines);
  std::vector<std::string> header = {"worker"};
  if (speeds) header.emplace_back("speed");
  for (const char* each : {"share %", "samples/epoch", "in time", "late", "lost", "held MB"}) {
    header.emplace_back(each);
  }
  Table table(header);
  const std::vector<size_t> shown = ShownLines(lines);
  for (const size_t i : shown) {
    const WorkerLine& line = lines[i];
    std::vector<std::string> row = {Numbered(line)};
    if (speeds) row.push_back(fmt::format("{:.2f}", line.relative_speed));
    row.push_back(fmt::format("{:.1f}", line.share * 100));
    row.push_back(fmt::format("{:.0f}", line.samples));
    row.push_back(fmt::format("{:.0f}", line.steps_in_time));
    row.push_back(fmt::format("{:.0f}", line.late));
    row.emplace_back(line.lost ? "yes" : line.left ? "left" : "no");
    row.push_back(Megabytes(line.held_bytes));
    table.Add(std::move(row));
  }
  table.Fit(TerminalColumns(STDOUT_FILENO), {"held MB", "samples/epoch", "late", "in time"});
  return table.Format() + LeftOut(lines, shown.size()) +
         (speeds ? "(speed 1 is the fastest worker's)\n" : "");
}

std::string TrainTable(const std::string& text) {
  const json report = json::parse(text);
  std::vector<WorkerLine> lines;
  for (const json& worker : report.at("workers")) lines.push_back(LineOf(worker));
  const json& step = report.at("step_seconds");
  const double median = Number(step.at("median"));
  // Elsewhere an update is one worker's, and says little about how long that worker took.
  const bool together = report.value("sync", "bsp") == "bsp";
  const bool too_short = together && median > 0 && median < kMeasurableStep;
  for (WorkerLine& line : lines) {
    if (too_short) line.relative_speed = NAN;
  }
  std::string table = WorkerTable(lines);
  if (too_short) table += "(no speeds: steps of less than 1 ms are too short to measure them)\n";
  table += "\n";
  if (const std::string why = report.value("stopped_early", ""); !why.empty()) {
    table += fmt::format("stopped after {} of {}: {}\n", report.at("steps").get<uint64_t>(),
                         Counted(report.at("steps_wanted").get<uint64_t>(), "step"), why);
  }
  table += fmt::format("code {}, tolerates {}; {}, {}, {} reassigned\n", CodeOf(report),
                       Tolerates(report),
                       Counted(report.at("data_transfers").get<uint64_t>(), "data transfer"),
                       Counted(report.at("replans").get<uint64_t>(), "new plan"),
                       Counted(report.at("rows_reassigned").get<uint64_t>(), "row"));
  table +=
      fmt::format("{} ({:.2f} epochs) in {:.2f} s{}: {:.2f} steps/s, {:.0f} samples/s; ",
                  Counted(report.at("steps").get<uint64_t>(), "step"), Number(report.at("epochs")),
                  Number(report.at("wall_seconds")), OfThisRun(report),
                  Number(report.at("steps_per_second")), Number(report.at("samples_per_second")));
  table += fmt::format("step median {:.1f} ms, p99 {:.1f} ms{}; {} discarded\n",
                       Number(step.at("median")) * 1e3, Number(step.at("p99")) * 1e3, Slowest(step),
                       report.at("discarded_steps").get<uint64_t>());
  if (const auto found = report.find("approximate"); found != report.end()) {
    table += ApproximateLine(found->at("steps").get<uint64_t>(), report.at("steps").get<uint64_t>(),
                             Number(found->at("mean_error")), Number(found->at("max_error")));
  }
  if (const auto found = report.find("staleness"); found != report.end()) {
    table += fmt::format("gradients were {:.3g} updates old on average, at most {}\n",
                         Number(found->at("mean")), found->at("max").get<uint64_t>());
  }
  table += WhichModel(report);
  const auto audited = report.at("audited_steps").get<uint64_t>();
  table += audited == 0 ? "no step was checked\n"
                        : fmt::format("largest decode error {:.2g} in {}\n",
                                      Number(report.at("max_decode_error")),
                                      Counted(audited, "checked step"));
  return table + Losses(report);
}

namespace {

// The text of `key` in part `part` of the report; empty: not there.
std::string Said(const char* part, const char* key, const std::string& text) {
  const json report = json::parse(text);
  const auto found = report.find(part);
  return found == report.end() ? "" : found->value(key, "");
}

}  // namespace

bool KeptBest(const std::string& text) { return LeavesBest(json::parse(text)); }

std::string AuditFailure(const std::string& text) {
  const json report = json::parse(text);
  const auto audit = report.find("audit");
  if (audit == report.end() || audit->at("failures").get<uint64_t>() == 0) return "";
  const auto steps = audit->at("steps").get<uint64_t>();
  const auto failures = audit->at("failures").get<uint64_t>();
  const json& warnings = audit->at("warnings");
  const std::string where =
      warnings.empty()
          ? "all in runs before this one"
          : fmt::format("the first in step {}", warnings.at(0).at("step").get<uint64_t>());
  return fmt::format("audits of {} found {}, {}: do not rely on this result",
                     Counted(steps, "step"), Counted(failures, "wrong answer"), where);
}

std::string CheckpointError(const std::string& text) { return Said("checkpoint", "error", text); }

std::string CheckpointWeakness(const std::string& text) {
  return Said("checkpoint", "degraded", text);
}

std::string FailureJson(const std::string& report, const std::string& kind, int exit_code,
                        const std::string& why) {
  nlohmann::ordered_json failure = {
      {"error", {{"kind", kind}, {"exit_code", exit_code}, {"message", WithFlags(why)}}}};
  failure.update(nlohmann::ordered_json::parse(report));
  return failure.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string RecordedStepsFile(const std::string& profile) { return TracePathFor(profile); }

std::string RecordingError(const std::string& text) { return Said("recording", "error", text); }

}  // namespace motley
