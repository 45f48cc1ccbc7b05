// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace motley {
namespace {

class SerialParallelFor final : public ParallelFor {
 public:
  void For(size_t count, size_t grain, const Body& body) override {
    for (size_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(count, begin + grain));
    }
  }
  size_t threads() const override { return 1; }
};

class ThreadParallelFor final : public ParallelFor {
 public:
  explicit ThreadParallelFor(size_t threads) : threads_(std::max<size_t>(threads, 1)) {}

  void For(size_t count, size_t grain, const Body& body) override {
    std::atomic<size_t> next{0};
    std::exception_ptr
        thrown;  // The first exception, for example out of memory, is passed to the caller.
    std::once_flag threw;
    auto run = [&] {
      try {
        for (size_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain)) {
          body(begin, std::min(count, begin + grain));
        }
      } catch (...) {
        std::call_once(threw, [&] { thrown = std::current_exception(); });
        next = count;
      }
    };
    std::vector<std::thread> helpers;
    try {
      for (size_t i = 1; i < std::min(threads_, (count + grain - 1) / grain); ++i) {
        helpers.emplace_back(run);
      }
    } catch (const std::exception&) {  // The system refuses more threads; fewer do the same work.
    }
    run();
    for (std::thread& helper : helpers) helper.join();
    if (thrown) std::rethrow_exception(thrown);
  }
  size_t threads() const override { return threads_; }

 private:
  size_t threads_;
};

}  // namespace

std::unique_ptr<ParallelFor> MakeSerialParallelFor() {
  return std::make_unique<SerialParallelFor>();
}

std::unique_ptr<ParallelFor> MakeThreadParallelFor(size_t threads) {
  return std::make_unique<ThreadParallelFor>(threads);
}

}  // namespace motley
