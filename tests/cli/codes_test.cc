// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/commands/codes_command.h"
#include "cli/report/matrix_text.h"

namespace motley {
namespace {

TEST(ChoosePartitions, MakesEveryShareAWholeNumber) {
  EXPECT_EQ(ChoosePartitions(std::vector<double>{1, 1, 1}, 1), 3U);
  // 2 k / 42 times 2, 4, 8 and 12 are whole for k = 21.
  EXPECT_EQ(ChoosePartitions(std::vector<double>{2, 2, 4, 4, 8, 8, 14}, 1), 21U);
  EXPECT_EQ(ChoosePartitions(std::vector<double>{1, 1, 0.5, 0.25}, 1), 11U);
}

TEST(ChoosePartitions, TakesFourPerWorkerWhenNothingIsWhole) {
  EXPECT_EQ(ChoosePartitions(std::vector<double>{1, 3.14159, 2.71828}, 1), 12U);
  EXPECT_EQ(ChoosePartitions(std::vector<double>(100, 1), 1), 400U);
}

TEST(FormatMatrix, NeighboursWithEqualColumnsShareOne) {
  CodeForm form;
  form.workers = 2;
  form.partitions = 4;
  form.rows = {{{0, 1}, {1, 1}, {2, -0.5}}, {{2, 1}, {3, 2}}};
  EXPECT_EQ(FormatMatrix(form),
            "worker  0-1     2  3\n"
            "0         1  -0.5  .\n"
            "1         .     1  2\n");
}

TEST(FormatMatrix, ComplexNumbersHaveBothParts) {
  CodeForm form;
  form.field = Field::kComplexPacked;
  form.workers = 1;
  form.partitions = 1;
  form.rows = {{{0, Complex(0.5, -0.25)}}};
  EXPECT_EQ(FormatMatrix(form), "worker             0\n0       0.500-0.250i\n");
}

TEST(FormatMatrix, WideMatrixIsWrittenRowByRow) {
  CodeForm form;
  form.workers = 100;
  form.partitions = 100;
  for (uint32_t i = 0; i < 100; ++i) form.rows.push_back({{i, 1}});
  EXPECT_THAT(FormatMatrix(form), testing::StartsWith("worker 0:  [0] 1\nworker 1:  [1] 1\n"));
}

}  // namespace
}  // namespace motley
