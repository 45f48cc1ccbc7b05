// SPDX-License-Identifier: Apache-2.0
#include "tests/scheduler/tiny_decoder.h"

#include <cmath>
#include <limits>

#include "coding/decode/part_sums.h"
#include "coding/kernels/combine.h"

namespace motley {
namespace {

constexpr size_t kLength = 4;
constexpr double kNoLimit = std::numeric_limits<double>::max();

// Each partition has its own gradient.
std::vector<float> Gradient(PartitionId partition) {
  const float x = static_cast<float>(partition + 1);
  return {x, 1 / x, std::sqrt(x), 3 - x};
}

}  // namespace

void TinyDecoder::Open(std::shared_ptr<const CodeForm> code) {
  code_ = std::move(code);
  if (Keeping()) return;
  if (decoder_ == nullptr) {
    decoder_ = std::make_unique<StreamDecoder>(*code_, kLength, kLength, *parallel_, limits_);
  } else {
    decoder_->Reset(*code_);
  }
  decoded_ = code_;  // The previous form must outlive the reset.
}

bool TinyDecoder::Answer(RowId row) {
  if (Keeping()) return false;
  AlignedVector sum(decoder_->answer_length(), 0);
  const std::vector<CodeEntry>& entries = code_->rows[row];
  std::vector<Complex> weights(code_->parts);
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::vector<float> gradient = Gradient(entries[i].partition);
    for (uint32_t part = 0; part < code_->parts; ++part) weights[part] = code_->B(row, i, part);
    if (code_->parts > 1) {
      AddParts(code_->field, weights, gradient, sum, *parallel_);
    } else {
      reference::AddWeighted(code_->field, weights[0], gradient, sum);
    }
  }
  const auto outcome = decoder_->AddSlice(row, 0, sum, kNoLimit);
  return outcome.ok() && *outcome == StreamDecoder::Outcome::kAdded;
}

double TinyDecoder::Error() {
  std::vector<float> sum(kLength, 0);
  if (!decoder_->Finish(sum).ok()) return std::numeric_limits<double>::infinity();
  double truth[kLength] = {};
  for (PartitionId p = 0; p < code_->partitions; ++p) {
    const std::vector<float> gradient = Gradient(p);
    for (size_t i = 0; i < kLength; ++i) truth[i] += gradient[i];
  }
  double off = 0, length = 0;
  for (size_t i = 0; i < kLength; ++i) {
    off += (sum[i] - truth[i]) * (sum[i] - truth[i]);
    length += truth[i] * truth[i];
  }
  return std::sqrt(off / length);
}

}  // namespace motley
