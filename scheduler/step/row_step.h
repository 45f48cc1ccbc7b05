// SPDX-License-Identifier: Apache-2.0
// Codes with fixed rows: every worker computes its row and sends one vector, and the step has
// enough as soon as the rows that came decode. There is no feedback while all is well.
//
// If so many workers are lost that the others' rows cannot decode, live workers make up for lost
// rows. They compute a lost row's partitions, if they hold them, with the row's coefficients, after
// sending the vector that they were working on. The sum of such vectors is the lost row. A row with
// a partition whose only copy was lost stays lost. If nothing is left to be made up for, the step
// never ends.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/step/row_code.h"
#include "scheduler/step/step_policy.h"

namespace motley {

class RowStep final : public StepPolicy {
 public:
  RowStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const RowCode> code);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return std::numeric_limits<double>::infinity(); }
  double vector_fraction() const override { return code_->vector_fraction; }
  bool wants_progress() const override { return false; }

 private:
  // One vector to come, in place of another.
  struct Piece {
    RowId row;
    std::vector<PartitionId> partitions;
  };
  struct Worker {
    double free_at = 0;  // Predicted; used to choose workers that make up for others.
    bool live = true;
    bool at_own = false;        // Its own row is under way.
    std::vector<Piece> others;  // If not, the first of these is under way.
  };

  void On(const VectorArrived& event);
  void On(const StepWorkerLost& event);
  void Occupy(WorkerId w, uint32_t count);
  void Give(WorkerId w, Piece piece);
  void Start(WorkerId w);
  bool HeldByLive(std::span<const PartitionId> partitions) const;
  void MakeUp(RowId row, std::span<const PartitionId> partitions);
  void Mend();

  std::shared_ptr<const StepSetting> setting_;
  std::shared_ptr<const RowCode> code_;
  std::vector<Worker> workers_;
  ArrivedRows arrived_;
  std::vector<bool> expected_;     // Rows that came or are under way.
  std::vector<uint32_t> missing_;  // By row: partitions that no vector covers yet.
  std::vector<StepCommand>* out_ = nullptr;
};

}  // namespace motley
