// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/bandwidth.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/aligned_memory.h"
#include "base/assert.h"
#include "base/sanitizer.h"

namespace motley {
namespace {

constexpr size_t kBlock = 512;  // Floats.
constexpr size_t kLine = 16;

// MixedLoops runs each of these. The first three prefetch this far ahead of what they add.
enum class Loop { kNone, kBlocks, kLines, kWriting, kClosing };

// Compiled for each instruction set and chosen at run time. Not under thread sanitizer: GCC 12
// instruments the function that chooses, which runs before the sanitizer is ready.
#if defined(__x86_64__) && !defined(__clang__) && !MOTLEY_THREAD_SANITIZER
#define MOTLEY_FASTEST \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define MOTLEY_FASTEST
#endif

MOTLEY_FASTEST void AddBlock(const float* __restrict from, float* __restrict to, float weight,
                             size_t count) {
  for (size_t t = 0; t < count; ++t) to[t] += weight * from[t];
}

MOTLEY_FASTEST void WriteBlock(const float* __restrict from, float* __restrict to, float weight,
                               size_t count) {
  for (size_t t = 0; t < count; ++t) to[t] = weight * from[t];
}

// Adds whole lines, and prefetches those of the next block one by one.
MOTLEY_FASTEST void AddLines(const float* __restrict from, float* __restrict to, float weight,
                             size_t count) {
  for (size_t t = 0; t < count; t += kLine) {
    __builtin_prefetch(from + t + kBlock);
    __builtin_prefetch(to + t + kBlock);
    for (size_t i = t; i < t + kLine; ++i) to[i] += weight * from[i];
  }
}

void FetchBlock(const float* from, size_t count) {
  for (size_t t = 0; t < count; t += kLine) __builtin_prefetch(from + t);
}

}  // namespace

struct MixedLoops::Arrays {
  AlignedVector from;
  std::vector<AlignedVector> sums;
  AlignedVector half;
  std::vector<AlignedVector> results;  // Only results that are not in the first sum's place.
  size_t threads;

  void Pass(Loop loop, size_t begin, size_t end) {
    for (; begin < end; begin += kBlock) {
      const size_t size = std::min(kBlock, end - begin);
      const size_t next = std::min(begin + size, end);
      if (loop == Loop::kClosing) {
        Close(begin, size);
        continue;
      }
      if (loop == Loop::kLines && end - next >= kBlock) {
        AddWhole(begin);
        continue;
      }
      const size_t ahead = loop == Loop::kBlocks ? std::min(kBlock, end - next) : 0;
      const auto add = loop == Loop::kWriting ? WriteBlock : AddBlock;
      FetchBlock(from.data() + next, ahead);
      for (auto& sum : sums) {
        FetchBlock(sum.data() + next, ahead);
        add(from.data() + begin, sum.data() + begin, 0.5F, size);
      }
      if (half.empty()) continue;
      FetchBlock(half.data() + next / 2, ahead / 2);
      add(from.data() + begin, half.data() + begin / 2, 0.5F, size / 2);
    }
  }

  void Close(size_t begin, size_t size) {
    if (results.empty()) CloseInto(sums[0].data() + begin, begin, size);
    for (AlignedVector& result : results) CloseInto(result.data() + begin, begin, size);
  }

  void CloseInto(float* to, size_t begin, size_t size) {
    if (to != sums[0].data() + begin) WriteBlock(sums[0].data() + begin, to, 0.5F, size);
    for (size_t r = 1; r < sums.size(); ++r) AddBlock(sums[r].data() + begin, to, 0.5F, size);
    if (!half.empty()) AddBlock(half.data() + begin / 2, to, 0.5F, size / 2);
    AddBlock(from.data() + begin, to, 0.5F, size);
  }

  // Adds a block that another follows.
  void AddWhole(size_t begin) {
    for (auto& sum : sums) AddLines(from.data() + begin, sum.data() + begin, 0.5F, kBlock);
    if (!half.empty()) AddLines(from.data() + begin, half.data() + begin / 2, 0.5F, kBlock / 2);
  }

  void PassOfAll(Loop loop) {
    const size_t share = (from.size() / threads + kBlock - 1) / kBlock * kBlock;
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < threads; ++i) {
      const size_t begin = std::min(from.size(), i * share);
      helpers.emplace_back([=, this] { Pass(loop, begin, std::min(from.size(), begin + share)); });
    }
    Pass(loop, 0, std::min(from.size(), share));
    for (std::thread& helper : helpers) helper.join();
  }
};

double Quartile(std::vector<double> values) {
  MOTLEY_ASSERT(!values.empty());
  const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

MixedLoops::MixedLoops(const Shape& shape, size_t threads)
    : arrays_(new Arrays{AlignedVector(shape.length, 1), {}, {}, {}, threads}),
      stream_(static_cast<double>(shape.length) * sizeof(float)),
      sums_(stream_ * (static_cast<double>(shape.sums) + (shape.half_more ? 0.5 : 0))),
      results_(stream_ * static_cast<double>(shape.results)) {
  for (size_t r = 0; r < shape.sums; ++r) arrays_->sums.emplace_back(shape.length, 1);
  if (shape.half_more) arrays_->half.assign(shape.length / 2 + kBlock, 1);
  const size_t elsewhere = shape.results > 1 ? shape.results : 0;
  for (size_t r = 0; r < elsewhere; ++r) arrays_->results.emplace_back(shape.length, 1);
}

MixedLoops::~MixedLoops() = default;

void MixedLoops::Run() {
  const size_t i = turn_++ % seconds_.size();
  seconds_[i].push_back(SecondsOf([&] { arrays_->PassOfAll(static_cast<Loop>(i)); }));
}

double MixedLoops::BytesOf(const Passes& passes) const {
  return static_cast<double>(passes.adding) * (stream_ + 2 * sums_) +
         static_cast<double>(passes.writing) * (stream_ + sums_) +
         static_cast<double>(passes.closing) * (stream_ + sums_ + results_);
}

double MixedLoops::BytesPerSecond(const Passes& passes) const {
  const auto of = [this](Loop loop) { return Quartile(seconds_[static_cast<size_t>(loop)]); };
  const double adding = std::min({of(Loop::kNone), of(Loop::kBlocks), of(Loop::kLines)});
  const double seconds = static_cast<double>(passes.adding) * adding +
                         static_cast<double>(passes.writing) * of(Loop::kWriting) +
                         static_cast<double>(passes.closing) * of(Loop::kClosing);
  return BytesOf(passes) / seconds;
}

}  // namespace motley
