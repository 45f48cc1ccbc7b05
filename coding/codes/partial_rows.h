// SPDX-License-Identifier: Apache-2.0
// Which rows of a form with kept rows (code_form.h) are done by whom, and what each worker answers
// then (Ramamoorthy et al.; coding/decode/partial_code.h). Holds no vectors. One thread at a time.
//
// A row is solved when those who have done it can give the sum of its partitions, in l parts. Once
// all are, the answers form a code of their own: row w of it is what worker w has done, with the
// weights of least norm; C = R^T and V = I, so that the server adds up l sums of 1/l of a gradient.
// Anybody can answer such a row, who has done it or not, so nothing but a change of plan is lost
// with a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "coding/decode/partial_code.h"

namespace motley {

// Of weights of answers: at most 2.5, so that sums are exact to 1e-5 of those of gradients whose
// parts are alike, also behind the noise floor of answers in parts (noise_floor.h). Holders that
// would need larger weights count as fewer, and the step waits for others.
inline constexpr DecodeLimits kAnswerLimits{.tolerance = 2.5 * 0x1p-23};

class PartialRows {
 public:
  // A step begins, or begins again: nothing is done. The form's rows are kept.
  void Open(std::shared_ptr<const CodeForm> form);

  // The worker of that list has done the row. Returns whether the row is solved.
  bool Done(WorkerId owner, RowId row);
  // What it has done is gone. Returns the rows that were solved and are not any more.
  std::vector<RowId> Lose(WorkerId owner);
  bool Has(WorkerId owner, RowId row) const { return done_[owner][row]; }

  // The code of the answers, without a straggler to spare. What the `awake` (one flag per list)
  // have done is preferred; what the others have done is used where it takes that, and where all of
  // it is not enough, further holders count as if they had done the row: awake ones first.
  Result<CodeForm> Answers(const std::vector<bool>& awake) const;

 private:
  bool Solves(const std::vector<WorkerId>& workers) const {
    return SolvesChunk(code_, workers, kAnswerLimits);
  }
  std::vector<WorkerId> WhoAnswers(RowId row, const std::vector<bool>& awake) const;

  std::shared_ptr<const CodeForm> form_;
  PartialCode code_;
  std::vector<std::vector<WorkerId>> holders_;   // By row.
  std::vector<std::vector<WorkerId>> finished_;  // By row: holders that have done it.
  std::vector<std::vector<bool>> done_;          // By worker and row.
};

}  // namespace motley
