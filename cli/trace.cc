// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

double Microseconds(Time time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

nlohmann::ordered_json TrackName(uint32_t track, const std::string& name) {
  return {
      {"ph", "M"}, {"pid", 1}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}};
}

}  // namespace

void TraceRecorder::OnWorkerJoined(WorkerId worker, const std::string& name) {
  names_[worker] = name;
}

void TraceRecorder::OnWorkerLost(WorkerId worker, const Status& /*why*/) {
  Close(worker, "lost", last_);
}

void TraceRecorder::OnStepOpened(StepId /*step*/, const CodeForm& /*code*/, Time now) {
  opened_ = last_ = now;
}

void TraceRecorder::OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) {
  last_ = now;
  Close(worker, "late", now);
  open_[worker] = {row, step, now};
}

void TraceRecorder::OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) {
  last_ = now;
  const auto open = open_.find(worker);
  if (open == open_.end() || open->second.step != step || open->second.row != row) return;
  Close(worker, "", now);
}

void TraceRecorder::OnStepDecoded(StepId step, std::span<const float> /*gradient*/,
                                  std::span<const float> /*parameters*/, Time now) {
  decoded_ = last_ = now;
  AddServerEvent("collect", step, opened_, now);
}

void TraceRecorder::OnStepApplied(StepId step, std::span<const float> /*parameters*/,
                                  double /*batch_loss*/, Time now) {
  last_ = now;
  AddServerEvent("update", step, decoded_, now);
}

void TraceRecorder::OnCommand(const Command& command, Time now) {
  last_ = now;
  if (const auto* cancel = std::get_if<CancelWork>(&command))
    Close(cancel->worker, "cancelled", now);
}

void TraceRecorder::Close(WorkerId worker, const char* how, Time now) {
  const auto open = open_.find(worker);
  if (open == open_.end()) return;
  const OpenRow row = open->second;
  open_.erase(open);
  std::string name = fmt::format("step {} row {}", row.step, row.row);
  if (*how != '\0') name += fmt::format(" ({})", how);
  events_.push_back({std::move(name), worker + 1, row.begin, now, row.step});
}

void TraceRecorder::AddServerEvent(const char* what, StepId step, Time begin, Time end) {
  events_.push_back({fmt::format("step {} {}", step, what), 0, begin, end, step});
}

std::string TraceRecorder::Json() {
  while (!open_.empty()) Close(open_.begin()->first, "not answered", last_);
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.begin < b.begin; });
  const double start = events_.empty() ? 0 : Microseconds(events_.front().begin);
  auto list = nlohmann::ordered_json::array();
  list.push_back(TrackName(0, "server"));
  for (const auto& [worker, name] : names_) list.push_back(TrackName(worker + 1, name));
  for (const Event& event : events_) {
    list.push_back({{"ph", "X"},
                    {"pid", 1},
                    {"tid", event.track},
                    {"name", event.name},
                    {"ts", Microseconds(event.begin) - start},
                    {"dur", Microseconds(event.end) - Microseconds(event.begin)},
                    {"args", {{"step", event.step}}}});
  }
  return nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", list}}.dump() + "\n";
}

}  // namespace motley
