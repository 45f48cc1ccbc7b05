// SPDX-License-Identifier: Apache-2.0
#include "cli/report/trace.h"

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

const char* HowItEnded(TraceSpan::Kind kind) {
  switch (kind) {
    case TraceSpan::Kind::kLate: return " (late)";
    case TraceSpan::Kind::kCancelled: return " (cancelled)";
    case TraceSpan::Kind::kLost: return " (lost)";
    case TraceSpan::Kind::kOpen: return " (not answered)";
    default: return "";
  }
}

}  // namespace

std::string NameOf(const TraceSpan& span) {
  if (span.kind == TraceSpan::Kind::kCollect) return fmt::format("step {} collect", span.step);
  if (span.kind == TraceSpan::Kind::kUpdate) return fmt::format("step {} update", span.step);
  if (span.kind == TraceSpan::Kind::kReceives) {
    return fmt::format("step {} parameters arrive", span.step);
  }
  if (span.kind == TraceSpan::Kind::kSends) return fmt::format("step {} vector sent", span.step);
  return fmt::format("step {} row {}{}", span.step, span.row, HowItEnded(span.kind));
}

void TraceRecorder::OnEvent(const motley_event& event) {
  last_ns_ = event.time_ns;
  if (event.kind == MOTLEY_EVENT_ROW_ASSIGNED) return Assign(event);
  assigning_.reset();
  switch (event.kind) {
    case MOTLEY_EVENT_WORKER_JOINED: names_[event.worker] = event.text; break;
    case MOTLEY_EVENT_WORKER_LOST: CloseAll(event.worker, TraceSpan::Kind::kLost, last_ns_); break;
    case MOTLEY_EVENT_STEP_OPENED: opened_ns_ = last_ns_; break;
    case MOTLEY_EVENT_ROW_ARRIVED: Arrive(event); break;
    case MOTLEY_EVENT_ROW_CANCELLED: Cancel(event); break;
    case MOTLEY_EVENT_STEP_DECODED:
      decoded_ns_ = last_ns_;
      AddServerSpan(TraceSpan::Kind::kCollect, event, opened_ns_);
      break;
    case MOTLEY_EVENT_STEP_APPLIED:
      AddServerSpan(TraceSpan::Kind::kUpdate, event, decoded_ns_);
      break;
    default: break;
  }
}

// Rows that are assigned in consecutive events are one list. Other rows that are still open are
// late.
void TraceRecorder::Assign(const motley_event& event) {
  if (assigning_ != event.worker) CloseAll(event.worker, TraceSpan::Kind::kLate, last_ns_);
  assigning_ = event.worker;
  open_[event.worker].push_back({event.row, event.step, last_ns_});
}

std::optional<size_t> TraceRecorder::PlaceOf(const motley_event& event) const {
  const auto open = open_.find(event.worker);
  if (open == open_.end()) return std::nullopt;
  for (size_t place = 0; place < open->second.size(); ++place) {
    const OpenRow& row = open->second[place];
    if (row.step == event.step && row.row == event.row) return place;
  }
  return std::nullopt;
}

void TraceRecorder::Arrive(const motley_event& event) {
  const auto place = PlaceOf(event);
  if (place) Close(event.worker, *place, TraceSpan::Kind::kAnswered, event.time_ns);
}

void TraceRecorder::Cancel(const motley_event& event) {
  if (event.row == MOTLEY_ALL_ROWS) {
    return CloseAll(event.worker, TraceSpan::Kind::kCancelled, last_ns_);
  }
  const auto place = PlaceOf(event);
  if (place == size_t{0}) return Close(event.worker, 0, TraceSpan::Kind::kCancelled, last_ns_);
  if (!place) return;
  std::vector<OpenRow>& rows = open_[event.worker];
  rows.erase(rows.begin() + static_cast<ptrdiff_t>(*place));
}

void TraceRecorder::Close(uint32_t worker, size_t place, TraceSpan::Kind kind, uint64_t now_ns) {
  std::vector<OpenRow>& rows = open_[worker];
  const OpenRow row = rows[place];
  spans_.push_back({kind, worker + 1, rows.front().begin_ns, now_ns, row.step, row.row, 0});
  rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(place) + 1);
  if (!rows.empty()) rows.front().begin_ns = now_ns;
}

void TraceRecorder::CloseAll(uint32_t worker, TraceSpan::Kind kind, uint64_t now_ns) {
  const auto open = open_.find(worker);
  if (open == open_.end()) return;
  if (!open->second.empty()) Close(worker, 0, kind, now_ns);
  open_.erase(open);
}

void TraceRecorder::AddServerSpan(TraceSpan::Kind kind, const motley_event& event,
                                  uint64_t begin_ns) {
  spans_.push_back({kind, 0, begin_ns, event.time_ns, event.step, 0, event.error});
}

void TraceRecorder::OnTransfer(const TraceSpan& slice, bool first) {
  const auto [last, fresh] = transfers_.try_emplace({slice.track, slice.kind}, slice);
  if (fresh) return;
  TraceSpan& vector = last->second;
  if (!first && vector.step == slice.step) {
    vector.end_ns = slice.end_ns;
    return;
  }
  spans_.push_back(vector);
  vector = slice;
}

std::vector<TraceSpan> TraceRecorder::Spans() {
  for (const auto& [track, vector] : transfers_) spans_.push_back(vector);
  transfers_.clear();
  while (!open_.empty()) CloseAll(open_.begin()->first, TraceSpan::Kind::kOpen, last_ns_);
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const TraceSpan& a, const TraceSpan& b) { return a.begin_ns < b.begin_ns; });
  return spans_;
}

std::string TraceRecorder::Json() {
  const std::vector<TraceSpan> spans = Spans();
  const uint64_t start = spans.empty() ? 0 : spans.front().begin_ns;
  auto list = nlohmann::ordered_json::array();
  list.push_back(TrackName(0, "server"));
  for (const auto& [worker, name] : names_) list.push_back(TrackName(worker + 1, name));
  for (const TraceSpan& span : spans) {
    const bool transfer =
        span.kind == TraceSpan::Kind::kReceives || span.kind == TraceSpan::Kind::kSends;
    nlohmann::ordered_json args = {{"step", span.step}};
    if (span.kind == TraceSpan::Kind::kCollect) args["error"] = span.error;
    list.push_back(
        {{"ph", "X"},
         {"pid", transfer ? 2 : 1},  // Links have a group of their own, beside assigned work.
         {"tid", span.track},
         {"name", NameOf(span)},
         {"ts", Microseconds(span.begin_ns - start)},
         {"dur", Microseconds(span.end_ns - span.begin_ns)},
         {"args", args}});
  }
  const nlohmann::ordered_json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", list}};
  return trace.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
