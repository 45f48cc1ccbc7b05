// SPDX-License-Identifier: Apache-2.0
// Slices arrive in any order, twice, or with a wrong header or payload. Wrong ones are always
// refused, and the sum is that of the right ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.h"
#include "coding/gradient_code.h"
#include "runtime/shard/answers.h"
#include "tests/runtime/shard/answers_rig.h"

namespace motley {
namespace {

constexpr size_t kSlices = 3;

struct Slice {
  Header header;
  std::vector<float> values;
};

using Damage = std::function<void(Slice&)>;

struct NamedDamage {
  const char* name;
  Damage damage;
};

const std::vector<NamedDamage>& Damages() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  static const std::vector<NamedDamage> kAll = {
      {"norm NaN", [](Slice& s) { s.header.norm = std::nan(""); }},
      {"norm infinite", [](Slice& s) { s.header.norm = kInf; }},
      {"norm negative", [](Slice& s) { s.header.norm = -s.header.norm; }},
      {"norm 0", [](Slice& s) { s.header.norm = 0; }},
      {"norm too large", [](Slice& s) { s.header.norm *= 1.01; }},
      {"norm too small", [](Slice& s) { s.header.norm *= 0.99; }},
      {"norm of no gradient", [](Slice& s) { s.header.norm = 1e31; }},
      {"sketch NaN", [](Slice& s) { s.header.sketch = std::nan(""); }},
      {"sketch infinite", [](Slice& s) { s.header.sketch = -kInf; }},
      {"sketch", [](Slice& s) { s.header.sketch += 1e-3 * s.header.norm; }},
      {"loss", [](Slice& s) { s.header.tally.loss = std::nan(""); }},
      {"weight", [](Slice& s) { s.header.tally.weight = kInf; }},
      {"version", [](Slice& s) { ++s.header.version; }},
      {"length", [](Slice& s) { s.header.length -= sizeof(float); }},
      {"no length", [](Slice& s) { s.header.length = 0; }},
      {"total", [](Slice& s) { s.header.total += 2; }},
      {"offset", [](Slice& s) { s.header.offset += 1; }},
      {"offset beyond", [](Slice& s) { s.header.offset = uint64_t{1} << 62; }},
      {"value NaN", [](Slice& s) { s.values[0] = std::nanf(""); }},
      {"value", [](Slice& s) { s.values[0] += 0.5F; }},
      {"sign", [](Slice& s) { s.values[1] = -s.values[1]; }},
  };
  return kAll;
}

// The values are whole numbers, so sums are exact in any order.
float ValueOf(uint32_t owner, size_t i) {
  return static_cast<float>(1 + owner * 100 + i * i * (i % 2 == 0 ? 1 : -1));
}

class DamagedSlices : public AnswersRig, public testing::WithParamInterface<size_t> {
 protected:
  DamagedSlices() : AnswersRig(1 + GetParam() % 3) {}

  // The slices of an owner's vector.
  std::vector<Slice> SlicesOf(uint32_t owner, StepId step, uint32_t row) {
    std::vector<Slice> slices;
    for (size_t slice = 0; slice < kSlices; ++slice) {
      Slice made{SliceHeader(step, row, slice), {}};
      made.header.tally = {.loss = owner + 1.0, .weight = 2};
      for (size_t i = 0; i < made.header.length / sizeof(float); ++i) {
        made.values.push_back(ValueOf(owner, slice * kSlice + i));
      }
      Sign(made.header, made.values);
      slices.push_back(std::move(made));
    }
    for (size_t i = kSlices; i > 1; --i) std::swap(slices[i - 1], slices[random.Below(i)]);
    return slices;
  }
  static std::vector<float> Expected(uint32_t owners) {
    std::vector<float> sum(kLength, 0);
    for (uint32_t owner = 0; owner < owners; ++owner) {
      for (size_t i = 0; i < kLength; ++i) sum[i] += ValueOf(owner, i);
    }
    return sum;
  }

