// SPDX-License-Identifier: Apache-2.0
#include "api/reports/event_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/reports/evaluation_json.h"
#include "api/reports/notice_text.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

motley_event Make(int32_t kind, StepId step = 0, WorkerId worker = 0, RowId row = 0) {
  motley_event event{};
  event.struct_size = sizeof(motley_event);
  event.kind = kind;
  event.step = step;
  event.worker = worker;
  event.row = row;
  event.text = "";
  return event;
}

}  // namespace

EventStream::EventStream(Sink sink, const Loop* clock)
    : sink_(std::move(sink)), clock_(clock), start_(Now()) {}

void EventStream::Send(motley_event event, Time now) {
  last_ = now;
  event.time_ns = static_cast<uint64_t>(std::max(now - start_, Duration::zero()).count());
  if (sink_) sink_(event);
}

void EventStream::Tell(int32_t kind, const std::string& text) {
  motley_event event = Make(kind);
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void EventStream::On(const event::WorkerJoined& told) {
  names_[told.worker] = told.name;
  motley_event event = Make(MOTLEY_EVENT_WORKER_JOINED, 0, told.worker);
  event.text = told.name.c_str();
  Send(event, Now());
}

void EventStream::On(const event::WorkerLost& told) {
  const std::string text = told.why.ToString();
  motley_event event = Make(MOTLEY_EVENT_WORKER_LOST, 0, told.worker);
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::On(const event::StepOpened& told) {
  leasing_.clear();
  Send(Make(MOTLEY_EVENT_STEP_OPENED, told.step), told.now);
}

void EventStream::On(const event::RowAssigned& told) {
  Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, told.step, told.worker, told.row), told.now);
}

void EventStream::On(const event::RowArrived& told) {
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, told.step, told.worker, told.row), told.now);
}

void EventStream::On(const event::VectorArrived& told) {
  leasing_.erase(told.worker);
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, told.step, told.worker, told.worker), told.now);
}

void EventStream::On(const event::StepApproximated& told) { error_ = told.sum.error; }

void EventStream::On(const event::StepDecoded& told) {
  motley_event event = Make(MOTLEY_EVENT_STEP_DECODED, told.step);
  event.error = std::exchange(error_, 0);
  Send(event, told.now);
}

void EventStream::On(const event::StepApplied& told) {
  motley_event event = Make(MOTLEY_EVENT_STEP_APPLIED, told.step);
  event.loss = told.batch_loss * loss_unit_;
  Send(event, told.now);
}

void EventStream::On(const event::CheckpointSafe& told) {
  Send(Make(MOTLEY_EVENT_CHECKPOINT, told.steps), Now());
}

void EventStream::On(const event::VersionJudged& told) {
  nlohmann::ordered_json about = {{"best", told.judged.best}};
  if (told.judged.samples) {
    // A curve has no use for the confusion matrix of each point.
    Evaluation found = InUnitsOfLabels(*told.judged.samples, loss_unit_);
    found.confusion.clear();
    about["validation"] = nlohmann::ordered_json::parse(EvaluationJson(found, {}));
  }
  const std::string text = about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  motley_event event = Make(MOTLEY_EVENT_JUDGED, told.judged.version);
  event.loss = told.judged.training_loss * loss_unit_;
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::On(const event::Noticed& told) {
  const auto name_of = [this](WorkerId worker) -> std::string {
    const auto found = names_.find(worker);
    return found != names_.end() && WorthSaying(found->second) ? found->second : "";
  };
  Tell(MOTLEY_EVENT_NOTICE, NoticeText(told.notice, name_of, loss_unit_));
}

void EventStream::On(const event::AuditWarned& told) {
  Tell(MOTLEY_EVENT_WARNING, told.warning.text);
}

void EventStream::On(const event::CommandGiven& told) {
  if (const auto* cancel = std::get_if<CancelWork>(&told.command)) {
    leasing_.erase(cancel->worker);
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, cancel->step, cancel->worker, MOTLEY_ALL_ROWS), told.now);
  } else if (const auto* row = std::get_if<CancelRow>(&told.command)) {
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, row->step, row->worker, row->row), told.now);
  } else if (const auto* extend = std::get_if<ExtendLease>(&told.command)) {
    const WorkerId worker = extend->worker;
    if (!leasing_.insert(worker).second) return;
    Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, extend->step, worker, worker), told.now);
  }
}

}  // namespace motley
