// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "coding/c_shape.h"
#include "coding/checked_add.h"
#include "coding/combine.h"
#include "coding/decoder_checks.h"
#include "coding/noise_floor.h"
#include "coding/part_sums.h"
#include "coding/slice_sums.h"

namespace motley {
namespace {

constexpr size_t kMostSolved = 256;  // That outlast a step.

// Fewest rows with partitions whose answers can be enough.
size_t FewestRows(const CodeForm& form, const std::vector<CBlock>& blocks) {
  size_t fewest = form.workers;
  for (const CBlock& block : blocks) {
    fewest = std::min(fewest, block.rows.size() - std::min(block.rows.size(), block.bears));
  }
  return fewest;
}

class ClosedSums final : public SliceSums {
 public:
  explicit ClosedSums(const SumsContext& context)
      : context_(context),
        blocks_(BlocksOfC(context.form)),
        fewest_rows_(FewestRows(context.form, blocks_)),
        rows_there_(context.layout.count(), 0),
        solution_(context.layout.count(), nullptr) {}

  void Restart() override {
    std::fill(rows_there_.begin(), rows_there_.end(), 0);
    if (solved_.size() > kMostSolved) solved_.clear();
    residual_ = 0;
    amplification_ = 0;
  }

  // Slices of one task are checked whole before they are added; longer ones block by block, so that
  // memory is read once.
  Added Add(RowId row, size_t slice, AlignedVector& values, const SliceBounds& bounds) override {
    const std::span<const float> all = values;
    const bool one_task = all.size() <= kCombineGrain;
    Sketch sketch;
    if (one_task) {
      sketch = SketchFor(bounds.claim, all);
      if (!bounds.Admit(sketch)) return {sketch};
    }
    const bool first = rows_there_[slice] == 0;
    ChooseTerms([&](uint32_t r) { return context_.form.C(r, row); });
    if (first) ClearUnused(slice);
    if (one_task) {
      AddPart(slice, 0, all, {bounds.squares, {}}, pointers_);
    } else {
      sketch = AddInParallel(slice, all, bounds);
      // What a first row left behind is overwritten by the next one.
      if (!bounds.Admit(sketch)) return {sketch, !first};
    }
    ++rows_there_[slice];
    return {sketch};
  }

  bool Finished(size_t slice, const std::vector<bool>& present) override {
    if (rows_there_[slice] < fewest_rows_ || !SomeBlockDecodes(blocks_, present)) return false;
    auto place = solved_.find(present);
    if (place == solved_.end()) {
      place = solved_.emplace(present, SolveClosed(context_.form, present, context_.limits)).first;
    }
    if (!place->second.ok()) return false;
    solution_[slice] = &*place->second;
    return true;
  }

  std::span<const RowId> Twins(RowId) const override { return {}; }

  void WriteSum(size_t slice, std::span<float> sum) override {
    const DecodingVector& solution = *solution_[slice];
    residual_ = std::max(residual_, solution.residual);
    amplification_ = std::max(amplification_, solution.amplification);
    // `sum` may be the home of the first accumulator, which is the first term if it is one.
    const double noise = RoundingOfPairs(solution.amplification, rows_there_[slice]);
    const uint32_t accumulators = context_.form.accumulators;
    const size_t begin = context_.layout.begin(slice);
    const size_t size = context_.layout.size(slice);
    parts_.resize(context_.form.parts);
    for (uint32_t part = 0; part < context_.form.parts; ++part) {
      const Complex* x = solution.x.data() + size_t{part} * accumulators;
      ChooseTerms([x](uint32_t r) { return x[r]; });
      parts_[part].weights = weights_;
      parts_[part].used = used_;
      parts_[part].range = InPart(begin, begin + size, context_.layout.length, part, sum.size());
    }
    if (size <= kCombineGrain) return WriteTask(slice, noise, 0, size, sum, terms_);
    context_.parallel.For(size, kCombineGrain, [&](size_t first, size_t last) {
      std::vector<const float*> terms;
      WriteTask(slice, noise, first, last, sum, terms);
    });
  }

