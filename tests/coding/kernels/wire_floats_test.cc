// SPDX-License-Identifier: Apache-2.0
#include "coding/kernels/wire_floats.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/coding/kernels/every_target.h"

namespace motley {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();
const std::vector<size_t> kLengths = {1, 2, 7, 255, 256, 257, 511, 512, 700, 1024, 5001};

Random::Philox Draws(uint64_t slice) { return Random(3, Stream::kRounding, slice).philox(); }

Bytes Packed(WireFormat format, std::span<const float> values, Random::Philox draws) {
  Bytes bytes(WireBytes(format, values.size()));
  PackFloats(format, values, draws, bytes);
  return bytes;
}

std::vector<float> Unpacked(WireFormat format, BytesView bytes, size_t count) {
  std::vector<float> values(count, -1);
  const Status fine = UnpackFloats(format, bytes, values);
  EXPECT_TRUE(fine.ok()) << fine.ToString();
  return values;
}

// Compares bits, because NaN may be among the values.
void ExpectSame(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t t = 0; t < a.size(); ++t) {
    if (std::isnan(a[t]) && std::isnan(b[t])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(a[t]), std::bit_cast<uint32_t>(b[t])) << t;
  }
}

float LargestOf(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

class WireFloats : public EveryTarget {};

TEST_P(WireFloats, EqualTheirReferenceToTheBit) {
  for (const WireFormat format : kWireFormats) {
    for (const size_t length : kLengths) {
      SCOPED_TRACE(testing::Message() << NameOf(format) << ", " << length);
      std::vector<float> values = Values(length);
      values[length / 2] = 0;
      values[length / 3] *= 1e-6F;
      Bytes bytes(WireBytes(format, length));
      Bytes expected(bytes.size());
      std::vector<float> rounded(length);
      std::vector<float> expected_rounded(length);
      PackFloats(format, values, Draws(length), bytes, rounded.data());
      reference::PackFloats(format, values, Draws(length), expected, expected_rounded.data());
      EXPECT_TRUE(bytes == expected);
      ExpectSame(rounded, expected_rounded);
      ExpectSame(Unpacked(format, bytes, length), rounded);
      // In place.
      PackFloats(format, values, Draws(length), bytes, values.data());
      EXPECT_TRUE(bytes == expected);
      ExpectSame(values, rounded);
    }
  }
}

// The draws are those of base/random.h: the first value of a block has the lower half of the first
// word.
TEST_P(WireFloats, DrawWithTheProjectsGenerator) {
  Random random(3, Stream::kRounding, 11);
  std::vector<uint32_t> words(4 * 64);
  for (uint32_t& word : words) word = random.Next32();
  std::vector<float> values(2 * kInt8Block);
  for (float& value : values) value = 0.5F + static_cast<float>(random_.Below(100));
  for (size_t block = 0; block < 2; ++block) values[block * kInt8Block] = 127;
  const Bytes bytes = Packed(WireFormat::kInt8, values, Draws(11));
  for (size_t t = 0; t < values.size(); ++t) {
    const size_t in_block = t % kInt8Block;
    const size_t pair = in_block % 128;
    const uint32_t word = words[4 * (32 * (t / kInt8Block) + pair % 32) + pair / 32];
    const uint32_t half = in_block < 128 ? word & 0xffff : word >> 16;
    const double below = std::floor(values[t]);
    const double expected = below + ((half + 0.5) / 65536 < values[t] - below ? 1 : 0);
    const auto at = (t / kInt8Block + 1) * sizeof(float) + t;
    ASSERT_EQ(static_cast<int8_t>(bytes[at]), expected) << t;
  }
}

TEST_P(WireFloats, StayWithinTheirBounds) {
  for (const size_t length : kLengths) {
    const std::vector<float> values = Values(length);
    const auto bf16 =
        Unpacked(WireFormat::kBf16, Packed(WireFormat::kBf16, values, Draws(1)), length);
    const auto int8 =
        Unpacked(WireFormat::kInt8, Packed(WireFormat::kInt8, values, Draws(1)), length);
    for (size_t t = 0; t < length; ++t) {
      ASSERT_LE(std::abs(bf16[t] - values[t]), 0x1p-8F * std::abs(values[t])) << t;
      const size_t begin = t / kInt8Block * kInt8Block;
      const auto block = std::span(values).subspan(begin, std::min(kInt8Block, length - begin));
      ASSERT_LE(std::abs(int8[t] - values[t]), LargestOf(block) / 126.9F) << t;
      if (values[t] == LargestOf(block)) {
        ASSERT_NEAR(int8[t], values[t], 1e-6F * values[t]);
      }
    }
  }
}

// The mean of many roundings is the value, and their errors are independent.
TEST_P(WireFloats, AreRightOnAverage) {
  constexpr int kDraws = 4000;
  const std::vector<float> values = Values(2 * kInt8Block);
  std::vector<double> sum(values.size());
  double neighbours = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto rounded = Unpacked(WireFormat::kInt8,
                                  Packed(WireFormat::kInt8, values, Draws(100 + i)), values.size());
    double before = 0;
    for (size_t t = 0; t < values.size(); ++t) {
      const double error = rounded[t] - values[t];
      sum[t] += error;
      neighbours += before * error;
      squares += error * error;
      before = error;
    }
  }
  const double unit = LargestOf(values) / 127.0;
  for (size_t t = 0; t < values.size(); ++t) {
    // The standard deviation of one error is at most unit / 2.
    ASSERT_LE(std::abs(sum[t]) / kDraws, 5 * unit / 2 / std::sqrt(kDraws)) << t;
  }
  const auto count = static_cast<double>(kDraws * values.size());
  EXPECT_LT(std::abs(neighbours / squares), 5 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count) / unit, std::sqrt(1.0 / 6), 0.05);
}

