// SPDX-License-Identifier: Apache-2.0
// A step with the rows of a code, on the step model: the engine that runs the rows of jobs decides
// (scheduler/rows/row_engine.h), and this class translates. The model's events become messages of
// workers, and the engine's commands become commands to the model's workers.
//
// Three things differ from a job. Nobody is overdue, because a single step has not learned any
// deadlines. A cancelled worker ends the row that it began, unless it keeps rows. And the code's
// form stands in for the decoder: it says which rows are enough.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "planner/row_code.h"
#include "scheduler/rows/row_engine.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// What all steps of a scheme begin with.
struct EngineStart {
  JobState job;   // Workers that are free and hold the partitions of their rows.
  Plan plan;      // Over these workers.
  RowCode rows;   // RowCodeOf(plan.code).
  bool feedback;  // Workers with lists are notified of rows that others have done, and skip them.
};

// If workers have lists, each row is a partition of the model.
class EngineStep final : public StepPolicy {
 public:
  explicit EngineStep(std::shared_ptr<const EngineStart> start);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return std::numeric_limits<double>::infinity(); }
  double vector_fraction() const override;
  bool sends_each() const override { return start_->plan.SeveralRows() && !keeps(); }
  bool resends() const override { return keeps(); }
  bool wants_progress() const override { return keeps(); }

 private:
  struct Hand {
    std::vector<RowId> rows;     // In the order of work, without those that were dropped.
    uint32_t done = 0;           // The first so many are done.
    uint32_t orders = 0;         // The engine gave the first so many; answers need the others.
    std::vector<RowId> answers;  // Answers to come that cover kept rows, in order.
    double data = 0;             // The part of all data that has to be sent before the next row.
  };

  bool keeps() const { return start_->plan.code->kept_parts > 0; }
  void On(const ListProgress& event);
  void On(const ListReleased& event);
  void On(const VectorArrived& event);
  void On(const StepWorkerLost& event);
  void On(const StepTick&) {}

  void Do(const OpenStep& command);
  void Do(const PlacePartitions& command);
  void Do(const AssignRow& command);
  void Do(const CancelRow& command);
  void Do(const CommitStep&) { out_->emplace_back(StepEnough{}); }

  void Tell(const Event& event) { engine_.OnEvent(event); }
  bool Decode(RowId row);  // False: the row came before.
  bool Enough() const;
  void Ended(WorkerId worker);
  void AskForAnswer(WorkerId worker, RowId row);
  void CarryOut();

  std::shared_ptr<const EngineStart> start_;
  JobState job_;
  UpdateState update_;
  RowEngine engine_;
  ArrivedRows arrived_;
  std::vector<Hand> hands_;  // By worker.
  // The second half of a step with kept rows:
  std::shared_ptr<const CodeForm> answers_;  // Null before.
  std::vector<bool> answered_;               // By row of `answers_`; empty rows count as answered.
  std::vector<Command> commands_;
  std::vector<StepCommand>* out_ = nullptr;
};

}  // namespace motley
