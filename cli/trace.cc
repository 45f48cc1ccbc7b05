// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

nlohmann::ordered_json TrackName(uint32_t track, const std::string& name) {
  return {
      {"ph", "M"}, {"pid", 1}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}};
}

}  // namespace

void TraceRecorder::OnEvent(const motley_event& event) {
  last_ns_ = event.time_ns;
  switch (event.kind) {
    case MOTLEY_EVENT_WORKER_JOINED: names_[event.worker] = event.text; break;
    case MOTLEY_EVENT_WORKER_LOST: Close(event.worker, "lost", last_ns_); break;
    case MOTLEY_EVENT_STEP_OPENED: opened_ns_ = last_ns_; break;
    case MOTLEY_EVENT_ROW_ASSIGNED:
      Close(event.worker, "late", last_ns_);
      open_[event.worker] = {event.row, event.step, last_ns_};
      break;
    case MOTLEY_EVENT_ROW_ARRIVED: Arrive(event); break;
    case MOTLEY_EVENT_ROW_CANCELLED: Close(event.worker, "cancelled", last_ns_); break;
    case MOTLEY_EVENT_STEP_DECODED:
      decoded_ns_ = last_ns_;
      AddServerEvent("collect", event, opened_ns_);
      break;
    case MOTLEY_EVENT_STEP_APPLIED: AddServerEvent("update", event, decoded_ns_); break;
    default: break;
  }
}

void TraceRecorder::Arrive(const motley_event& event) {
  const auto open = open_.find(event.worker);
  if (open == open_.end() || open->second.step != event.step || open->second.row != event.row) {
    return;
  }
  Close(event.worker, "", event.time_ns);
}

void TraceRecorder::Close(uint32_t worker, const char* how, uint64_t now_ns) {
  const auto open = open_.find(worker);
  if (open == open_.end()) return;
  const OpenRow row = open->second;
  open_.erase(open);
  std::string name = fmt::format("step {} row {}", row.step, row.row);
  if (*how != '\0') name += fmt::format(" ({})", how);
  events_.push_back({std::move(name), worker + 1, row.begin_ns, now_ns, row.step});
}

void TraceRecorder::AddServerEvent(const char* what, const motley_event& event, uint64_t begin_ns) {
  events_.push_back(
      {fmt::format("step {} {}", event.step, what), 0, begin_ns, event.time_ns, event.step});
}

std::string TraceRecorder::Json() {
  while (!open_.empty()) Close(open_.begin()->first, "not answered", last_ns_);
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.begin_ns < b.begin_ns; });
  const uint64_t start = events_.empty() ? 0 : events_.front().begin_ns;
  auto list = nlohmann::ordered_json::array();
  list.push_back(TrackName(0, "server"));
  for (const auto& [worker, name] : names_) list.push_back(TrackName(worker + 1, name));
  for (const Event& event : events_) {
    list.push_back({{"ph", "X"},
                    {"pid", 1},
                    {"tid", event.track},
                    {"name", event.name},
                    {"ts", Microseconds(event.begin_ns - start)},
                    {"dur", Microseconds(event.end_ns - event.begin_ns)},
                    {"args", {{"step", event.step}}}});
  }
  const nlohmann::ordered_json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", list}};
  return trace.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