TEST_P(WireFloats, KeepZerosAndSmallIntegers) {
  std::vector<float> values(kInt8Block + 50);
  EXPECT_EQ(LargestOf(Unpacked(WireFormat::kInt8, Packed(WireFormat::kInt8, values, Draws(1)),
                               values.size())),
            0);
  for (size_t t = 0; t < values.size(); ++t) values[t] = static_cast<float>(t % 255) - 127;
  values.back() = 127;
  for (const WireFormat format : kWireFormats) {
    ExpectSame(Unpacked(format, Packed(format, values, Draws(1)), values.size()), values);
  }
}

// A value that is not finite must not become a number.
TEST_P(WireFloats, ShowWhatIsNotFinite) {
  for (const WireFormat format : kWireFormats) {
    for (const float bad : {kNan, -kNan, kInf, -kInf, std::bit_cast<float>(0x7f800001u)}) {
      for (const size_t at : {size_t{0}, size_t{255}, size_t{256}, size_t{400}}) {
        std::vector<float> values = Values(401);
        values[at] = bad;
        std::vector<float> rounded(values.size());
        Bytes bytes(WireBytes(format, values.size()));
        PackFloats(format, values, Draws(1), bytes, rounded.data());
        EXPECT_FALSE(std::isfinite(rounded[at]));
        ExpectSame(Unpacked(format, bytes, values.size()), rounded);
        const size_t elsewhere = at < kInt8Block ? 300 : 100;
        EXPECT_TRUE(std::isfinite(rounded[elsewhere]));
      }
    }
  }
}

