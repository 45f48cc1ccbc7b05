// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels. Each thread reads four values of every operand before it uses the first, so
// that enough reads are in flight to keep the memory busy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "devices/cuda/kernels/launch.cuh"

namespace motley::cuda {

// Values of one operand; only operands that are not const are written back.
template <typename T>
struct Held {
  static constexpr unsigned kValues = 4;

  MOTLEY_DEVICE void Load(unsigned number, size_t i) { value[number] = at[i]; }
  MOTLEY_DEVICE void Store(unsigned number, size_t i) {
    if constexpr (!std::is_const_v<T>) at[i] = value[number];
  }

  T* at;
  std::remove_const_t<T> value[kValues];
};

struct PointwiseBody {
  template <typename Block, typename Function, typename... T>
  MOTLEY_DEVICE void operator()(Block& block, size_t count, const Function& function,
                                T*... operands) const {
    constexpr size_t kTile = Block::kThreads * Held<float>::kValues;
    for (size_t tile = block.index() * kTile; tile < count; tile += block.count() * kTile) {
      block.ForThreads([&](unsigned t) {
        Do(tile + t, Block::kThreads, count, function, Held<T>{operands, {}}...);
      });
    }
  }

 private:
  template <typename Function, typename... T>
  static MOTLEY_DEVICE void Do(size_t first, size_t step, size_t count, const Function& function,
                               Held<T>... operands) {
    for (unsigned number = 0; number < Held<float>::kValues; ++number) {
      const size_t i = first + number * step;
      if (i < count) (operands.Load(number, i), ...);
    }
    for (unsigned number = 0; number < Held<float>::kValues; ++number) {
      const size_t i = first + number * step;
      if (i >= count) continue;
      function(i, operands.value[number]...);
      (operands.Store(number, i), ...);
    }
  }
};

// Calls function(i, operands[i]...) for each i < count; it may change operands that are not const.
template <typename Function, typename... T>
void Pointwise(void* queue, const char* name, size_t count, const Function& function,
               T*... operands) {
  motley_driver_queue& to = QueueOf(queue);
  const size_t blocks = Pieces(count, WideBlock::kThreads * Held<float>::kValues);
  Launch<WideBlock>(to, name, std::min<size_t>(blocks, to.most_blocks), PointwiseBody{}, count,
                    function, operands...);
}

// i modulo `size`. Uses 32 bits if they suffice, because 64 bits take several times as long.
inline MOTLEY_DEVICE size_t Modulo(size_t i, size_t size) {
  if (((i | size) >> 32) == 0) return static_cast<uint32_t>(i) % static_cast<uint32_t>(size);
  return i % size;
}

// Removes the last of the indices combined in `i` and returns it; it has `size` values.
inline MOTLEY_DEVICE size_t TakeLast(size_t& i, size_t size) {
  const size_t last = Modulo(i, size);
  i = ((i | size) >> 32) == 0 ? static_cast<uint32_t>(i) / static_cast<uint32_t>(size) : i / size;
  return last;
}

}  // namespace motley::cuda
