// SPDX-License-Identifier: Apache-2.0
// Holds a step's answers, and the sum that was decoded from them, to a sum over the same samples
// that the server forms itself, without any code.
//
// Answers are weighted sums of partial gradients, and a sketch is linear. So the server computes
// each sample once, in groups of partitions that all answers weigh alike; from the sketches of the
// groups follows what the sketch of every answer should be, of any code. Vectors cut into parts,
// and coefficients that multiply pairs of floats, are linear over the reals, too: sketch(c g) =
// Re(c) sketch(g) + Im(c) sketch(i g).
//
// Honest answers differ by rounding, relative to the groups' norms by some 1e-7. Two things make
// that more. A unit whose input is 0 but for rounding may be on in one place and off in another;
// and where a model fits its samples, rounding may be all that is left of a gradient. So an answer
// that is too far off is looked at again: sums of a few samples each are formed at parameters that
// are moved by a little more than rounding, and what that changes is excused. On the thread of a
// device.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/shard/answer_log.h"
#include "runtime/shard/job_gradient.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

// How far an answer may be from its sum, of the norms of the groups that it weighs.
inline constexpr double kAuditTolerance = 1e-4;

struct AuditRequest {
  std::shared_ptr<const std::vector<float>> parameters;
  StepAnswers answers;
  std::vector<float> decoded;                         // Used up.
  std::shared_ptr<const ApproximateSum> approximate;  // What `decoded` is; null: the exact sum.
};

struct AuditResult {
  // ||decoded - direct|| over the larger of ||decoded|| and that. The direct sum weighs partitions
  // as the approximate one does.
  double decode_error = 0;
  // The answers are right, and what was decoded from them is not.
  bool misdecoded = false;
  struct Verdict {
    double difference = 0;      // Relative, as above; of its gradient, or else its tally.
    const char* off = nullptr;  // What is wrong: "gradient", "loss", "weight"; null: nothing.
    bool confirms = false;  // It is right, and zeros would not be: so the server is right as well.
  };
  std::vector<Verdict> verdicts;  // By answer.
  // By row of the form, what its slices' headers should declare, and the norms that it weighs.
  struct Row {
    std::vector<double> declared;
    double norms = 0;
  };
  std::vector<Row> rows;

  // What came too late is what it should be, and 0 would not be.
  bool Agrees(const LateSlice& late) const;
};

// What `gradient` says, and kCancelled soon after `cancelled` is set. Beside the request it takes
// one vector as long as the model, and another one when an answer is looked at again.
Result<AuditResult> Audit(Device& device, JobGradient& gradient, const DataSource& data,
                          const BatchSchedule& schedule, AuditRequest request,
                          const std::atomic<bool>& cancelled);

}  // namespace motley
