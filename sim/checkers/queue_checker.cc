// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/queue_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/links/partition_feed.h"
#include "runtime/survey/link_load.h"

namespace motley {
namespace {

constexpr size_t kControlBytes = 64u << 10;  // A few messages; the longest lists every partition.
constexpr size_t kBlockHeader = 256;         // More than an encoded block adds to its samples.
constexpr size_t kAnswers = 2;               // The answers that a worker keeps buffers for.
// Frames of two measurements of all links, one of which is over.
constexpr size_t kSurveyBytes = 2 * 8 * kLoadFrameBytes;
constexpr size_t kMostBlock = size_t{1} << 30;  // Keeps the sum of limits in range.

}  // namespace

QueueLimits LimitQueues(const JobOptions& job, const Dataset& data, size_t vector_length) {
  const size_t vector_bytes = vector_length * sizeof(float);
  const auto partitions = PartitionCount(data.rows(), job.workers);
  const size_t blocks = partitions.ok() ? *partitions : 1;
  const size_t all_data = data.size_bytes() + blocks * kBlockHeader;
  const size_t one_block = std::min(all_data / blocks * 2 + kBlockHeader, kMostBlock);
  QueueLimits limits;
  limits.server = std::min(all_data, kFeedWindow + one_block) + vector_bytes + kControlBytes;
  limits.worker = kAnswers * vector_bytes + kControlBytes;
  if (job.holders == JobOptions::Holders::kServer) return limits;
  limits.server += kSurveyBytes;
  limits.worker += kSurveyBytes;
  return limits;
}

void CheckQueue(size_t limit, const std::string& who, size_t most_queued, Violations& violations) {
  if (most_queued <= limit) return;
  violations.Add(fmt::format("I8: {} had {} bytes waiting for one peer; the limit is {}", who,
                             most_queued, limit));
}

}  // namespace motley
