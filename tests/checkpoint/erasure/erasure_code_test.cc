// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/erasure/erasure_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "base/random.h"

namespace motley {
namespace {

constexpr ErasureTechnique kTechniques[] = {ErasureTechnique::kVandermonde,
                                            ErasureTechnique::kCauchy};
constexpr std::pair<ErasureTechnique, ErasureKernel> kTechniquesAndKernels[] = {
    {ErasureTechnique::kVandermonde, ErasureKernel::kFastest},
    {ErasureTechnique::kVandermonde, ErasureKernel::kJerasure},
    {ErasureTechnique::kCauchy, ErasureKernel::kFastest},
    {ErasureTechnique::kCauchy, ErasureKernel::kJerasure}};

using Blocks = std::vector<Bytes>;

Bytes RandomBytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.Next32());
  return bytes;
}

Blocks RandomBlocks(Random& random, size_t count, size_t size) {
  Blocks blocks;
  for (size_t i = 0; i < count; ++i) blocks.push_back(RandomBytes(random, size));
  return blocks;
}

std::vector<BytesView> Views(const Blocks& blocks) { return {blocks.begin(), blocks.end()}; }
std::vector<std::span<std::byte>> Spans(Blocks& blocks) { return {blocks.begin(), blocks.end()}; }

ErasureCode Code(uint32_t data, uint32_t parity, ErasureTechnique technique,
                 ErasureKernel kernel = ErasureKernel::kJerasure) {
  auto code = ErasureCode::Create(data, parity, technique, kernel);
  EXPECT_TRUE(code.ok()) << code.status().ToString();
  return *code;
}

// All k + m blocks of `code` for random data.
Blocks Encoded(const ErasureCode& code, Random& random, size_t size) {
  Blocks data = RandomBlocks(random, code.data(), size);
  Blocks parity(code.parity(), Bytes(size));
  EXPECT_TRUE(code.Encode(Views(data), Spans(parity)).ok());
  for (Bytes& block : parity) data.push_back(std::move(block));
  return data;
}

// Multiplication in GF(2^8) modulo 0x11d, one bit at a time.
uint8_t Multiply(uint8_t a, uint8_t b) {
  unsigned product = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    if ((b >> bit) & 1) product ^= unsigned{a} << bit;
  }
  for (unsigned bit = 14; bit >= 8; --bit) {
    if ((product >> bit) & 1) product ^= 0x11du << (bit - 8);
  }
  return static_cast<uint8_t>(product);
}

// Checks that the blocks missing from `mask` (1: present) are restored.
testing::AssertionResult ComesBack(const ErasureCode& code, const Blocks& blocks,
                                   const std::vector<bool>& present) {
  Blocks damaged = blocks;
  for (size_t i = 0; i < damaged.size(); ++i) {
    if (!present[i]) std::fill(damaged[i].begin(), damaged[i].end(), std::byte{0xa5});
  }
  const Status status = code.Reconstruct(Spans(damaged), present);
  if (!status.ok()) return testing::AssertionFailure() << status.ToString();
  if (damaged != blocks) return testing::AssertionFailure() << "other bytes";
  return testing::AssertionSuccess();
}

TEST(ErasureCode, ParityIsTheMatrixTimesTheData) {
  Random random(1, Stream::kTest);
  for (const ErasureTechnique technique : kTechniques) {
    const ErasureCode code = Code(5, 3, technique);
    const Blocks blocks = Encoded(code, random, 256);
    for (uint32_t i = 0; i < 3; ++i) {
      for (size_t at = 0; at < 256; ++at) {
        uint8_t sum = 0;
        for (uint32_t j = 0; j < 5; ++j) {
          sum ^= Multiply(code.matrix()[i * 5 + j], static_cast<uint8_t>(blocks[j][at]));
        }
        ASSERT_EQ(static_cast<uint8_t>(blocks[5 + i][at]), sum);
      }
    }
  }
}

TEST(ErasureCode, TheMatricesOfTheFormatNeverChange) {
  const auto text = [](const ErasureCode& code) {
    std::string all;
    for (const uint8_t value : code.matrix()) all += fmt::format("{:02x}", value);
    return all;
  };
  EXPECT_EQ(text(Code(4, 2, ErasureTechnique::kVandermonde)), "0101010101468fc8");
  EXPECT_EQ(text(Code(4, 2, ErasureTechnique::kCauchy)), "0101010101028e04");
  EXPECT_EQ(text(Code(6, 3, ErasureTechnique::kVandermonde)),
            "01010101010101e197ac52c8017bf58ff48e");
  EXPECT_EQ(text(Code(6, 3, ErasureTechnique::kCauchy)), "010101010101c897ac01e1a6ca8f7265c801");
}