  std::vector<RowId> RowsToReplace(const std::vector<bool>& present) const override {
    const std::vector<RowId> missing = MissingRows(context_.form, present);
    std::vector<RowId> rows = CheapestBlock(present);
    std::vector<bool> then = present;
    for (RowId row : rows) then[row] = true;
    // That will do, unless the norm guard says otherwise.
    for (RowId row : missing) {
      if (then[row]) continue;
      if (SolveClosed(context_.form, then, context_.limits).ok()) break;
      then[row] = true;
      rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  size_t floats_needed() const override {
    return accumulator_floats() + (packed() ? context_.layout.length / 2 : 0);
  }
  size_t waiting_bytes() const override { return 0; }
  double residual() const override { return residual_; }
  double amplification() const override { return amplification_; }

 private:
  // The first one at home if it has one. In the pool, slice by slice, the accumulators of a slice
  // beside one another.
  float* Accumulator(uint32_t r, size_t slice) const {
    const size_t begin = context_.layout.begin(slice);
    const uint32_t at_home = context_.home.empty() ? 0 : 1;
    if (r < at_home) return context_.home.data() + begin;
    const size_t base = begin * (context_.form.accumulators - at_home);
    return context_.pool.data() + base + (r - at_home) * context_.layout.size(slice);
  }

  // What the noise floor needs to know of the answers, behind the accumulators.
  float* Energy(size_t slice) const {
    return context_.pool.data() + accumulator_floats() + context_.layout.begin(slice) / 2;
  }

  bool packed() const { return context_.form.field == Field::kComplexPacked; }

  size_t accumulator_floats() const {
    const size_t in_pool = context_.form.accumulators - (context_.home.empty() ? 0 : 1);
    return in_pool * context_.layout.length;
  }

  // The accumulators whose weight is not zero, for the calls that follow.
  template <typename WeightOf>
  void ChooseTerms(WeightOf weight_of) {
    weights_.clear();
    used_.clear();
    for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
      const Complex weight = weight_of(r);
      if (weight == Complex(0)) continue;
      weights_.push_back(weight);
      used_.push_back(r);
    }
  }

  // A first row overwrites the accumulators that it is added to; the others start at zero.
  void ClearUnused(size_t slice) const {
    for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
      if (std::find(used_.begin(), used_.end(), r) != used_.end()) continue;
      std::fill_n(Accumulator(r, slice), context_.layout.size(slice), 0.0F);
    }
  }

  // Floats of an answer from `begin` of the slice on; `sums` is room.
  Sketch AddPart(size_t slice, size_t begin, std::span<const float> part, const SliceBounds& bounds,
                 std::vector<float*>& sums) const {
    sums.clear();
    for (uint32_t r : used_) sums.push_back(Accumulator(r, slice) + begin);
    const CheckedSums into{.field = context_.form.field,
                           .weights = weights_,
                           .sums = sums,
                           .energy = packed() ? Energy(slice) + begin / 2 : nullptr,
                           .overwrite = rows_there_[slice] == 0};
    return AddCheckedPart(into, part, bounds, begin);
  }

  Sketch AddInParallel(size_t slice, std::span<const float> all, const SliceBounds& bounds) const {
    std::vector<Sketch> parts((all.size() + kCombineGrain - 1) / kCombineGrain);
    context_.parallel.For(all.size(), kCombineGrain, [&](size_t begin, size_t end) {
      std::vector<float*> sums;
      parts[begin / kCombineGrain] =
          AddPart(slice, begin, all.subspan(begin, end - begin), bounds, sums);
    });
    return SumOf(parts);
  }

  // Floats [first, last) of the slice, of each part while its sums are in a cache. `terms` is room.
  void WriteTask(size_t slice, double noise, size_t first, size_t last, std::span<float> sum,
                 std::vector<const float*>& terms) const {
    for (const Part& part : parts_) {
      const size_t end = std::min(last, part.range.size);
      if (end <= first) continue;
      terms.clear();
      for (uint32_t r : part.used) terms.push_back(Accumulator(r, slice) + first);
      const std::span<float> to = sum.subspan(part.range.begin + first, end - first);
      WeightedSum(context_.form.field, part.weights, terms, to);
      if (packed()) ZeroBelow(noise, {Energy(slice) + first / 2, to.size() / 2}, to);
    }
  }

  // What the block that lacks least lacks.
  std::vector<RowId> CheapestBlock(const std::vector<bool>& present) const {
    std::vector<std::vector<RowId>> lacking;
    for (const CBlock& block : blocks_) {
      std::vector<RowId>& rows = lacking.emplace_back();
      for (RowId row : block.rows) {
        if (!present[row]) rows.push_back(row);
      }
      rows.resize(rows.size() - std::min(rows.size(), block.bears));
    }
    return *std::min_element(lacking.begin(), lacking.end(), [](const auto& a, const auto& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
  }

  SumsContext context_;
  std::vector<CBlock> blocks_;
  size_t fewest_rows_;
  std::vector<size_t> rows_there_;  // Per slice.
  // What each set of rows that came up decodes to; slices and steps share them.
  std::map<std::vector<bool>, Result<DecodingVector>> solved_;
  std::vector<const DecodingVector*> solution_;  // Per slice, into solved_.
  double residual_ = 0;
  double amplification_ = 0;
  // Where a part of the sum goes, and what of the slice's sums it is.
  struct Part {
    std::vector<Complex> weights;
    std::vector<uint32_t> used;  // Accumulators.
    FloatRange range;
  };
  std::vector<Part> parts_;  // Of the slice at hand.
  // Chosen for the call at hand.
  std::vector<Complex> weights_;
  std::vector<uint32_t> used_;  // Accumulators.
  // Room for those of a single task.
  std::vector<float*> pointers_;
  std::vector<const float*> terms_;
};

}  // namespace

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context) {
  return std::make_unique<ClosedSums>(context);
}

}  // namespace motley
