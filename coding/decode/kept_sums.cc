// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "coding/decode/c_shape.h"
#include "coding/decode/slice_sums.h"
#include "coding/decode/tiling.h"
#include "coding/kernels/combine.h"

namespace motley {
namespace {

constexpr size_t kMostSolved = 256;  // Solutions kept from step to step.

class KeptSums final : public SliceSums {
 public:
  explicit KeptSums(const SumsContext& context)
      : context_(context),
        most_kept_(size_t{context.form.workers} * context.layout.length),
        slices_(context.layout.count()) {
    if (context.form.tiling()) {
      tiling_.emplace(context.form);
    } else {
      blocks_ = BlocksOfC(context.form);
    }
    for (Slice& slice : slices_) slice.rows.resize(context.form.workers);
  }

  void Restart() override {
    for (Slice& slice : slices_) {
      for (AlignedVector& row : slice.rows) GiveBuffer(row);
      slice.finished = false;
    }
    if (solved_.size() > kMostSolved) solved_.clear();
    residual_ = 0;
    amplification_ = 0;
  }

  Added Add(const Arrival& arrival) override {
    const Sketch sketch = ParallelSketch(arrival.values, arrival.bounds.claim, context_.parallel);
    if (!arrival.bounds.Admit(sketch)) return {sketch};
    kept_floats_ += arrival.values.size();
    AlignedVector& place = slices_[arrival.slice].rows[arrival.row];
    place = std::exchange(arrival.values, context_.pool.TakeBuffer());
    return {sketch, false, Finish(arrival.slice, arrival.present)};
  }

  std::vector<Term> TermsOf(const std::vector<bool>& present) const override {
    return TermsOfVector(solved_.at(present).value().a, context_.form.parts);
  }

  std::span<const RowId> Alternatives(RowId) const override { return {}; }

  void WriteWeighted(size_t slice, std::span<const Complex> weights,
                     std::span<float> sum) override {
    std::vector<Complex> used;
    std::vector<const float*> rows;
    for (RowId row = 0; row < weights.size(); ++row) {
      if (weights[row] == Complex(0) || context_.form.rows[row].empty()) continue;
      MOTLEY_ASSERT(slices_[slice].rows[row].size() == sum.size());
      used.push_back(weights[row]);
      rows.push_back(slices_[slice].rows[row].data());
    }
    context_.parallel.For(sum.size(), kCombineGrain, [&](size_t begin, size_t end) {
      std::vector<const float*> terms;
      for (const float* row : rows) terms.push_back(row + begin);
      WeightedSum(context_.form.field, used, terms, sum.subspan(begin, end - begin));
    });
  }

  size_t floats_needed() const override { return 0; }
  size_t waiting_bytes() const override { return kept_floats_ * sizeof(float); }
  double residual() const override { return residual_; }
  double amplification() const override { return amplification_; }

 private:
  struct Slice {
    std::vector<AlignedVector> rows;  // Empty for rows that have not come.
    bool finished = false;
  };

  // Returns true if the slice decodes now and did not before.
  bool Finish(size_t slice, const std::vector<bool>& present) {
    if (slices_[slice].finished) return false;
    auto place = solved_.find(present);
    if (place == solved_.end()) place = solved_.emplace(present, SolveExactly(present)).first;
    if (!place->second) return false;
    const DecodingVector& solution = *place->second;
    residual_ = std::max(residual_, solution.residual);
    amplification_ = std::max(amplification_, solution.amplification);
    const size_t begin = context_.layout.begin(slice);
    WriteWeighted(slice, solution.a, context_.home.subspan(begin, context_.layout.size(slice)));
    slices_[slice].finished = true;
    return true;
  }

  std::optional<DecodingVector> SolveExactly(const std::vector<bool>& present) const {
    if (!tiling_) {
      if (!SomeBlockDecodes(blocks_, present)) return std::nullopt;
      auto solved = SolveClosed(context_.form, present, context_.limits);
      return solved.ok() ? std::optional(std::move(solved).value()) : std::nullopt;
    }
    std::vector<Tiling::Cost> costs(tiling_->supports(), Tiling::Cost::kImpossible);
    std::vector<RowId> first(tiling_->supports());
    for (RowId row = context_.form.workers; row-- > 0;) {
      if (!present[row] || context_.form.rows[row].empty()) continue;
      costs[tiling_->SupportOf(row)] = Tiling::Cost::kFree;
      first[tiling_->SupportOf(row)] = row;
    }
    const std::vector<uint32_t> cover = tiling_->Cover(costs);
    if (cover.empty()) return std::nullopt;
    DecodingVector solution;
    solution.a.assign(context_.form.workers, 0);
    for (const uint32_t support : cover) solution.a[first[support]] = 1;
    solution.amplification = 1;
    return solution;
  }

  void GiveBuffer(AlignedVector& values) {
    if (values.empty()) return;
    kept_floats_ -= values.size();
    context_.pool.GiveBuffer(std::exchange(values, {}), most_kept_ * sizeof(float));
  }

  SumsContext context_;
  size_t most_kept_;  // Floats.
  std::optional<Tiling> tiling_;
  std::vector<CBlock> blocks_;
  std::vector<Slice> slices_;
  size_t kept_floats_ = 0;
  // The solutions of all sets of rows so far, if any, shared by slices and steps.
  std::map<std::vector<bool>, std::optional<DecodingVector>> solved_;
  double residual_ = 0;
  double amplification_ = 0;
};

}  // namespace

std::unique_ptr<SliceSums> MakeKeptSums(const SumsContext& context) {
  return std::make_unique<KeptSums>(context);
}

}  // namespace motley
