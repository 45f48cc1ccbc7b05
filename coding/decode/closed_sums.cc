// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>

#include "coding/decode/c_shape.h"
#include "coding/decode/decoder_checks.h"
#include "coding/decode/noise_floor.h"
#include "coding/decode/part_sums.h"
#include "coding/decode/slice_sums.h"
#include "coding/kernels/checked_add.h"
#include "coding/kernels/checked_sum.h"

namespace motley {
namespace {

constexpr size_t kMostSolved = 256;  // Solutions kept from step to step.
// For values that were checked before.
constexpr SliceBounds kAdmitted{std::numeric_limits<double>::max(), {}};

// The fewest rows that can be enough, empty rows not counted.
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
        begun_(context.layout.count() * context.form.accumulators, false) {}

  void Restart() override {
    std::fill(rows_there_.begin(), rows_there_.end(), 0);
    std::fill(begun_.begin(), begun_.end(), false);
    if (solved_.size() > kMostSolved) solved_.clear();
    residual_ = 0;
    amplification_ = 0;
  }

  // Slices of one task are checked whole before they are added. Longer ones are checked block by
  // block, so that memory is read once.
  Added Add(const Arrival& arrival) override {
    const SliceBounds& bounds = arrival.bounds;
    const std::span<const float> all = arrival.values;
    const bool one_task = all.size() <= kCombineGrain;
    Sketch sketch;
    if (one_task) {
      sketch = SketchFor(bounds.claim, all);
      if (!bounds.Admit(sketch)) return {sketch};
    }
    const DecodingVector* const solution = SolutionWith(arrival);
    solution == nullptr ? ChooseSums(arrival) : ChooseParts(arrival, *solution);
    if (one_task) {
      AddTask(arrival.slice, 0, all, kAdmitted, room_);
    } else {
      sketch = AddInParallel(arrival.slice, all, bounds);
      if (!bounds.Admit(sketch)) return {sketch, !overwrites_};
    }
    ++rows_there_[arrival.slice];
    if (solution == nullptr) {
      for (uint32_t r : used_) begun_[Place(arrival.slice, r)] = true;
      return {sketch};
    }
    residual_ = std::max(residual_, solution->residual);
    amplification_ = std::max(amplification_, solution->amplification);
    return {sketch, false, true};
  }

  std::vector<Term> TermsOf(const std::vector<bool>& present) const override {
    const auto& solved = solved_.at(present);
    MOTLEY_ASSERT(solved.ok());
    return TermsOfVector(solved->a, context_.form.parts);
  }

  std::span<const RowId> Alternatives(RowId) const override { return {}; }

  size_t floats_needed() const override {
    return accumulator_floats() + (packed() ? context_.layout.length / 2 : 0);
  }
  size_t waiting_bytes() const override { return 0; }
  double residual() const override { return residual_; }
  double amplification() const override { return amplification_; }

 private:
  // A part of the sum: its terms, and its range of floats in this slice.
  struct Part {
    std::vector<Complex> weights;  // For the accumulators, then for the answer unless it is 0.
    std::vector<uint32_t> used;    // Accumulators.
    FloatRange range;
  };

  // Arrays of pointers for one task, to be reused.
  struct Room {
    std::vector<float*> sums;
    std::vector<const float*> terms;  // One part after the other.
    std::vector<SummedPart> parts;
  };

  // The solution of the slice once the arrival counts, or null.
  const DecodingVector* SolutionWith(const Arrival& arrival) {
    if (rows_there_[arrival.slice] + 1 < fewest_rows_) return nullptr;
    if (!SomeBlockDecodes(blocks_, arrival.present)) return nullptr;
    auto place = solved_.find(arrival.present);
    if (place == solved_.end()) {
      auto solved = SolveClosed(context_.form, arrival.present, context_.limits);
      place = solved_.emplace(arrival.present, std::move(solved)).first;
    }
    return place->second.ok() ? &*place->second : nullptr;
  }

  // The first accumulator is at home, unless the sum has parts. The others are in the pool, slice
  // by slice, with all accumulators of a slice side by side.
  float* Accumulator(uint32_t r, size_t slice) const {
    const size_t begin = context_.layout.begin(slice);
    if (r < at_home()) return context_.home.data() + begin;
    const size_t base = begin * (context_.form.accumulators - at_home());
    return context_.pool.data() + base + (r - at_home()) * context_.layout.size(slice);
  }

  size_t Place(size_t slice, uint32_t r) const { return slice * context_.form.accumulators + r; }

  uint32_t at_home() const { return context_.form.parts == 1 ? 1 : 0; }

  // The energy of the answers for the noise floor; it follows the accumulators.
  float* Energy(size_t slice) const {
    return context_.pool.data() + accumulator_floats() + context_.layout.begin(slice) / 2;
  }

  bool packed() const { return context_.form.field == Field::kComplexPacked; }

  size_t accumulator_floats() const {
    return (context_.form.accumulators - at_home()) * context_.layout.length;
  }

