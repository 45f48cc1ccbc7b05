// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/part_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace motley {
namespace {

TEST(PartSums, AnAnswerHasAPartOfEachRange) {
  const auto ends = [](std::vector<size_t> of_ranges, uint32_t parts) {
    return AnswerEnds(Field::kComplexPacked, 20, of_ranges, parts);
  };
  EXPECT_EQ(ends({}, 3), std::vector<size_t>{8});
  EXPECT_EQ(ends({20}, 3), std::vector<size_t>{8});
  EXPECT_EQ(ends({6, 20}, 1), (std::vector<size_t>{6, 20}));
  EXPECT_EQ(ends({6, 20}, 2), (std::vector<size_t>{4, 12})) << "lengths are even";
  EXPECT_EQ(ends({2, 4, 20}, 3), (std::vector<size_t>{2, 4, 10}));
}

// The parts of each range are added as if it were a vector of its own.
TEST(PartSums, RangesAreCutIntoPartsOnTheirOwn) {
  Random random(3, Stream::kTest);
  const auto parallel = MakeSerialParallelFor();
  const auto some = [&](size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random.Below(100));
    return values;
  };
  for (uint32_t parts = 1; parts <= 4; ++parts) {
    std::vector<Complex> weights;
    for (uint32_t part = 0; part < parts; ++part) weights.emplace_back(part + 1.0, 2.0 - part);
    const std::vector<size_t> ends = {6, 8, 50};
    const std::vector<float> values = some(50);
    const std::vector<size_t> of_answer = AnswerEnds(Field::kComplexPacked, 50, ends, parts);
    std::vector<float> answer = some(of_answer.back());
    std::vector<float> expected = answer;
    size_t begin = 0;
    size_t from = 0;
    for (size_t range = 0; range < ends.size(); ++range) {
      AddParts(Field::kComplexPacked, weights,
               std::span(values).subspan(begin, ends[range] - begin),
               std::span(expected).subspan(from, of_answer[range] - from), *parallel);
      begin = ends[range];
      from = of_answer[range];
    }
    AddParts(Field::kComplexPacked, weights, values, answer, *parallel, ends);
    EXPECT_EQ(answer, expected) << parts;
  }
}

}  // namespace
}  // namespace motley
