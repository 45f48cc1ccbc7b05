// SPDX-License-Identifier: Apache-2.0
// Gradient coding that counts the work of partial stragglers (Ramamoorthy, Meng, Girimaji, NeurIPS
// 2024; coding/decode/partial_code.h). Workers go through what they hold, keep every partition's
// gradient and report. The server cuts as soon as l = `parts` live holders have finished each
// partition, and their rows of R solve for it within the limits of precision. Every worker then
// sends one vector, 1/l of a gradient long, with weights that follow from the partitions that each
// worker has finished. l = 1 is deduplication without any code.
//
// A worker that is lost after the cut takes its vector along: another cut follows as soon as the
// others finished enough. If a partition has fewer than l live holders, or holders with rows too
// alike, l falls to a value that they can solve for.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "coding/decode/partial_code.h"
#include "coding/placement/chunk_order.h"
#include "scheduler/step/step_policy.h"

namespace motley {

class PartialStep final : public StepPolicy {
 public:
  // lists[w] is everything that worker w holds, in the order of its work. If partitions stand for
  // rows (StepSetting::work), nobody begins a row that is solved for, as in jobs. If a loss undoes
  // that, the holders that dropped the row are given it again.
  PartialStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const WorkLists> lists,
              uint32_t parts);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return std::numeric_limits<double>::infinity(); }
  double vector_fraction() const override { return 1.0 / parts_; }
  bool resends() const override { return true; }

  uint32_t parts() const { return parts_; }
  // By worker: the length of its list that counted at the last cut; 0 for lost workers.
  const std::vector<uint32_t>& cut() const { return cut_; }

 private:
  void Finish(WorkerId w, uint32_t done, std::vector<StepCommand>& out);
  void Drop(const ListReleased& released, std::vector<StepCommand>& out);
  // If the partition is not solved for, its live holders that dropped it are given it again.
  void GiveBack(PartitionId p, std::vector<StepCommand>& out);
  bool Solved(PartitionId p) const;
  void Lose(WorkerId w, std::vector<StepCommand>& out);
  void SetParts();
  bool HoldersSolveAll() const;  // With the rows of R for the present l.
  void Cut(std::vector<StepCommand>& out);

  std::shared_ptr<const StepSetting> setting_;
  WorkLists lists_;  // Without the entries that their workers dropped.
  uint32_t parts_;
  std::vector<bool> live_;
  std::vector<uint32_t> done_;                   // By worker: finished entries of its list.
  std::vector<std::vector<WorkerId>> finished_;  // By partition: live workers that did it.
  std::vector<bool> solved_;                     // By partition.
  PartialCode code_;
  std::vector<uint32_t> holders_;                           // By partition: its live holders.
  uint32_t fewest_ = std::numeric_limits<uint32_t>::max();  // The least of `holders_`.
  size_t lacking_;                                          // Partitions that are not solved.
  std::vector<uint32_t> cut_;
  std::vector<uint32_t> stale_;  // By worker: vectors on their way that belong to a former cut.
  std::vector<bool> asked_;      // By worker: its vector of this cut is to come.
  size_t to_come_ = 0;
  bool is_cut_ = false;
};

}  // namespace motley
