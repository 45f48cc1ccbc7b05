// SPDX-License-Identifier: Apache-2.0
// Launches kernels: function objects that take a block (devices/cuda/kernels/block.cuh) and their
// arguments.
#pragma once

#include <algorithm>
#include <cstddef>

#include "devices/cuda/kernels/block.cuh"
#include "devices/cuda/work_queue.h"

#ifdef __CUDACC__
#include "devices/cuda/cuda_errors.h"
#else
#include <functional>
#endif

namespace motley::cuda {

using WideBlock = Block<256>;
using WarpBlock = Block<32>;

inline motley_driver_queue& QueueOf(void* queue) {
  return *static_cast<motley_driver_queue*>(queue);
}

constexpr MOTLEY_ANYWHERE size_t Pieces(size_t count, size_t size) {
  return count / size + (count % size != 0 ? 1 : 0);
}

// The least power of two that is at least `columns`, up to 32.
constexpr unsigned LanesFor(size_t columns) {
  unsigned lanes = 1;
  while (lanes < 32 && lanes < columns) lanes *= 2;
  return lanes;
}

#ifdef __CUDACC__

template <typename Block, typename Body, typename... Arguments>
__global__ void __launch_bounds__(Block::kThreads) Run(Body body, Arguments... arguments) {
  Block block;
  body(block, arguments...);
}

// `name` is for the text of a failure. Blocks run at any time and in any order.
template <typename Block, typename Body, typename... Arguments>
void Launch(motley_driver_queue& queue, const char* name, size_t blocks, Body body,
            Arguments... arguments) {
  if (blocks == 0 || queue.failure.failed()) return;
  const OnDevice here(queue.device, /*stays=*/true);
  if (!here.Check(queue.failure)) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(Block::kThreads);
  config.stream = static_cast<cudaStream_t>(queue.stream);
  Check(queue.failure, name,
        cudaLaunchKernelEx(&config, Run<Block, Body, Arguments...>, body, arguments...));
}

#else

struct HostBlocks {
  ThreadOrder order = ThreadOrder::kAscending;       // The order of threads and blocks.
  std::function<void(std::function<void()>)> later;  // Defers launches; empty: they run at once.
};

template <typename Block, typename Body, typename... Arguments>
void Launch(motley_driver_queue& queue, const char*, size_t blocks, Body body,
            Arguments... arguments) {
  if (queue.failure.failed()) return;
  const auto& on = *static_cast<const HostBlocks*>(queue.stream);
  const auto run = [=, order = on.order] {
    RunBlocks<Block>(blocks, order, [&](Block& block) { body(block, arguments...); });
  };
  if (on.later) return on.later(run);
  run();
}

#endif

}  // namespace motley::cuda
