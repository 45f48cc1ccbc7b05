// SPDX-License-Identifier: Apache-2.0
// Tracks which workers have computed which rows of a form with kept rows (code_form.h), and makes
// the code of their answers (Ramamoorthy et al.; coding/decode/partial_code.h). Holds no vectors.
// One thread at a time.
//
// A row is solved when the workers that computed it can give the sum of its partitions in l parts.
// Once all rows are solved, the answers form a code of their own: its row w covers what worker w
// has computed, with the weights of least norm. C = R^T and V = I, so the server adds up l sums of
// 1/l of a gradient. Any worker can answer any such row by computing it again, so a lost worker
// costs only a new plan.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "coding/decode/partial_code.h"

namespace motley {

// Limits the weights of answers to 2.5. Sums are then exact to 1e-5 for gradients with parts of
// similar size, even with the noise floor of answers in parts (noise_floor.h). Holders that would
// need larger weights count as fewer, and the step waits for more.
inline constexpr DecodeLimits kAnswerLimits{.tolerance = 2.5 * 0x1p-23};

class PartialRows {
 public:
  // Begins a step, or the same step again, with no row computed. Precondition:
  // form->kept_parts > 0.
  void Open(std::shared_ptr<const CodeForm> form);

  // Records that the worker of list `owner` has computed the row. Returns true if the row is
  // solved.
  bool Done(WorkerId owner, RowId row);
  // Records that the worker's sums are gone. Returns the rows that are no longer solved.
  std::vector<RowId> Lose(WorkerId owner);
  bool Has(WorkerId owner, RowId row) const { return done_[owner][row]; }

  // The code of the answers; it tolerates no straggler. The sums of the `awake` workers (one flag
  // per list) are preferred, and those of the others are used if necessary. If all sums together
  // are not enough, further holders count as if they had computed the row, awake ones first.
  Result<CodeForm> Answers(const std::vector<bool>& awake) const;

 private:
  bool Solves(const std::vector<WorkerId>& workers) const {
    return SolvesChunk(code_, workers, kAnswerLimits);
  }
  std::vector<WorkerId> WhoAnswers(RowId row, const std::vector<bool>& awake) const;

  std::shared_ptr<const CodeForm> form_;
  PartialCode code_;
  std::vector<std::vector<WorkerId>> holders_;   // By row.
  std::vector<std::vector<WorkerId>> finished_;  // By row: holders that have computed it.
  std::vector<std::vector<bool>> done_;          // By worker and row.
};

}  // namespace motley
