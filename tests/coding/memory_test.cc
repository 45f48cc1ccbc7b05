// SPDX-License-Identifier: Apache-2.0
// How much memory a decoded step takes, counted at every allocation of this program.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "coding/gradient_code.h"
#include "coding/stream_decoder.h"

namespace {

std::atomic<size_t> allocated{0};
std::atomic<size_t> most{0};

void Count(void* memory) {
  const size_t now = allocated += malloc_usable_size(memory);
  if (now > most) most = now;
}

// Out of line: the compiler would miss the matching operator new.
[[gnu::noinline]] void Free(void* memory) {
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  Count(memory);
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(size);
  if (memory != nullptr) Count(memory);
  return memory;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new[](size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace motley {
namespace {

constexpr size_t kLength = 1'000'000;
constexpr size_t kSlice = 1 << 16;
constexpr uint32_t kWorkers = 32;

// The most that was allocated while rows `first`, first + 1, ... were decoded, from before the
// decoder and the room for the sum.
size_t PeakOf(const CodeForm& form, RowId first) {
  const auto parallel = MakeSerialParallelFor();
  const std::vector<float> answer(kSlice, 1);
  const size_t before = allocated;
  most = before;
  std::vector<float> sum(kLength);
  StreamDecoder decoder(form, kLength, kSlice, *parallel);
  decoder.SetHome(sum);
  for (RowId row = first; row < form.workers; ++row) {
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      std::vector<float> arrived(
          answer.begin(), answer.begin() + static_cast<ptrdiff_t>(decoder.slice_length(slice)));
      EXPECT_TRUE(decoder.AddSlice(row, slice, arrived, 1e9).ok());
    }
  }
  const Status status = decoder.Finish(sum);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return most - before;
}

class DecodeMemory : public ::testing::TestWithParam<const char*> {};

TEST_P(DecodeMemory, IsAtMostTheAccumulatorsTheSumAndASlice) {
  const std::string code = GetParam();
  const uint32_t stragglers = code == "none" ? 0 : 2;
  CodeRequest request;
  request.speeds.assign(kWorkers, 1);
  request.stragglers = stragglers;
  request.partitions = kWorkers;
  const Result<CodeForm> form = BuildCode(code, request);
  ASSERT_TRUE(form.ok());
  const size_t gradient = kLength * sizeof(float);
  const size_t bound = (stragglers + 2) * gradient + kSlice * sizeof(float);
  const size_t peak = PeakOf(*form, stragglers);
  EXPECT_LE(peak, bound);
  EXPECT_GE(peak, gradient);  // It was counted at all.
}

INSTANTIATE_TEST_SUITE_P(Codes, DecodeMemory,
                         ::testing::Values("none", "repetition", "cyclic", "heterogeneous", "rs"));

}  // namespace
}  // namespace motley
