// SPDX-License-Identifier: Apache-2.0
#include "api/reports/event_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/reports/audit_text.h"
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

void EventStream::On(const event::WorkerJoined& happened) {
  names_[happened.worker] = happened.name;
  motley_event event = Make(MOTLEY_EVENT_WORKER_JOINED, 0, happened.worker);
  event.text = happened.name.c_str();
  Send(event, Now());
}

void EventStream::On(const event::WorkerLost& happened) {
  const std::string text = happened.why.ToString();
  motley_event event = Make(MOTLEY_EVENT_WORKER_LOST, 0, happened.worker);
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::On(const event::StepOpened& happened) {
  leasing_.clear();
  Send(Make(MOTLEY_EVENT_STEP_OPENED, happened.step), happened.now);
}

void EventStream::On(const event::RowAssigned& happened) {
  Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, happened.step, happened.worker, happened.row), happened.now);
}

void EventStream::On(const event::RowArrived& happened) {
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, happened.step, happened.worker, happened.row), happened.now);
}

void EventStream::On(const event::VectorArrived& happened) {
  leasing_.erase(happened.worker);
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, happened.step, happened.worker, happened.worker),
       happened.now);
}

void EventStream::On(const event::StepApproximated& happened) { error_ = happened.sum.error; }

void EventStream::On(const event::StepDecoded& happened) {
  motley_event event = Make(MOTLEY_EVENT_STEP_DECODED, happened.step);
  event.error = std::exchange(error_, 0);
  Send(event, happened.now);
}

void EventStream::On(const event::StepApplied& happened) {
  motley_event event = Make(MOTLEY_EVENT_STEP_APPLIED, happened.step);
  event.loss = happened.batch_loss * loss_unit_;
  Send(event, happened.now);
}

void EventStream::On(const event::CheckpointSafe& happened) {
  Send(Make(MOTLEY_EVENT_CHECKPOINT, happened.steps), Now());
}

void EventStream::On(const event::VersionJudged& happened) {
  nlohmann::ordered_json about = {{"best", happened.judged.best}};
  if (happened.judged.samples) {
    // A curve has no use for the confusion matrix of each point.
    Evaluation found = InUnitsOfLabels(*happened.judged.samples, loss_unit_);
    found.confusion.clear();
    about["validation"] = nlohmann::ordered_json::parse(EvaluationJson(found, {}));
  }
  const std::string text = about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  motley_event event = Make(MOTLEY_EVENT_JUDGED, happened.judged.version);
  event.loss = happened.judged.training_loss * loss_unit_;
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::On(const event::Noticed& happened) {
  if (const auto* joined = std::get_if<notice::ShardServerJoined>(&happened.notice)) {
    names_[joined->node] = joined->name;
  }
  const auto name_of = [this](WorkerId worker) -> std::string {
    const auto found = names_.find(worker);
    return found != names_.end() && WorthSaying(found->second) ? found->second : "";
  };
  const std::string text = NoticeText(happened.notice, name_of, loss_unit_);
  const std::string reduction = ReductionJson(happened.notice, text, name_of);
  if (!reduction.empty()) reduction_ = reduction;
  Tell(IsDetail(happened.notice) ? MOTLEY_EVENT_DETAIL : MOTLEY_EVENT_NOTICE, text);
}

void EventStream::On(const event::AuditWarned& happened) {
  Tell(MOTLEY_EVENT_WARNING, AuditText(happened.warning));
}

void EventStream::On(const event::CommandGiven& happened) {
  if (const auto* cancel = std::get_if<CancelWork>(&happened.command)) {
    leasing_.erase(cancel->worker);
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, cancel->step, cancel->worker, MOTLEY_ALL_ROWS),
         happened.now);
  } else if (const auto* row = std::get_if<CancelRow>(&happened.command)) {
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, row->step, row->worker, row->row), happened.now);
  } else if (const auto* extend = std::get_if<ExtendLease>(&happened.command)) {
    const WorkerId worker = extend->worker;
    if (!leasing_.insert(worker).second) return;
    Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, extend->step, worker, worker), happened.now);
  }
}

}  // namespace motley
