// SPDX-License-Identifier: Apache-2.0
// Cuts the work of CPU kernels into blocks. The cuts depend on sizes only, so the result is the
// same for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "devices/cpu/cpu_queue.h"

namespace motley::cpu {

// About the number of elementary operations that make waking another thread worthwhile.
inline constexpr size_t kWorthwhile = 32768;

inline size_t Blocks(size_t count, size_t grain) { return count / grain + (count % grain != 0); }

// A multiple of `unit` items, with `cost` elementary operations each, that is worth a thread.
inline size_t WorthwhileGrain(size_t unit, size_t cost) {
  return unit * std::max<size_t>(1, kWorthwhile / (unit * std::max<size_t>(cost, 1)));
}

// The number of threads to borrow. A cut may depend on it only if the result does not.
inline size_t ThreadsOf(const void* queue) {
  return queue == nullptr ? 1 : static_cast<const motley_cpu_queue*>(queue)->threads;
}

// Calls body(begin, end) for each block of `grain` items of [0, count); the last may be shorter.
template <typename Body>
void ForBlocks(void* queue, size_t count, size_t grain, const Body& body) {
  struct Call {
    const Body& body;
    size_t count;
    size_t grain;
    static void Run(void* self, size_t begin, size_t end) {
      const Call& call = *static_cast<const Call*>(self);
      for (size_t block = begin; block < end; ++block) {
        const size_t first = block * call.grain;
        call.body(first, std::min(call.count, first + call.grain));
      }
    }
  };
  Call call{body, count, grain};
  const size_t blocks = Blocks(count, grain);
  const auto* threads = static_cast<const motley_cpu_queue*>(queue);
  if (threads == nullptr || blocks <= 1) return Call::Run(&call, 0, blocks);
  threads->parallel_for(threads->context, blocks, 1, &Call::Run, &call);
}

// The sum over blocks of body(begin, end), which returns a double or a group of them. Blocks are
// added in order, and their length is a multiple of `unit`.
template <typename Body>
auto SumOverBlocks(void* queue, size_t count, size_t smallest_grain, const Body& body,
                   size_t unit = 1) {
  constexpr size_t kMost = 256;
  using Sum = decltype(body(size_t{0}, size_t{0}));
  Sum part[kMost] = {};
  const size_t grain = unit * Blocks(std::max(smallest_grain, Blocks(count, kMost)), unit);
  ForBlocks(queue, count, grain,
            [&](size_t begin, size_t end) { part[begin / grain] = body(begin, end); });
  Sum sum = {};
  for (size_t i = 0; i < Blocks(count, grain); ++i) sum += part[i];
  return sum;
}

}  // namespace motley::cpu
