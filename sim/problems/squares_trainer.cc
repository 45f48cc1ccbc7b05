// SPDX-License-Identifier: Apache-2.0
#include "sim/problems/squares_trainer.h"

#include <fmt/format.h>

#include <vector>

#include "base/random.h"

namespace motley {
namespace {

constexpr uint64_t kFirstParameters = 11;  // Its own stream of the simulation's draws.
constexpr size_t kTellEvery = 16;          // Samples between reports of progress.

// By sample: this worker may work on it.
using Account = std::vector<bool>;

template <typename Use>
void ForEachValue(const Dataset& data, size_t row, Use use) {
  if (!data.sparse) {
    for (uint32_t f = 0; f < data.features; ++f) use(f, data.dense[row * data.features + f]);
    return;
  }
  for (uint64_t e = data.row_begin[row]; e < data.row_begin[row + 1]; ++e) {
    use(data.column[e], data.value[e]);
  }
}

void AddSample(const Dataset& data, size_t row, const ForeignWork& work) {
  double gap = work.parameters[data.features] - static_cast<double>(data.label[row]);
  ForEachValue(data, row,
               [&](uint32_t f, float x) { gap += static_cast<double>(work.parameters[f]) * x; });
  const double scaled = work.coefficient * gap;
  ForEachValue(data, row,
               [&](uint32_t f, float x) { work.sum[f] += static_cast<float>(scaled * x); });
  work.sum[data.features] += static_cast<float>(scaled);
  *work.loss += work.coefficient * gap * gap / 2;
}

Status Accumulate(const Dataset& data, const Account& account, const ForeignWork& work) {
  for (size_t i = 0; i < work.samples.size(); ++i) {
    if (work.cancelled) return Status::Cancelled("asked to stop");
    const uint64_t sample = work.samples[i];
    if (!account.empty() && !account.at(sample)) {
      return Status::Internal(fmt::format("sample {} was never given to this worker", sample));
    }
    AddSample(work.batch != nullptr ? *work.batch : data, work.batch != nullptr ? i : sample, work);
    if (i % kTellEvery == 0) work.progress(i + 1);
  }
  return Status::Ok();
}

}  // namespace

std::shared_ptr<const ForeignTrainer> MakeSquaresTrainer(const Dataset& data, bool keeps_account) {
  auto account = std::make_shared<Account>();
  auto trainer = std::make_shared<ForeignTrainer>();
  trainer->parameter_count = data.features + 1;
  trainer->accumulate = [&data, account](const ForeignWork& work) {
    return Accumulate(data, *account, work);
  };
  trainer->initialize = [](uint64_t seed, std::span<float> parameters) {
    Random random(seed, Stream::kSimulation, kFirstParameters);
    for (float& value : parameters) value = static_cast<float>(0.1 * random.Normal());
    return Status::Ok();
  };
  if (!keeps_account) return trainer;
  account->resize(data.rows());
  trainer->hold = [account](PartitionId, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) account->at(i) = true;
    return Status::Ok();
  };
  return trainer;
}

}  // namespace motley