TEST(ErasureCode, EveryErasureOfSmallCodesComesBack) {
  Random random(2, Stream::kTest);
  for (const auto& [technique, kernel] : kTechniquesAndKernels) {
    for (uint32_t k = 1; k <= 6; ++k) {
      for (uint32_t m = 0; m + k <= 9; ++m) {
        const ErasureCode code = Code(k, m, technique, kernel);
        const Blocks blocks = Encoded(code, random, 64);
        for (uint32_t mask = 0; mask < (1u << (k + m)); ++mask) {
          if (static_cast<uint32_t>(std::popcount(mask)) < k) continue;
          std::vector<bool> present(k + m);
          for (uint32_t i = 0; i < k + m; ++i) present[i] = (mask >> i & 1) != 0;
          ASSERT_TRUE(ComesBack(code, blocks, present)) << k << "+" << m << " mask " << mask;
        }
      }
    }
  }
}

std::vector<bool> RandomErasure(Random& random, uint32_t blocks, uint32_t missing) {
  std::vector<uint32_t> order(blocks);
  for (uint32_t i = 0; i < blocks; ++i) order[i] = i;
  random.Shuffle(std::span<uint32_t>(order));
  std::vector<bool> present(blocks, true);
  for (uint32_t i = 0; i < missing; ++i) present[order[i]] = false;
  return present;
}

// For the same random data and erasures, both kernels give the same bytes, and the right ones.
TEST(ErasureCode, IsalAndJerasureGiveTheSameBytes) {
  std::string reason;
  if (!IsalAvailable(&reason)) GTEST_SKIP() << "no ISA-L here: " << reason;
  Random random(3, Stream::kTest);
  for (const ErasureTechnique technique : kTechniques) {
    for (uint32_t k = 1; k <= 20; ++k) {
      for (uint32_t m = 0; m <= 8; ++m) {
        // Large enough for several chunks of the kernels, sometimes.
        const size_t size = 64 * (1 + random.Below(m == 3 ? 3000 : 300));
        const ErasureCode reference = Code(k, m, technique);
        const ErasureCode fast = Code(k, m, technique, ErasureKernel::kIsal);
        ASSERT_TRUE(std::ranges::equal(reference.matrix(), fast.matrix()));
        const Blocks blocks = Encoded(reference, random, size);
        Blocks parity(m, Bytes(size));
        const auto data = Views(blocks);
        ASSERT_TRUE(fast.Encode(std::span(data).first(k), Spans(parity)).ok());
        for (uint32_t i = 0; i < m; ++i) ASSERT_EQ(parity[i], blocks[k + i]) << k << "+" << m;
        for (int trial = 0; trial < 6; ++trial) {
          const auto missing = trial == 0 ? m : static_cast<uint32_t>(random.Below(m + 1));
          const auto present = RandomErasure(random, k + m, missing);
          ASSERT_TRUE(ComesBack(reference, blocks, present)) << k << "+" << m;
          ASSERT_TRUE(ComesBack(fast, blocks, present)) << k << "+" << m;
        }
      }
    }
  }
}

TEST(ErasureCode, LargeCodesComeBackFromRandomErasures) {
  Random random(4, Stream::kTest);
  for (const ErasureTechnique technique : kTechniques) {
    for (const auto& [k, m] : {std::pair{100u, 20u}, {128u, 128u}, {253u, 3u}, {1u, 255u}}) {
      const ErasureCode code = Code(k, m, technique, ErasureKernel::kFastest);
      const Blocks blocks = Encoded(code, random, 128);
      ASSERT_TRUE(ComesBack(code, blocks, RandomErasure(random, k + m, m))) << k << "+" << m;
    }
  }
}

