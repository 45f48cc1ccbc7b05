// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/bandwidth.h"

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

// Ahead of what is added; MixedLoops runs each. Or nothing is added, only written.
enum class Loop { kNone, kBlocks, kLines, kWriting };

// Compiled for each instruction set, chosen at run time. Not under thread sanitizer: GCC 12 has it
// watch the function that chooses, which runs before the sanitizer can be called.
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

// Whole lines; meanwhile those of the next block come, one by one.
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
  size_t threads;

  void Pass(Loop loop, size_t begin, size_t end) {
    for (; begin < end; begin += kBlock) {
      const size_t size = std::min(kBlock, end - begin);
      const size_t next = std::min(begin + size, end);
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

  // A block with another behind it.
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

MixedLoops::MixedLoops(size_t length, size_t sums, bool half_more, size_t threads)
    : arrays_(new Arrays{AlignedVector(length, 1), {}, {}, threads}),
      stream_(static_cast<double>(length) * sizeof(float)),
      sums_(stream_ * (static_cast<double>(sums) + (half_more ? 0.5 : 0))) {
  for (size_t r = 0; r < sums; ++r) arrays_->sums.emplace_back(length, 1);
  if (half_more) arrays_->half.assign(length / 2 + kBlock, 1);
}

MixedLoops::~MixedLoops() = default;

void MixedLoops::Run() {
  const size_t i = turn_++ % seconds_.size();
  seconds_[i].push_back(SecondsOf([&] { arrays_->PassOfAll(static_cast<Loop>(i)); }));
}

double MixedLoops::bytes_per_second(size_t passes, size_t writing) const {
  double adding = Quartile(seconds_[0]);
  for (const Loop each : {Loop::kBlocks, Loop::kLines}) {
    adding = std::min(adding, Quartile(seconds_[static_cast<size_t>(each)]));
  }
  const double written = Quartile(seconds_[static_cast<size_t>(Loop::kWriting)]);
  const auto all = static_cast<double>(passes);
  const auto some = static_cast<double>(writing);
  return (all * (stream_ + 2 * sums_) - some * sums_) / ((all - some) * adding + some * written);
}

}  // namespace motley
