// SPDX-License-Identifier: Apache-2.0
// The sums of collective_test.cc by MPI. mpirun starts this program once for each member, and all
// run the same tests. mpi_suite_test.py runs it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "collective/mpi/mpi_group.h"
#include "devices/drivers/modules.h"
#include "tests/collective/collective_rig.h"

namespace motley {
namespace {

std::unique_ptr<MpiGroup> joined;  // By main.

class MpiSuite : public testing::Test {
 protected:
  MpiGroup& group_ = *joined;

  Contribution SumOf(uint64_t seed, size_t length, bool whole) {
    Contribution values = RandomContribution(seed + group_.rank(), length, 2, whole);
    const Status summed = group_.Sum(values);
    EXPECT_TRUE(summed.ok()) << summed.ToString();
    return values;
  }
};

TEST_F(MpiSuite, SumsExactlyForEveryLength) {
  for (const size_t length : {0, 1, 2, 3, 5, 8, 17, 1000, 4097, 300'001}) {
    const Contribution sum = SumOf(7, length, /*whole=*/true);
    const Contribution expected = DirectSumOf(7, group_.count(), length, /*whole=*/true);
    EXPECT_EQ(sum.vector, expected.vector) << length << " values";
    EXPECT_EQ(sum.beside, expected.beside) << length << " values";
  }
}

TEST_F(MpiSuite, GivesAllMembersTheSameBits) {
  const Contribution sum = SumOf(3, 1001, /*whole=*/false);
  // If each member's number times their count is the sum of all, then all have the same number.
  Contribution bits;
  for (const float value : sum.vector) {
    uint32_t number = 0;
    std::memcpy(&number, &value, sizeof(number));
    bits.beside.push_back(number);
  }
  const std::vector<double> own = bits.beside;
  ASSERT_TRUE(group_.Sum(bits).ok());
  for (size_t i = 0; i < own.size(); ++i) {
    ASSERT_EQ(bits.beside[i], own[i] * group_.count()) << i;
  }
}

TEST_F(MpiSuite, SumsOneUpdateAfterTheOther) {
  const uint32_t n = group_.count();
  for (size_t update = 1; update <= 30; ++update) {
    Contribution values{std::vector<float>(37 * update, static_cast<float>(update + group_.rank())),
                        {static_cast<double>(group_.rank())}};
    ASSERT_TRUE(group_.Sum(values).ok());
    const double ranks = n * (n - 1) / 2.0;
    EXPECT_EQ(values.vector,
              std::vector<float>(37 * update, static_cast<float>(n * update + ranks)));
    EXPECT_EQ(values.beside, std::vector<double>{ranks});
  }
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto group = motley::MpiGroup::Join(motley::ModuleFolders());
  if (!group.ok()) {
    std::fprintf(stderr, "%s\n", group.status().ToString().c_str());
    return 1;
  }
  motley::joined = *std::move(group);
  const int failed = RUN_ALL_TESTS();
  motley::joined.reset();
  return failed;
}
