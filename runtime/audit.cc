// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit.h"

#include <cmath>

namespace motley {

std::vector<uint32_t> BatchRows(const BatchSchedule& schedule, StepId step) {
  const std::vector<BatchSchedule::Range> ranges = schedule.Ranges(step);
  const std::vector<uint32_t>& sizes = schedule.partition_sizes();
  std::vector<uint32_t> rows;
  rows.reserve(schedule.batch_size(step));
  uint32_t first = 0;
  for (PartitionId p = 0; p < sizes.size(); first += sizes[p], ++p) {
    if (ranges[p].count == 0) continue;
    const std::vector<uint32_t> order = schedule.Order(schedule.epoch(step), p);
    for (uint32_t i = 0; i < ranges[p].count; ++i)
      rows.push_back(first + order[ranges[p].begin + i]);
  }
  return rows;
}

Result<double> DecodeError(Device& device, JobGradient& gradient, const DataSource& data,
                           const BatchSchedule& schedule, StepId step,
                           std::span<const float> parameters, std::span<const float> decoded,
                           const std::atomic<bool>& cancelled) {
  std::vector<float> direct(parameters.size(), 0);
  double loss = 0;
  MOTLEY_RETURN_IF_ERROR(gradient.Sum(device, step, parameters, data, BatchRows(schedule, step),
                                      cancelled, direct, loss));
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