// Tries every sufficient set of blocks, and every subset of the missing ones.
TEST(ErasureCode, OnlyWhatIsWantedIsTouched) {
  Random random(5, Stream::kTest);
  for (const auto& [technique, kernel] : kTechniquesAndKernels) {
    const ErasureCode code = Code(3, 3, technique, kernel);
    const Blocks blocks = Encoded(code, random, 192);
    for (uint32_t there = 0; there < 64; ++there) {
      if (std::popcount(there) < 3) continue;
      for (uint32_t wish = 0; wish < 64; ++wish) {
        if ((wish & there) != 0) continue;
        Blocks damaged = blocks;
        auto spans = Spans(damaged);
        std::vector<bool> present(6);
        std::vector<bool> wanted(6);
        for (uint32_t i = 0; i < 6; ++i) {
          present[i] = (there >> i & 1) != 0;
          wanted[i] = (wish >> i & 1) != 0;
          if (!present[i]) damaged[i].assign(192, std::byte{1});
          if (!present[i] && !wanted[i]) spans[i] = {};
        }
        ASSERT_TRUE(code.Reconstruct(spans, present, wanted).ok());
        for (uint32_t i = 0; i < 6; ++i) {
          const bool right = present[i] || wanted[i];
          ASSERT_EQ(damaged[i], right ? blocks[i] : Bytes(192, std::byte{1}))
              << "block " << i << ", there " << there << ", wanted " << wish;
        }
      }
    }
  }
}

TEST(ErasureCode, TooFewBlocksAreNotDecodable) {
  Random random(6, Stream::kTest);
  const ErasureCode code = Code(4, 2, ErasureTechnique::kVandermonde, ErasureKernel::kFastest);
  Blocks blocks = Encoded(code, random, 64);
  const Blocks before = blocks;
  const Status status = code.Reconstruct(Spans(blocks), {true, false, true, false, true, false});
  EXPECT_EQ(status.code(), StatusCode::kNotDecodable);
  EXPECT_EQ(status.message(), "3 of 6 blocks are there, 4 are needed");
  EXPECT_EQ(blocks, before);
}

TEST(ErasureCode, WrongArgumentsAreErrorsAndNoAborts) {
  const auto refused = [](uint32_t k, uint32_t m) {
    return ErasureCode::Create(k, m, ErasureTechnique::kCauchy).code() ==
           StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(0, 2));
  EXPECT_TRUE(refused(255, 2));
  EXPECT_TRUE(refused(1, 0xffffffff));
  EXPECT_TRUE(refused(0xffffffff, 1));
  EXPECT_FALSE(ErasureCode::Create(2, 2, static_cast<ErasureTechnique>(7)).ok());

  for (const ErasureKernel kernel : {ErasureKernel::kJerasure, ErasureKernel::kFastest}) {
    const ErasureCode code = Code(3, 2, ErasureTechnique::kVandermonde, kernel);
    const auto encode = [&](size_t data, size_t parity, size_t size, size_t odd_size, size_t at) {
      Blocks from(data, Bytes(size + 64));
      Blocks to(parity, Bytes(size));
      std::vector<BytesView> views;
      for (const Bytes& block : from) views.push_back(BytesView(block).first(size));
      if (!views.empty()) views[0] = BytesView(from[0]).subspan(at, odd_size);
      return code.Encode(views, Spans(to)).code();
    };
    EXPECT_EQ(encode(3, 2, 128, 128, 0), StatusCode::kOk);
    EXPECT_EQ(encode(3, 2, 0, 0, 0), StatusCode::kOk);
    EXPECT_EQ(encode(2, 2, 128, 128, 0), StatusCode::kInvalidArgument);
    EXPECT_EQ(encode(3, 3, 128, 128, 0), StatusCode::kInvalidArgument);
    EXPECT_EQ(encode(3, 2, 100, 100, 0), StatusCode::kInvalidArgument);
    EXPECT_EQ(encode(3, 2, 128, 64, 0), StatusCode::kInvalidArgument);
    EXPECT_EQ(encode(3, 2, 128, 128, 8), StatusCode::kInvalidArgument);
    Blocks five(5, Bytes(64));
    EXPECT_EQ(code.Reconstruct(Spans(five), {true, true, true, true}).code(),
              StatusCode::kInvalidArgument);
  }
}

// Jerasure creates its tables at first use without a lock. ctest runs every test in a new process,
// so each of these would crash if our initialisation did not prevent that.
TEST(ErasureCode, EightThreadsMayStartCold) {
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([t, &right] {
      Random random(7, Stream::kTest, t);
      const ErasureKernel kernel = t % 2 == 0 ? ErasureKernel::kJerasure : ErasureKernel::kFastest;
      for (int round = 0; round < 20; ++round) {
        const auto code = ErasureCode::Create(6, 2 + t % 3, kTechniques[t / 4], kernel);
        if (!code.ok()) return;
        const Blocks blocks = Encoded(*code, random, 4096);
        const auto present = RandomErasure(random, code->blocks(), code->parity());
        if (!ComesBack(*code, blocks, present)) return;
      }
      right[t] = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(right.begin(), right.end(), 1), 8);
}

}  // namespace
}  // namespace motley
