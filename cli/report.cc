// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <cmath>

#include "api/run_recording.h"
#include "cli/table.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using nlohmann::json;

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / 1e6);
}

// A number that could not be said in JSON (NaN, infinity) is null there.
double Number(const json& value) { return value.is_number() ? value.get<double>() : NAN; }

WorkerLine LineOf(const json& worker) {
  WorkerLine line;
  line.name = worker.at("name");
  line.relative_speed = Number(worker.at("relative_speed"));
  line.share = Number(worker.at("share"));
  line.samples = Number(worker.at("samples"));
  line.steps_in_time = Number(worker.at("steps_in_time"));
  line.late = Number(worker.at("late"));
  line.held_bytes = worker.at("held_bytes");
  line.lost = worker.at("lost");
  return line;
}

std::string Losses(const json& report) {
  std::string text;
  if (report.contains("final_loss")) {
    text = fmt::format("final loss {:.6g}", Number(report["final_loss"]));
  } else if (report.contains("batch_loss")) {
    text = fmt::format("last batch's loss {:.6g}", Number(report["batch_loss"]));
  }
  if (report.contains("test_accuracy")) {
    text += fmt::format(", test accuracy {:.2f} %", Number(report["test_accuracy"]) * 100);
  } else if (report.contains("test_loss")) {
    text += fmt::format(", test loss {:.6g}", Number(report["test_loss"]));
  }
  return text + "\n";
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

// Steps count from 0, as in --fault.
std::string Slowest(const json& step) {
  if (!step.contains("max_step")) return "";
  return fmt::format(", slowest step {:.1f} ms (step {})", Number(step.at("max")) * 1e3,
                     step.at("max_step").get<uint64_t>());
}

}  // namespace

std::string ApproximateLine(uint64_t approximate, uint64_t steps, double mean, double max) {
  const std::string error = fmt::format(", error {:.3g} mean {:.3g} max", mean, max);
  return fmt::format("approximate: {} of {} steps{}\n", approximate, steps,
                     approximate > 0 ? error : "");
}

std::string WorkerTable(const std::vector<WorkerLine>& lines) {
  Table table(
      {"worker", "speed", "share %", "samples/epoch", "in time", "late", "lost", "held MB"});
  for (const WorkerLine& line : lines) {
    table.Add({line.name, fmt::format("{:.2f}", line.relative_speed),
               fmt::format("{:.1f}", line.share * 100), fmt::format("{:.0f}", line.samples),
               fmt::format("{:.0f}", line.steps_in_time), fmt::format("{:.0f}", line.late),
               line.lost ? "yes" : "no", Megabytes(line.held_bytes)});
  }
  return table.Format();
}

std::string TrainTable(const std::string& text) {
  const json report = json::parse(text);
  std::vector<WorkerLine> lines;
  for (const json& worker : report.at("workers")) lines.push_back(LineOf(worker));
  const json& step = report.at("step_seconds");
  std::string table = WorkerTable(lines) + "\n";
  table += fmt::format(
      "code {}, tolerates {}; {} data transfers, {} new plans, {} rows reassigned\n",
      CodeOf(report), Tolerates(report), report.at("data_transfers").get<uint64_t>(),
      report.at("replans").get<uint64_t>(), report.at("rows_reassigned").get<uint64_t>());
  table += fmt::format("{} steps ({:.2f} epochs) in {:.2f} s: {:.2f} steps/s, {:.0f} samples/s; ",
                       report.at("steps").get<uint64_t>(), Number(report.at("epochs")),
                       Number(report.at("wall_seconds")), Number(report.at("steps_per_second")),
                       Number(report.at("samples_per_second")));
  table += fmt::format("step median {:.1f} ms, p99 {:.1f} ms{}; {} discarded\n",
                       Number(step.at("median")) * 1e3, Number(step.at("p99")) * 1e3, Slowest(step),
                       report.at("discarded_steps").get<uint64_t>());
  if (const auto found = report.find("approximate"); found != report.end()) {
    table += ApproximateLine(found->at("steps").get<uint64_t>(), report.at("steps").get<uint64_t>(),
                             Number(found->at("mean_error")), Number(found->at("max_error")));
  }
  table += fmt::format("largest decode error {:.2g} in {} checked steps\n",
                       Number(report.at("max_decode_error")),
                       report.at("audited_steps").get<uint64_t>());
  return table + Losses(report);
}

namespace {

// What a part of the report says; empty: nothing, or it is not there.
std::string Said(const char* part, const char* key, const std::string& text) {
  const json report = json::parse(text);
  const auto found = report.find(part);
  return found == report.end() ? "" : found->value(key, "");
}

}  // namespace

std::string CheckpointError(const std::string& text) { return Said("checkpoint", "error", text); }

std::string CheckpointWeakness(const std::string& text) {
  return Said("checkpoint", "degraded", text);
}

std::string RecordedStepsFile(const std::string& profile) { return TracePathFor(profile); }

std::string RecordingError(const std::string& text) { return Said("recording", "error", text); }

}  // namespace motley