  // Chooses the sums to which AddTask adds an answer. It overwrites them instead if the answer is
  // the first in all of them (and in the energy).
  void ChooseSums(const Arrival& arrival) {
    closing_ = false;
    weights_.clear();
    used_.clear();
    overwrites_ = !packed() || rows_there_[arrival.slice] == 0;
    for (uint32_t r = 0; r < context_.form.accumulators; ++r) {
      const Complex weight = context_.form.C(r, arrival.row);
      if (weight == Complex(0)) continue;
      weights_.push_back(weight);
      used_.push_back(r);
      overwrites_ &= !begun_[Place(arrival.slice, r)];
    }
    for (uint32_t r : used_) {
      if (overwrites_ || begun_[Place(arrival.slice, r)]) continue;
      std::fill_n(Accumulator(r, arrival.slice), arrival.values.size(), 0.0F);
    }
  }

  // Chooses the parts that AddTask writes from the sums so far and the last answer.
  void ChooseParts(const Arrival& arrival, const DecodingVector& solution) {
    closing_ = true;
    overwrites_ = at_home() == 0 || !begun_[Place(arrival.slice, 0)];
    if (packed()) {
      noise_ = RoundingOfPairs(solution.amplification, rows_there_[arrival.slice] + 1,
                               LargestNorm(solution.a, context_.form.parts));
    }
    const uint32_t accumulators = context_.form.accumulators;
    const size_t begin = context_.layout.begin(arrival.slice);
    parts_.resize(context_.form.parts);
    for (uint32_t u = 0; u < parts_.size(); ++u) {
      Part& part = parts_[u];
      part.weights.clear();
      part.used.clear();
      part.range = InPart(begin, begin + arrival.values.size(), context_.layout.length, u,
                          context_.home.size());
      for (uint32_t r = 0; r < accumulators; ++r) {
        const Complex weight = solution.x[size_t{u} * accumulators + r];
        if (weight == Complex(0) || !begun_[Place(arrival.slice, r)]) continue;
        part.weights.push_back(weight);
        part.used.push_back(r);
      }
      const Complex own = solution.a[size_t{arrival.row} * parts_.size() + u];
      if (own != Complex(0)) part.weights.push_back(own);
    }
  }

  // Checks the part of an answer from `begin` of the slice on. Then adds it to the chosen sums, or
  // writes the chosen parts.
  Sketch AddTask(size_t slice, size_t begin, std::span<const float> values,
                 const SliceBounds& bounds, Room& room) const {
    const Field field = context_.form.field;
    float* const energy = packed() ? Energy(slice) + begin / 2 : nullptr;
    if (closing_) {
      FindTerms(slice, begin, values, room);
      const float* const before = rows_there_[slice] == 0 ? nullptr : energy;
      return SumCheckedPart({field, room.parts, noise_, before}, values, bounds, begin);
    }
    room.sums.clear();
    for (uint32_t r : used_) room.sums.push_back(Accumulator(r, slice) + begin);
    return AddCheckedPart({field, weights_, room.sums, energy, overwrites_}, values, bounds, begin);
  }

  Sketch AddInParallel(size_t slice, std::span<const float> all, const SliceBounds& bounds) const {
    std::vector<Sketch> tasks((all.size() + kCombineGrain - 1) / kCombineGrain);
    context_.parallel.For(all.size(), kCombineGrain, [&](size_t begin, size_t end) {
      Room room;
      tasks[begin / kCombineGrain] =
          AddTask(slice, begin, all.subspan(begin, end - begin), bounds, room);
    });
    return SumOf(tasks);
  }

  // The sum is written in place of the first accumulator, so that is the first term if used.
  void FindTerms(size_t slice, size_t begin, std::span<const float> values, Room& room) const {
    room.terms.clear();
    for (const Part& part : parts_) {
      for (uint32_t r : part.used) room.terms.push_back(Accumulator(r, slice) + begin);
      if (part.weights.size() > part.used.size()) room.terms.push_back(values.data());
    }
    room.parts.clear();
    std::span<const float* const> terms(room.terms);
    for (const Part& part : parts_) {
      const size_t end = std::clamp(part.range.size, begin, begin + values.size());
      room.parts.push_back(
          {part.weights, terms.first(part.weights.size()),
           context_.home.subspan(part.range.begin + (end > begin ? begin : 0), end - begin)});
      terms = terms.subspan(part.weights.size());
    }
  }

  SumsContext context_;
  std::vector<CBlock> blocks_;
  size_t fewest_rows_;
  std::vector<size_t> rows_there_;  // Per slice.
  std::vector<bool> begun_;         // Per slice and accumulator: it holds something.
  // The solutions of all sets of rows so far, shared by slices and steps.
  std::map<std::vector<bool>, Result<DecodingVector>> solved_;
  double residual_ = 0;
  double amplification_ = 0;
  // Chosen for the current slice: accumulators and their weights, or parts if closing_.
  bool closing_ = false;
  bool overwrites_ = false;  // A late refusal of the answer then loses nothing.
  std::vector<Complex> weights_;
  std::vector<uint32_t> used_;
  std::vector<Part> parts_;
  double noise_ = 0;
  Room room_;  // For slices of one task.
};

}  // namespace

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context) {
  return std::make_unique<ClosedSums>(context);
}

}  // namespace motley
