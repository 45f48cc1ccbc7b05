// SPDX-License-Identifier: Apache-2.0
#include "planner/engine_step.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {

EngineStep::EngineStep(std::shared_ptr<const EngineStart> start)
    : start_(std::move(start)),
      job_(start_->job),
      update_{.id = job_.version},
      engine_(job_, update_, start_->plan),
      arrived_(start_->rows),
      hands_(job_.members.size()) {}

double EngineStep::vector_fraction() const {
  return keeps() ? 1.0 / start_->plan.code->kept_parts : start_->rows.vector_fraction;
}

void EngineStep::Begin(std::vector<StepCommand>& out) {
  out_ = &out;
  job_.out = &commands_;
  update_.phase = UpdateState::Phase::kOpen;
  engine_.Open();
  CarryOut();
}

void EngineStep::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  out_ = &out;
  job_.now = Time{} + FromSeconds(now);
  std::visit([this](const auto& e) { On(e); }, event);
  CarryOut();
}

// --- Events of the model ---

// A row is kept. In the second half it belongs to an answer, or came too late to be of use.
void EngineStep::On(const ListProgress& event) {
  if (!job_.members.Live(event.worker)) return;
  Hand& hand = hands_[event.worker];
  for (; hand.done < event.done; ++hand.done) {
    CarryOut();
    if (!answers_) Tell(RowArrived{event.worker, update_.id, hand.rows[hand.done]});
    if (hand.done < hand.orders) Ended(event.worker);
  }
}

void EngineStep::On(const ListReleased& event) {
  if (!job_.members.Live(event.worker)) return;
  Hand& hand = hands_[event.worker];
  for (const RowId row : event.partitions) {
    hand.rows.erase(std::find(hand.rows.begin() + hand.done, hand.rows.end(), row));
    --hand.orders;
    Ended(event.worker);
  }
}

void EngineStep::On(const VectorArrived& event) {
  const WorkerId worker = event.worker;
  if (!job_.members.Live(worker)) return;
  Hand& hand = hands_[worker];
  const RowId row = answers_ ? hand.answers.front() : hand.rows[hand.done++];
  if (answers_) hand.answers.erase(hand.answers.begin());
  if (!Decode(row)) {
    Tell(RowLate{worker, update_.id, row});
    return Ended(worker);
  }
  if (Enough()) return out_->push_back(StepEnough{});
  Tell(RowArrived{worker, update_.id, row});
  if (update_.open()) Ended(worker);
}

bool EngineStep::Decode(RowId row) {
  const bool came = answers_ ? answered_[row] : arrived_.present()[row];
  if (answers_) {
    answered_[row] = true;
  } else if (!came) {
    arrived_.Add(row);
  }
  return !came;
}

// Every answer to kept rows is needed.
bool EngineStep::Enough() const {
  if (!answers_) return arrived_.Enough();
  return std::find(answered_.begin(), answered_.end(), false) == answered_.end();
}

void EngineStep::On(const StepWorkerLost& event) {
  if (!job_.members.Live(event.worker)) return;
  job_.members.Lose(event.worker, /*leaves=*/false);
  hands_[event.worker] = {};
  engine_.Gone(event.worker);
  // A draft does not say which rows can replace others.
  if (!start_->plan.code->draft) engine_.Replace();
}

void EngineStep::Ended(WorkerId worker) {
  const WorkerFree free{worker, 0, Duration::zero(), 0};
  job_.members.Free(free, job_.now);
  Tell(free);
}

// --- Commands of the engine ---

void EngineStep::CarryOut() {
  for (const Command& command : commands_) {
    std::visit(
        [this](const auto& c) {
          if constexpr (requires { Do(c); }) Do(c);
        },
        command);
  }
  commands_.clear();
}

void EngineStep::Do(const OpenStep& command) {
  if (command.code == start_->plan.code) return;
  answers_ = command.code;
  for (const auto& row : answers_->rows) answered_.push_back(row.empty());
}

void EngineStep::Do(const PlacePartitions& command) {
  hands_[command.worker].data += 1.0 * command.partitions.size() / start_->plan.code->partitions;
}

void EngineStep::Do(const AssignRow& command) {
  Hand& hand = hands_[command.worker];
  if (answers_) return AskForAnswer(command.worker, command.row);
  hand.rows.push_back(command.row);
  ++hand.orders;
  const double data = std::exchange(hand.data, 0);
  if (!start_->plan.SeveralRows()) {
    out_->emplace_back(
        ExtendList{command.worker, {}, command.row, start_->rows.rows[command.row], data});
    out_->emplace_back(SendVector{command.worker});
    return;
  }
  // A worker gets a list in one message.
  auto* list = out_->empty() ? nullptr : std::get_if<ExtendList>(&out_->back());
  if (list != nullptr && list->worker == command.worker) {
    list->partitions.push_back(command.row);
    list->data += data;
  } else {
    out_->emplace_back(ExtendList{command.worker, {command.row}, 0, {}, data});
  }
}

// The worker computes the rows that it did not keep, before it answers.
void EngineStep::AskForAnswer(WorkerId worker, RowId row) {
  Hand& hand = hands_[worker];
  std::vector<bool> covered(start_->plan.code->partitions, false);
  for (const CodeEntry& entry : answers_->rows[row]) covered[entry.partition] = true;
  ExtendList missing{worker, {}, 0, {}, std::exchange(hand.data, 0)};
  const auto kept = hand.rows.begin() + hand.done;
  for (RowId each = 0; each < start_->rows.rows.size(); ++each) {
    if (!covered[start_->rows.rows[each].front()]) continue;
    if (std::find(hand.rows.begin(), kept, each) == kept) missing.partitions.push_back(each);
  }
  const bool now = missing.partitions.empty();
  hand.rows.insert(hand.rows.end(), missing.partitions.begin(), missing.partitions.end());
  hand.answers.push_back(row);
  if (!now) out_->emplace_back(std::move(missing));
  out_->emplace_back(SendVector{worker, now});
}

void EngineStep::Do(const CancelRow& command) {
  if (start_->feedback) out_->emplace_back(RevokeList{command.worker, {command.row}});
}

}  // namespace motley
