// SPDX-License-Identifier: Apache-2.0
// Compares a step's answers, and the sum that was decoded from them, with a sum over the same
// samples that the server computes itself, without any code.
//
// Answers are weighted sums of partial gradients, and a sketch is linear. So the server computes
// each sample once, in groups of partitions that all answers weigh alike. The sketches of the
// groups give the expected sketch of every answer, for any code. Vectors cut into parts are linear
// over the reals as well, and so are coefficients that multiply pairs of floats: sketch(c g) =
// Re(c) sketch(g) + Im(c) sketch(i g).
//
// Rounding makes honest answers differ by some 1e-7 of the groups' norms. Two things make the
// difference larger. A unit whose input is 0 up to rounding may be on in one place and off in
// another. And if a model fits its samples, rounding may be all that is left of a gradient. So the
// audit looks again at an answer that is too far off: it forms sums of a few samples at parameters
// moved by a little more than rounding, and excuses what that changes. Runs on the thread of a
// device.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/audit/answer_log.h"
#include "runtime/audit/job_gradient.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

// The tolerated distance of an answer from its sum, as a part of the norms of its groups.
inline constexpr double kAuditTolerance = 1e-4;

// The decoded sum of a step, copied where it is computed; an error without memory for it.
using DecodedCopy = Result<std::vector<float>>;

struct AuditRequest {
  std::shared_ptr<const std::vector<float>> parameters;
  StepAnswers answers;
  // The decoded sum; the audit overwrites it. Empty if other nodes own the shards: `answers` then
  // has a sketch of each part.
  std::vector<float> decoded;
  std::shared_ptr<const ApproximateSum> approximate;  // Null: `decoded` is the exact sum.
};

struct AuditResult {
  // ||decoded - direct|| over the larger of ||decoded|| and ||direct||. The direct sum weighs
  // partitions as the approximate one does.
  double decode_error = 0;
  // The answers are right, but the sum decoded from them is not.
  bool misdecoded = false;
  // The same for the ranges of these nodes, if other nodes own the shards.
  std::vector<WorkerId> misdecoded_by;
  struct Verdict {
    double difference = 0;      // Relative difference of the gradient, or else of the tally.
    const char* off = nullptr;  // The wrong part: "gradient", "loss" or "weight"; null: none.
    // The answer is right, and zeros would not be, so the server is right as well.
    bool confirms = false;
  };
  // One for each answer. Parts of an answer that the same node logged share theirs.
  std::vector<Verdict> verdicts;
  // For each row of the form: what its slices' headers should declare, and the norms that it
  // weighs.
  struct Row {
    std::vector<double> declared;
    double norms = 0;
  };
  std::vector<Row> rows;

  // The late slice is what it should be, and zeros would not be.
  bool Agrees(const LateSlice& late) const;
};

// Returns errors of `gradient`, and kCancelled soon after `cancelled` is set. Beside the request it
// needs one vector as long as the model, and another one to look at an answer again (two without
// `decoded`).
Result<AuditResult> Audit(Device& device, JobGradient& gradient, const DataSource& data,
                          const BatchSchedule& schedule, AuditRequest request,
                          const std::atomic<bool>& cancelled);

}  // namespace motley
