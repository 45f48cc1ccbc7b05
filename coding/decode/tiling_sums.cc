// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "coding/decode/slice_sums.h"
#include "coding/decode/tiling.h"
#include "coding/kernels/checked_add.h"
#include "coding/kernels/combine.h"

namespace motley {
namespace {

class TilingSums final : public SliceSums {
 public:
  explicit TilingSums(const SumsContext& context)
      : context_(context),
        tiling_(context.form),
        most_waiting_(std::max((size_t{context.form.stragglers} + 1) * context.layout.length,
                               context.limits.waiting_bytes / sizeof(float))),
        slices_(context.layout.count()) {}

  void Restart() override {
    for (Slice& slice : slices_) {
      GiveWaiting(slice);
      slice = Slice();
    }
  }

  // A disjoint support is summed when its turn comes, or at once if there is no room to wait.
  // Overlapping supports all wait for a cover.
  Added Add(const Arrival& arrival) override {
    const auto& [row, slice, values, bounds, present] = arrival;
    Slice& state = slices_[slice];
    const uint32_t support = tiling_.SupportOf(row);
    const bool room = waiting_floats_ + values.size() <= most_waiting_;
    if (!tiling_.disjoint() || (support != state.next && room)) {
      const Sketch sketch = ParallelSketch(values, bounds.claim, context_.parallel);
      if (!bounds.Admit(sketch)) return {sketch};
      waiting_floats_ += values.size();
      state.waiting.emplace(support, std::move(values));
      values = context_.pool.TakeBuffer();
      return {sketch, false, Covered(slice)};
    }
    Added added = AddNow(slice, values, bounds);
    if (!bounds.Admit(added.sketch)) return added;
    state.early.insert(support);
    AddReady(slice);
    added.finished = state.next == tiling_.supports();
    return added;
  }

  std::vector<Term> TermsOf(const std::vector<bool>& present) const override {
    std::vector<Tiling::Cost> costs(tiling_.supports(), Tiling::Cost::kImpossible);
    std::vector<RowId> rows(tiling_.supports());
    for (uint32_t support = 0; support < costs.size(); ++support) {
      for (const RowId row : tiling_.RowsOf(support)) {
        if (!present[row]) continue;
        costs[support] = Tiling::Cost::kFree;
        rows[support] = row;
      }
    }
    std::vector<Term> terms;
    for (const uint32_t support : tiling_.Cover(costs)) terms.push_back({rows[support], 1});
    return terms;
  }

  std::span<const RowId> Alternatives(RowId row) const override {
    return tiling_.RowsOf(tiling_.SupportOf(row));
  }

  size_t floats_needed() const override { return 0; }
  size_t waiting_bytes() const override { return waiting_floats_ * sizeof(float); }
  double residual() const override { return 0; }
  double amplification() const override { return 1; }

 private:
  struct Slice {
    uint32_t next = 0;         // The support whose turn it is.
    bool begun = false;        // The sum holds something.
    std::set<uint32_t> early;  // Supports after `next` that are already in the sum.
    std::map<uint32_t, AlignedVector> waiting;
  };

  // True if overlapping supports cover everything now; the cover is then summed.
  bool Covered(size_t slice) {
    if (tiling_.disjoint()) return false;  // One of them still waits for its turn.
    Slice& state = slices_[slice];
    std::vector<Tiling::Cost> costs(tiling_.supports(), Tiling::Cost::kImpossible);
    for (const auto& [support, values] : state.waiting) costs[support] = Tiling::Cost::kFree;
    const std::vector<uint32_t> cover = tiling_.Cover(costs);
    for (uint32_t support : cover) AddToSum(slice, state.waiting.at(support));
    if (cover.empty()) return false;
    GiveWaiting(state);
    return true;
  }

  // Adds the waiting supports whose turn has come.
  void AddReady(size_t slice) {
    Slice& state = slices_[slice];
    while (true) {
      const auto ready = state.waiting.find(state.next);
      if (ready != state.waiting.end()) {
        AddToSum(slice, ready->second);
        GiveBuffer(ready->second);
        state.waiting.erase(ready);
      } else if (state.early.erase(state.next) == 0) {
        return;
      }
      ++state.next;
    }
  }

  void GiveWaiting(Slice& slice) {
    for (auto& [support, values] : slice.waiting) GiveBuffer(values);
    slice.waiting.clear();
  }

  void GiveBuffer(AlignedVector& values) {
    waiting_floats_ -= values.size();
    context_.pool.GiveBuffer(std::move(values), most_waiting_ * sizeof(float));
  }

  float* Sum(size_t slice) const { return context_.home.data() + context_.layout.begin(slice); }

  // Checks and adds a row that need not wait, in one pass over memory. A row of a single task is
  // checked whole before it is added.
  Added AddNow(size_t slice, std::span<const float> values, const SliceBounds& bounds) {
    const bool first = !slices_[slice].begun;
    if (values.size() <= kCombineGrain) {
      const Sketch sketch = SketchFor(bounds.claim, values);
      if (bounds.Admit(sketch)) AddToSum(slice, values);
      return {sketch};
    }
    const Complex one(1);
    std::vector<Sketch> parts((values.size() + kCombineGrain - 1) / kCombineGrain);
    context_.parallel.For(values.size(), kCombineGrain, [&](size_t begin, size_t end) {
      float* const sum = Sum(slice) + begin;
      const CheckedSums into{.weights = {&one, 1}, .sums = {&sum, 1}, .overwrite = first};
      parts[begin / kCombineGrain] =
          AddCheckedPart(into, values.subspan(begin, end - begin), bounds, begin);
    });
    const Sketch sketch = SumOf(parts);
    const bool fine = bounds.Admit(sketch);
    slices_[slice].begun |= fine;
    return {sketch, !fine && !first};
  }

  void AddToSum(size_t slice, std::span<const float> values) {
    const bool first = !std::exchange(slices_[slice].begun, true);
    float* const sum = Sum(slice);
    context_.parallel.For(values.size(), kCombineGrain, [&](size_t begin, size_t end) {
      const auto part = values.subspan(begin, end - begin);
      if (first) {
        std::copy(part.begin(), part.end(), sum + begin);
      } else {
        AddWeighted(Field::kReal, 1, part, {sum + begin, end - begin});
      }
    });
  }

  SumsContext context_;
  Tiling tiling_;
  size_t most_waiting_;  // Floats.
  std::vector<Slice> slices_;
  size_t waiting_floats_ = 0;
};

}  // namespace

std::unique_ptr<SliceSums> MakeTilingSums(const SumsContext& context) {
  return std::make_unique<TilingSums>(context);
}

}  // namespace motley
