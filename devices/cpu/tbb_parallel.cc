// SPDX-License-Identifier: Apache-2.0
// Thread sanitizer cannot see inside a distribution's TBB, so builds with it use plain threads. A
// suppression would also hide real races inside TBB's tasks.
#include "base/sanitizer.h"
#include "devices/cpu/cpu_device.h"

#if MOTLEY_THREAD_SANITIZER

namespace motley {

std::unique_ptr<ParallelFor> MakeTbbParallelFor(size_t threads) {
  return MakeThreadParallelFor(threads);
}

}  // namespace motley

#else

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <latch>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace motley {
namespace {

// True if the system gives `count` threads at once; limits on processes and memory may prevent it.
bool CanStart(size_t count) {
  std::latch all_asked(1);
  std::vector<std::thread> started;
  bool can = true;
  try {
    started.reserve(count);
    while (started.size() < count) started.emplace_back([&] { all_asked.wait(); });
  } catch (const std::exception&) {
    can = false;
  }
  all_asked.count_down();
  for (std::thread& thread : started) thread.join();
  return can;
}

class TbbParallelFor final : public ParallelFor {
 public:
  explicit TbbParallelFor(size_t threads)
      : threads_(std::min(threads, kMostThreads)), arena_(static_cast<int>(threads_)) {}

  void For(size_t count, size_t grain, const Body& body) override {
    const size_t blocks = count / grain + (count % grain != 0);
    if (blocks == 0) return;
    if (blocks == 1) return body(0, count);
    const auto run = [&](size_t block) {
      const size_t begin = block * grain;
      body(begin, begin + std::min(grain, count - begin));
    };
    if (MayUseThreads()) return arena_.execute([&] { tbb::parallel_for(size_t{0}, blocks, run); });
    for (size_t block = 0; block < blocks; ++block) run(block);
  }
  size_t threads() const override { return threads_; }

 private:
  static constexpr size_t kMostThreads = 256;

  // Asked just before TBB starts its threads: TBB ends the program if it gets none. An arena that
  // once found no memory for itself waits forever at its next use, so it gets no other chance.
  bool MayUseThreads() {
    std::call_once(asked_, [this] {
      try {
        arena_.initialize();
        may_use_threads_ = CanStart(threads_ - 1);
      } catch (const std::bad_alloc&) {
      }
    });
    return may_use_threads_;
  }

  const size_t threads_;
  std::once_flag asked_;
  bool may_use_threads_ = false;  // Valid after asked_.
  // Lets an arena have more threads than there are processors. The smallest of all such limits
  // applies, so every arena sets the same one.
  tbb::global_control limit_{tbb::global_control::max_allowed_parallelism, kMostThreads};
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<ParallelFor> MakeTbbParallelFor(size_t threads) {
  // An arena of one thread would also work, but each call costs as much as adding half a megabyte.
  if (threads <= 1) return MakeSerialParallelFor();
  return std::make_unique<TbbParallelFor>(threads);
}

}  // namespace motley

#endif  // MOTLEY_THREAD_SANITIZER