  Random random{GetParam(), Stream::kTest};
  const NamedDamage& damage = Damages()[GetParam() % Damages().size()];
};

TEST_P(DamagedSlices, OfARowAreRefusedAndTheSumIsRight) {
  CodeRequest request;
  request.speeds.assign(3, 1);
  request.partitions = 3;
  const auto form = std::make_shared<const CodeForm>(BuildCode("none", request).value());
  Answers rows = Make({.workers = 3});
  const auto send = [&](WorkerId worker, const Slice& slice) {
    Answers::Slice place;
    const Result<bool> wanted = rows.Begin(worker, slice.header, false, place);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    std::copy(slice.values.begin(), slice.values.end(), place.values.begin());
    return rows.Finish(worker, place).ok();
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(rows.Open({4, 4}, form).ok());
    std::vector<uint32_t> orders;
    for (WorkerId w = 0; w < 3; ++w) orders.push_back(NumberOf(rows.GiveRow(w, 4, w)));
    for (WorkerId w = 0; w < 3; ++w) {
      std::vector<Slice> slices = SlicesOf(w, 4, orders[w]);
      const size_t bad = attempt == 0 && w == 1 ? random.Below(kSlices) : kSlices;
      for (size_t i = 0; i < kSlices; ++i) {
        if (i == bad) {
          damage.damage(slices[i]);
          EXPECT_FALSE(send(w, slices[i])) << damage.name;
          break;
        }
        EXPECT_TRUE(send(w, slices[i]));
        if (random.Chance(0.3)) {
          EXPECT_TRUE(send(w, slices[i])) << "twice";
        }
      }
      wire::AnswerEndT end;
      end.step = 4;
      end.order = orders[w];
      end.finished = true;
      EXPECT_TRUE(rows.OnEnd(w, end).value());
    }
    EXPECT_EQ(rows.decodable(4), attempt == 1);
    EXPECT_EQ(Of<RowRejected>().size(), 1u);
  }
  EXPECT_EQ(Close(rows, 4), Expected(3));
  EXPECT_EQ(sum().tally(), (Tally{.loss = 6, .weight = 6}));
}

TEST_P(DamagedSlices, OfAListAreRefusedAndTheSumIsRight) {
  Answers lists = Make({.workers = 3, .partitions = 3});
  ASSERT_TRUE(lists.Open({4, 4}, nullptr).ok());
  const auto send = [&](WorkerId worker, const Slice& slice) {
    Answers::Slice place;
    const Result<bool> wanted = lists.Begin(worker, slice.header, false, place);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    std::copy(slice.values.begin(), slice.values.end(), place.values.begin());
    return lists.Finish(worker, place).ok();
  };
  const auto end = [&](WorkerId worker, uint32_t list) {
    wire::AnswerEndT ended;
    ended.step = 4;
    ended.order = list;
    ended.entries = 1;
    return lists.OnEnd(worker, ended).ok();
  };
  const bool twice = random.Chance(0.1);
  for (uint32_t p = 0; p < 3; ++p) {
    for (int attempt = p == 1 ? 0 : 1; attempt < 2; ++attempt) {
      const uint32_t list = lists.orders().Extend(p, 4, std::vector<PartitionId>{p})->order;
      std::vector<Slice> slices = SlicesOf(p, 4, list);
      const size_t bad = attempt == 0 ? random.Below(kSlices) : kSlices;
      for (size_t i = 0; i < kSlices; ++i) {
        if (i == bad && twice && i > 0) {
          EXPECT_FALSE(send(p, slices[i - 1])) << "twice";
          break;
        }
        if (i == bad) damage.damage(slices[i]);
        EXPECT_EQ(send(p, slices[i]), i != bad) << damage.name;
        if (i == bad) break;
      }
      EXPECT_EQ(end(p, list) && Of<LeaseVector>().size() == p + 1u, attempt == 1) << damage.name;
    }
  }
  EXPECT_EQ(Of<RowRejected>().size(), 1u) << damage.name;
  EXPECT_EQ(Close(lists, 4), Expected(3));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedSlices, testing::Range(size_t{0}, size_t{220}));

}  // namespace
}  // namespace motley
