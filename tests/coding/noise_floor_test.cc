// SPDX-License-Identifier: Apache-2.0
#include "coding/noise_floor.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "coding/combine.h"
#include "coding/gradient_code.h"
#include "coding/stream_decoder.h"

namespace motley {
namespace {

// Answers of a code to gradients whose odd coordinates are all exactly zero.
std::vector<std::vector<float>> Answers(const CodeForm& form, size_t length) {
  Random random(5, Stream::kTest);
  std::vector<std::vector<float>> gradients(form.partitions, std::vector<float>(length, 0));
  for (auto& gradient : gradients) {
    for (size_t t = 0; t < length; t += 2) gradient[t] = static_cast<float>(random.Normal());
  }
  std::vector<std::vector<float>> answers(form.workers, std::vector<float>(length, 0));
  for (RowId row = 0; row < form.workers; ++row) {
    for (const CodeEntry& entry : form.rows[row]) {
      AddWeighted(form.field, entry.coefficient, gradients[entry.partition], answers[row]);
    }
  }
  return answers;
}

TEST(NoiseFloor, ExactZerosSurviveAComplexCode) {
  constexpr size_t kLength = 2000;
  for (const char* name : {"rs", "heterogeneous"}) {
    CodeRequest request;
    request.speeds = {1, 1, 0.5, 0.25, 1, 0.7};
    request.stragglers = 2;
    request.partitions = 96;
    const Result<CodeForm> form = BuildCode(name, request);
    ASSERT_TRUE(form.ok()) << form.status().ToString();
    std::vector<std::vector<float>> answers = Answers(*form, kLength);
    const auto parallel = MakeSerialParallelFor();
    StreamDecoder decoder(*form, kLength, kLength, *parallel);
    for (RowId row = 0; row < 4; ++row) {
      ASSERT_TRUE(decoder.AddSlice(row, 0, answers[row], 1e9).ok());
    }
    std::vector<float> sum(kLength);
    ASSERT_TRUE(decoder.Finish(sum).ok());
    for (size_t t = 0; t < kLength; t += 2) {
      EXPECT_NE(sum[t], 0) << name << ' ' << t;
      EXPECT_EQ(sum[t + 1], 0) << name << ' ' << t;
    }
  }
}

TEST(NoiseFloor, ValuesAboveTheNoiseStay) {
  const std::vector<float> term = {1.0F, 1e-5F, 1.0F, 1e-8F, 0.0F, 1e-30F};
  std::vector<float> out = term;
  const Complex weight(1, 0);
  const float* const terms = term.data();
  ZeroBelowNoise({&weight, 1}, {&terms, 1}, out);
  EXPECT_EQ(out, (std::vector<float>{1.0F, 1e-5F, 1.0F, 0.0F, 0.0F, 1e-30F}));
}

}  // namespace
}  // namespace motley
