// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit.h"

#include <cmath>
#include <map>

#include "coding/combine.h"

namespace motley {

namespace {

// Calls `take(partition, row)` for each sample of the batch.
template <typename Take>
void ForEachRow(const BatchSchedule& schedule, StepId step, Take take) {
  const std::vector<BatchSchedule::Range> ranges = schedule.Ranges(step);
  const std::vector<uint32_t>& sizes = schedule.partition_sizes();
  uint32_t first = 0;
  for (PartitionId p = 0; p < sizes.size(); first += sizes[p], ++p) {
    if (ranges[p].count == 0) continue;
    const std::vector<uint32_t> order = schedule.Order(schedule.epoch(step), p);
    for (uint32_t i = 0; i < ranges[p].count; ++i) take(p, first + order[ranges[p].begin + i]);
  }
}

// The samples by what they count; those that do not are left out.
std::map<double, std::vector<uint32_t>> WeightedRows(const BatchSchedule& schedule, StepId step,
                                                     const ApproximateSum* approximate) {
  if (approximate == nullptr) return {{1, BatchRows(schedule, step)}};
  std::map<double, std::vector<uint32_t>> rows;
  ForEachRow(schedule, step, [&](PartitionId p, uint32_t row) {
    if (approximate->coverage[p] != 0) rows[approximate->coverage[p]].push_back(row);
  });
  return rows;
}

}  // namespace

std::vector<uint32_t> BatchRows(const BatchSchedule& schedule, StepId step) {
  std::vector<uint32_t> rows;
  rows.reserve(schedule.batch_size(step));
  ForEachRow(schedule, step, [&](PartitionId, uint32_t row) { rows.push_back(row); });
  return rows;
}

Result<double> DecodeError(Device& device, JobGradient& gradient, const DataSource& data,
                           const BatchSchedule& schedule, StepId step,
                           std::span<const float> parameters, std::span<const float> decoded,
                           const ApproximateSum* approximate, const std::atomic<bool>& cancelled) {
  std::vector<float> direct(parameters.size(), 0);
  std::vector<float> part;
  double loss = 0;
  for (const auto& [weight, rows] : WeightedRows(schedule, step, approximate)) {
    part.assign(parameters.size(), 0);
    MOTLEY_RETURN_IF_ERROR(
        gradient.Sum(device, step, parameters, data, rows, cancelled, part, loss));
    AddWeighted(Field::kReal, weight, part, direct);
  }
  double difference = 0;
  double size = 0;
  for (size_t i = 0; i < direct.size(); ++i) {
    const double gap = static_cast<double>(decoded[i]) - direct[i];
    difference += gap * gap;
    size += static_cast<double>(direct[i]) * direct[i];
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

}  // namespace motley
