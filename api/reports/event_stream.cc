// SPDX-License-Identifier: Apache-2.0
#include "api/reports/event_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/reports/evaluation_json.h"

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

void EventStream::OnWorkerJoined(WorkerId worker, const std::string& name) {
  motley_event event = Make(MOTLEY_EVENT_WORKER_JOINED, 0, worker);
  event.text = name.c_str();
  Send(event, Now());
}

void EventStream::OnWorkerLost(WorkerId worker, const Status& why) {
  const std::string text = why.ToString();
  motley_event event = Make(MOTLEY_EVENT_WORKER_LOST, 0, worker);
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::OnStepOpened(StepId step, const CodeForm& /*code*/, Time now) {
  leasing_.clear();
  Send(Make(MOTLEY_EVENT_STEP_OPENED, step), now);
}

void EventStream::OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) {
  Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, step, worker, row), now);
}

void EventStream::OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) {
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, step, worker, row), now);
}

void EventStream::OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId>,
                                  Time now) {
  leasing_.erase(worker);
  Send(Make(MOTLEY_EVENT_ROW_ARRIVED, step, worker, worker), now);
}

void EventStream::OnStepApproximated(StepId /*step*/, const ApproximateSum& sum, Time /*now*/) {
  error_ = sum.error;
}

void EventStream::OnStepDecoded(StepId step, const DecodedSum& /*sum*/,
                                std::span<const float> /*parameters*/, Time now) {
  motley_event event = Make(MOTLEY_EVENT_STEP_DECODED, step);
  event.error = std::exchange(error_, 0);
  Send(event, now);
}

void EventStream::OnStepApplied(StepId step, std::span<const float> /*parameters*/,
                                double batch_loss, Time now) {
  motley_event event = Make(MOTLEY_EVENT_STEP_APPLIED, step);
  event.loss = batch_loss * loss_unit_;
  Send(event, now);
}

void EventStream::OnCheckpoint(uint64_t steps) {
  Send(Make(MOTLEY_EVENT_CHECKPOINT, steps), Now());
}

void EventStream::OnJudged(const JudgedVersion& judged) {
  nlohmann::ordered_json about = {{"best", judged.best}};
  if (judged.samples) {
    // A curve has no use for the confusion matrix of each point.
    Evaluation found = InUnitsOfLabels(*judged.samples, loss_unit_);
    found.confusion.clear();
    about["validation"] = nlohmann::ordered_json::parse(EvaluationJson(found, {}));
  }
  const std::string text = about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  motley_event event = Make(MOTLEY_EVENT_JUDGED, judged.version);
  event.loss = judged.training_loss * loss_unit_;
  event.text = text.c_str();
  Send(event, Now());
}

void EventStream::OnNotice(const std::string& text) { Tell(MOTLEY_EVENT_NOTICE, text); }

void EventStream::OnAuditWarning(const AuditWarning& warning) {
  Tell(MOTLEY_EVENT_WARNING, warning.text);
}

void EventStream::OnCommand(const Command& command, Time now) {
  if (const auto* cancel = std::get_if<CancelWork>(&command)) {
    leasing_.erase(cancel->worker);
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, cancel->step, cancel->worker, MOTLEY_ALL_ROWS), now);
  } else if (const auto* row = std::get_if<CancelRow>(&command)) {
    Send(Make(MOTLEY_EVENT_ROW_CANCELLED, row->step, row->worker, row->row), now);
  } else if (const auto* notify = std::get_if<Notify>(&command); notify && notify->detail) {
    Tell(MOTLEY_EVENT_DETAIL, notify->text);
  } else if (const auto* extend = std::get_if<ExtendLease>(&command)) {
    const WorkerId worker = extend->worker;
    if (!leasing_.insert(worker).second) return;
    Send(Make(MOTLEY_EVENT_ROW_ASSIGNED, extend->step, worker, worker), now);
  }
}

}  // namespace motley
