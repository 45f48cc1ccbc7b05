// SPDX-License-Identifier: Apache-2.0
#include "reproduce/multi_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr double kZero = 1e-9;  // Entries are small fractions; smaller values are rounding errors.

// values -= factor * other
void Subtract(double factor, const std::vector<double>& other, std::vector<double>& values) {
  if (values.size() < other.size()) values.resize(other.size(), 0);
  for (size_t i = 0; i < other.size(); ++i) {
    values[i] -= factor * other[i];
    if (std::abs(values[i]) < kZero) values[i] = 0;
  }
}

}  // namespace

Result<ShiftedCode> MakeShiftedCode(uint32_t workers, std::vector<uint32_t> degrees,
                                    uint64_t seed) {
  const uint64_t total = std::accumulate(degrees.begin(), degrees.end(), uint64_t{0});
  if (degrees.empty() || degrees.front() != 1 || !std::is_sorted(degrees.begin(), degrees.end()) ||
      total > workers) {
    return Status::InvalidArgument(
        fmt::format("degrees of a shifted code start with 1, do not fall, and sum to at most the "
                    "{} workers, not {}",
                    workers, total));
  }
  ShiftedCode code{workers, std::move(degrees), std::vector<uint32_t>(workers)};
  std::iota(code.shifts.begin(), code.shifts.end(), 0);
  Random(seed, Stream::kCode, workers, total).Shuffle(std::span(code.shifts));
  code.shifts.resize(total);
  return code;
}

std::vector<PartitionId> ShiftedMessage(const ShiftedCode& code, WorkerId worker, uint32_t index) {
  MOTLEY_ASSERT(worker < code.workers && index < code.degrees.size());
  const auto begin = std::accumulate(code.degrees.begin(), code.degrees.begin() + index, 0U);
  std::vector<PartitionId> members;
  for (uint32_t i = begin; i < begin + code.degrees[index]; ++i) {
    members.push_back((worker + code.shifts[i]) % code.workers);
  }
  return members;
}

MessageDecoder::MessageDecoder(uint32_t partitions)
    : partitions_(partitions), row_of_(partitions, kNone) {}

bool MessageDecoder::Recovered(PartitionId partition) const {
  return row_of_[partition] != kNone && rows_[row_of_[partition]].alone;
}

void MessageDecoder::Settle(Row& row) {
  if (row.alone) return;
  row.alone = std::count(row.members.begin(), row.members.end(), 0.0) + 1 ==
              static_cast<std::ptrdiff_t>(partitions_);
  recovered_ += row.alone ? 1 : 0;
}

bool MessageDecoder::Add(std::span<const PartitionId> members) {
  Row fresh{kNone, std::vector<double>(partitions_, 0), std::vector<double>(added_ + 1, 0)};
  fresh.messages[added_++] = 1;
  for (PartitionId partition : members) fresh.members[partition] = 1;
  // Rows are 0 at each other's pivots, so subtracting one adds no other pivot.
  for (PartitionId partition : members) {
    if (row_of_[partition] == kNone) continue;
    const Row& row = rows_[row_of_[partition]];
    Subtract(1, row.messages, fresh.messages);
    if (row.alone) {
      fresh.members[partition] = 0;
    } else {
      Subtract(1, row.members, fresh.members);
    }
  }
  const auto pivot = std::max_element(fresh.members.begin(), fresh.members.end(),
                                      [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (pivot == fresh.members.end() || *pivot == 0) return false;
  fresh.pivot = static_cast<PartitionId>(pivot - fresh.members.begin());
  const double scale = 1 / *pivot;
  for (double& value : fresh.members) value *= scale;
  for (double& value : fresh.messages) value *= scale;
  fresh.members[fresh.pivot] = 1;
  for (Row& row : rows_) {
    const double factor = row.members[fresh.pivot];
    if (factor == 0) continue;
    Subtract(factor, fresh.members, row.members);
    Subtract(factor, fresh.messages, row.messages);
    row.members[fresh.pivot] = 0;
    Settle(row);
  }
  Settle(fresh);
  row_of_[fresh.pivot] = static_cast<uint32_t>(rows_.size());
  rows_.push_back(std::move(fresh));
  return true;
}

std::vector<double> MessageDecoder::SumWeights() const {
  std::vector<double> weights(added_, 0);
  for (const Row& row : rows_) {
    if (row.alone) Subtract(-1, row.messages, weights);
  }
  return weights;
}

}  // namespace motley
