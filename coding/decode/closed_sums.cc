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

constexpr size_t kMostSolved = 256;                                       // That outlast a step.
constexpr SliceBounds kAdmitted{std::numeric_limits<double>::max(), {}};  // Checked before.

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
        begun_(context.layout.count() * context.form.accumulators, false) {}

  void Restart() override {
    std::fill(rows_there_.begin(), rows_there_.end(), 0);
    std::fill(begun_.begin(), begun_.end(), false);
    if (solved_.size() > kMostSolved) solved_.clear();
    residual_ = 0;
    amplification_ = 0;
  }

  // Slices of one task are checked whole before they are added; longer ones block by block, so that
  // memory is read once.
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

  std::span<const RowId> Twins(RowId) const override { return {}; }

  size_t floats_needed() const override {
    return accumulator_floats() + (packed() ? context_.layout.length / 2 : 0);
  }
  size_t waiting_bytes() const override { return 0; }
  double residual() const override { return residual_; }
  double amplification() const override { return amplification_; }

 private:
  // A part of the sum: what it is made of, and which floats of it the slice gives.
  struct Part {
    std::vector<Complex> weights;  // Of the accumulators, then of the answer unless it is 0.
    std::vector<uint32_t> used;    // Accumulators.
    FloatRange range;
  };

  // Room for the pointers of one task.
  struct Room {
    std::vector<float*> sums;
    std::vector<const float*> terms;  // Of one part after the other.
    std::vector<SummedPart> parts;
  };

  // What the slice decodes to once it is there, or null.
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

  // The first one at home, unless parts of the sum are there. In the pool, slice by slice, the
  // accumulators of a slice beside one another.
  float* Accumulator(uint32_t r, size_t slice) const {
    const size_t begin = context_.layout.begin(slice);
    if (r < at_home()) return context_.home.data() + begin;
    const size_t base = begin * (context_.form.accumulators - at_home());
    return context_.pool.data() + base + (r - at_home()) * context_.layout.size(slice);
  }

  size_t Place(size_t slice, uint32_t r) const { return slice * context_.form.accumulators + r; }

  uint32_t at_home() const { return context_.form.parts == 1 ? 1 : 0; }

  // What the noise floor needs to know of the answers, behind the accumulators.
  float* Energy(size_t slice) const {
    return context_.pool.data() + accumulator_floats() + context_.layout.begin(slice) / 2;
  }

  bool packed() const { return context_.form.field == Field::kComplexPacked; }

  size_t accumulator_floats() const {
    return (context_.form.accumulators - at_home()) * context_.layout.length;
  }

  // What an answer is added to, by AddTask, or written to where it is the first in all of them (and
  // in the energy).
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

  // Parts of the sum, by AddTask: what was there and the answer that is not added to it any more.
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

  // Checks what an answer has from `begin` of the slice on and adds it to the sums that were
  // chosen, or writes the parts.
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

  // The first accumulator, at whose place the sum is written, is the first term if it is one.
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
  std::vector<bool> begun_;         // Per slice and accumulator: something is in there.
  // What each set of rows that came up decodes to; slices and steps share them.
  std::map<std::vector<bool>, Result<DecodingVector>> solved_;
  double residual_ = 0;
  double amplification_ = 0;
  // Chosen for the slice at hand: accumulators and their weights, or, closing, parts.
  bool closing_ = false;
  bool overwrites_ = false;  // Nothing that counts is lost should the answer be refused late.
  std::vector<Complex> weights_;
  std::vector<uint32_t> used_;
  std::vector<Part> parts_;
  double noise_ = 0;
  Room room_;  // Of a slice of one task.
};

}  // namespace

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context) {
  return std::make_unique<ClosedSums>(context);
}

}  // namespace motley
