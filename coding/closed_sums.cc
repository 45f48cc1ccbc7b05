// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "coding/c_shape.h"
#include "coding/combine.h"
#include "coding/decoder_checks.h"
#include "coding/noise_floor.h"
#include "coding/slice_sums.h"

namespace motley {
namespace {

// Fewest rows with partitions whose answers can be enough.
size_t FewestRows(const CodeForm& form, CShape shape) {
  if (shape != CShape::kClasses) {
    size_t rows = 0;
    for (const auto& row : form.rows) rows += !row.empty();
    return rows - std::min<size_t>(rows, form.stragglers);
  }
  size_t fewest = form.workers;
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    const auto begin = form.c.begin() + size_t{r} * form.workers;
    fewest = std::min<size_t>(fewest,
                              form.workers - std::count(begin, begin + form.workers, Complex(0)));
  }
  return fewest;
}

class ClosedSums final : public SliceSums {
 public:
  explicit ClosedSums(const SumsContext& context)
      : context_(context),
        shape_(ShapeOfC(context.form)),
        fewest_rows_(FewestRows(context.form, shape_)),
        rows_there_(context.layout.count(), 0),
        solution_(context.layout.count(), nullptr) {}

  void Add(RowId row, size_t slice, std::vector<float>& values) override {
    const bool first = rows_there_[slice]++ == 0;
    const CodeForm& form = context_.form;
    std::vector<Complex> weights;
    std::vector<uint32_t> used;
    for (uint32_t r = 0; r < form.accumulators; ++r) {
      if (form.C(r, row) == Complex(0)) continue;
      weights.push_back(form.C(r, row));
      used.push_back(r);
    }
    context_.parallel.For(values.size(), kCombineGrain, [&](size_t begin, size_t end) {
      if (first) Clear(slice, begin, end);
      std::vector<float*> sums;
      for (uint32_t r : used) sums.push_back(Accumulator(r, slice) + begin);
      const std::span<const float> part = std::span(values).subspan(begin, end - begin);
      AddWeightedToEach(form.field, weights, part, sums);
      if (packed()) AddPairEnergy(part, {Energy(slice) + begin / 2, part.size() / 2});
    });
  }

  bool Finished(size_t slice, const std::vector<bool>& present) override {
    if (rows_there_[slice] < fewest_rows_) return false;
    auto place = solved_.find(present);
    if (place == solved_.end()) {
      place = solved_.emplace(present, SolveClosed(context_.form, present, context_.limits)).first;
    }
    if (!place->second.ok()) return false;
    solution_[slice] = &*place->second;
    return true;
  }

  std::span<const RowId> Twins(RowId) const override { return {}; }

  Status WriteSum(size_t slice, std::span<float> sum) override {
    const DecodingVector& solution = *solution_[slice];
    residual_ = std::max(residual_, solution.residual);
    amplification_ = std::max(amplification_, solution.amplification);
    const double noise = RoundingOfPairs(solution.amplification, rows_there_[slice]);
    std::vector<Complex> weights;
    std::vector<uint32_t> used;
    for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
      if (solution.x[r] == Complex(0)) continue;
      weights.push_back(solution.x[r]);
      used.push_back(r);
    }
    context_.parallel.For(sum.size(), kCombineGrain, [&](size_t begin, size_t end) {
      std::vector<const float*> terms;
      for (uint32_t r : used) terms.push_back(Accumulator(r, slice) + begin);
      const std::span<float> part = sum.subspan(begin, end - begin);
      WeightedSum(context_.form.field, weights, terms, part);
      if (packed()) ZeroBelow(noise, {Energy(slice) + begin / 2, part.size() / 2}, part);
    });
    return Status::Ok();
  }

  std::vector<RowId> RowsToReplace(const std::vector<bool>& present) const override {
    const std::vector<RowId> missing = MissingRows(context_.form, present);
    if (shape_ == CShape::kClasses) return CheapestClass(missing);
    // s of the missing rows are not needed, unless the norm guard says otherwise.
    const size_t spare = std::min<size_t>(context_.form.stragglers, missing.size());
    size_t count = missing.size() - spare;
    std::vector<bool> then = present;
    for (size_t i = 0; i < count; ++i) then[missing[i]] = true;
    while (count < missing.size() && !SolveClosed(context_.form, then, context_.limits).ok()) {
      then[missing[count++]] = true;
    }
    return {missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  size_t floats_needed() const override {
    const size_t energy = packed() ? context_.layout.length / 2 : 0;
    return size_t{context_.form.accumulators} * context_.layout.length + energy;
  }
  size_t waiting_bytes() const override { return 0; }
  double residual() const override { return residual_; }
  double amplification() const override { return amplification_; }

 private:
  // Slice by slice, the accumulators of a slice beside one another.
  float* Accumulator(uint32_t r, size_t slice) const {
    const size_t base = context_.layout.begin(slice) * context_.form.accumulators;
    return context_.pool.data() + base + r * context_.layout.size(slice);
  }

  // What the noise floor needs to know of the answers, behind the accumulators.
  float* Energy(size_t slice) const {
    const size_t behind = context_.layout.length * context_.form.accumulators;
    return context_.pool.data() + behind + context_.layout.begin(slice) / 2;
  }

  bool packed() const { return context_.form.field == Field::kComplexPacked; }

  void Clear(size_t slice, size_t begin, size_t end) const {
    if (packed()) std::fill(Energy(slice) + begin / 2, Energy(slice) + end / 2, 0.0F);
    for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
      std::fill(Accumulator(r, slice) + begin, Accumulator(r, slice) + end, 0.0F);
    }
  }

  std::vector<RowId> CheapestClass(const std::vector<RowId>& missing) const {
    std::vector<std::vector<RowId>> of_class(context_.form.accumulators);
    for (RowId row : missing) {
      for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
        if (context_.form.C(r, row) != Complex(0)) of_class[r].push_back(row);
      }
    }
    return *std::min_element(of_class.begin(), of_class.end(), [](const auto& a, const auto& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
  }

  SumsContext context_;
  CShape shape_;
  size_t fewest_rows_;
  std::vector<size_t> rows_there_;  // Per slice.
  // What each set of rows that came up decodes to; slices share them.
  std::map<std::vector<bool>, Result<DecodingVector>> solved_;
  std::vector<const DecodingVector*> solution_;  // Per slice, into solved_.
  double residual_ = 0;
  double amplification_ = 0;
};

}  // namespace

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context) {
  return std::make_unique<ClosedSums>(context);
}

}  // namespace motley
