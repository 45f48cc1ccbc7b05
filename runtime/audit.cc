// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit.h"

#include <cmath>
#include <map>

#include "coding/combine.h"

namespace motley {

namespace {

// The samples by what they count; those that do not are left out.
std::map<double, std::vector<uint32_t>> WeightedRows(const BatchSchedule& schedule, StepId step,
                                                     const ApproximateSum* approximate) {
  if (approximate == nullptr) return {{1, schedule.Rows(step)}};
  const StepBatch batch = schedule.At(step);
  const auto ranges = schedule.SharedRanges(step);
  std::map<double, std::vector<uint32_t>> rows;
  for (PartitionId p = 0; p < ranges->size(); ++p) {
    const auto [begin, count] = (*ranges)[p];
    const double weight = approximate->coverage[p];
    if (weight != 0 && count > 0) batch.AppendRows(begin, count, 0, rows[weight]);
  }
  return rows;
}

}  // namespace

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
