// SPDX-License-Identifier: Apache-2.0
#include "tests/scheduler/tiny_decoder.h"

#include <cmath>
#include <limits>

#include "base/assert.h"
#include "coding/combine.h"

namespace motley {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();

// A gradient of its own for every partition.
std::vector<float> Gradient(PartitionId partition) {
  const float x = static_cast<float>(partition + 1);
  return {x, 1 / x};
}

}  // namespace

void TinyDecoder::Open(std::shared_ptr<const CodeForm> code) {
  const std::shared_ptr<const CodeForm> old = std::move(code_);  // Outlives the reset.
  code_ = std::move(code);
  if (decoder_ == nullptr) {
    decoder_ = std::make_unique<StreamDecoder>(*code_, 2, 2, *parallel_, limits_);
  } else {
    decoder_->Reset(*code_);
  }
}

bool TinyDecoder::Answer(RowId row) {
  std::vector<float> sum(2, 0);
  MOTLEY_ASSERT(code_->parts == 1);
  for (const CodeEntry& entry : code_->rows[row]) {
    reference::AddWeighted(code_->field, entry.coefficient, Gradient(entry.partition), sum);
  }
  const auto outcome = decoder_->AddSlice(row, 0, sum, kNoLimit);
  return outcome.ok() && *outcome == StreamDecoder::Outcome::kAdded;
}

double TinyDecoder::Error() {
  std::vector<float> sum(2, 0);
  if (!decoder_->Finish(sum).ok()) return std::numeric_limits<double>::infinity();
  double truth[2] = {0, 0};
  for (PartitionId p = 0; p < code_->partitions; ++p) {
    const std::vector<float> gradient = Gradient(p);
    for (int i = 0; i < 2; ++i) truth[i] += gradient[i];
  }
  const double off = std::hypot(sum[0] - truth[0], sum[1] - truth[1]);
  return off / std::hypot(truth[0], truth[1]);
}

}  // namespace motley