TEST_P(WireFloats, TakeNumbersOfEverySize) {
  for (const float size : {std::numeric_limits<float>::denorm_min(), 1e-44F, 1e-40F, 0x1p-126F,
                           1e-38F, 1e-20F, 1e20F, 1e38F, kMost}) {
    std::vector<float> values = Values(kInt8Block);
    for (float& value : values) value = std::clamp(value / 4, -1.0F, 1.0F) * size;
    values[3] = size;
    values[4] = -size;
    const auto rounded =
        Unpacked(WireFormat::kInt8, Packed(WireFormat::kInt8, values, Draws(2)), values.size());
    for (size_t t = 0; t < values.size(); ++t) {
      ASSERT_LE(std::abs(rounded[t] - values[t]), std::max(size / 126.9F, 0x1p-126F)) << size;
      ASSERT_TRUE(std::isfinite(rounded[t]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WireFloats,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), TargetOf);

TEST(WireFormats, HaveNamesAndSizes) {
  for (const WireFormat format : kWireFormats) EXPECT_EQ(*FindWireFormat(NameOf(format)), format);
  EXPECT_EQ(FindWireFormat("fp16"), nullptr);
  EXPECT_EQ(WireBytes(WireFormat::kFloat32, 1001), 4004u);
  EXPECT_EQ(WireBytes(WireFormat::kBf16, 1001), 2002u);
  EXPECT_EQ(WireBytes(WireFormat::kInt8, 0), 0u);
  EXPECT_EQ(WireBytes(WireFormat::kInt8, 1), 5u);
  EXPECT_EQ(WireBytes(WireFormat::kInt8, 256), 260u);
  EXPECT_EQ(WireBytes(WireFormat::kInt8, 257), 265u);
  EXPECT_LT(static_cast<double>(WireBytes(WireFormat::kInt8, 1 << 18)) / (4 << 18), 0.26);
}

TEST(WireFormats, FloatsFollowFromBytes) {
  for (const WireFormat format : kWireFormats) {
    for (size_t count = 0; count < 2000; ++count) {
      ASSERT_EQ(motley::WireFloats(format, WireBytes(format, count)), count) << NameOf(format);
    }
    for (size_t bytes = 0; bytes < 2000; ++bytes) {
      ASSERT_LE(WireBytes(format, motley::WireFloats(format, bytes)), bytes) << NameOf(format);
    }
  }
}

// Cuts at multiples of a block change nothing but the draws.
TEST(WireFormats, DependOnTheSliceAlone) {
  Random random(5, Stream::kTest);
  std::vector<float> values(3000);
  for (float& value : values) value = static_cast<float>(random.Normal());
  for (const WireFormat format : kWireFormats) {
    for (const size_t length : {2, 256, 300, 1024, 3000}) {
      for (size_t begin = 0; begin < values.size(); begin += length) {
        const auto slice =
            std::span(values).subspan(begin, std::min(length, values.size() - begin));
        const Bytes bytes = Packed(format, slice, Draws(begin));
        EXPECT_TRUE(bytes == Packed(format, slice, Draws(begin)));
        if (format == WireFormat::kInt8 && slice.size() < 20) continue;
        const bool alike = bytes == Packed(format, slice, Draws(begin + 1));
        EXPECT_EQ(alike, format != WireFormat::kInt8);
      }
    }
  }
}

TEST(WireFormats, RefuseOtherBytes) {
  std::vector<float> values(600, 1.0F);
  for (const WireFormat format : kWireFormats) {
    Bytes bytes = Packed(format, values, Draws(1));
    bytes.pop_back();
    EXPECT_EQ(UnpackFloats(format, bytes, values).code(), StatusCode::kDataError);
    EXPECT_EQ(UnpackFloats(format, {}, values).code(), StatusCode::kDataError);
  }
  const Bytes right = Packed(WireFormat::kInt8, values, Draws(1));
  for (const size_t block : {size_t{0}, size_t{2}}) {
    for (const float unit : {-1.0F, kInf, kMost, 1e-40F, -0x1p-126F}) {
      Bytes bytes = right;
      std::memcpy(bytes.data() + block * 260, &unit, sizeof(unit));
      EXPECT_EQ(UnpackFloats(WireFormat::kInt8, bytes, values).code(), StatusCode::kDataError)
          << unit;
    }
    Bytes bytes = right;
    bytes[block * 260 + 5] = std::byte{0x80};
    const Status refused = UnpackFloats(WireFormat::kInt8, bytes, values);
    EXPECT_EQ(refused.code(), StatusCode::kDataError);
    EXPECT_NE(refused.ToString().find("multiple -128"), std::string::npos) << refused.ToString();
  }
}

}  // namespace
}  // namespace motley
