// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/replay_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace motley {
namespace {

using testing::HasSubstr;

class ReplayFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + ".csv");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Result<ReplayFile> Open(const std::string& text) {
    std::ofstream(path_) << text;
    return OpenReplayFile(path_.string(), 100);
  }
  std::filesystem::path path_;
};

TEST_F(ReplayFileTest, RoundsStandForACluster) {
  const auto file = Open(
      "load,round,worker,seconds\n0,0,0,1\n0,0,1,2\n0,1,0,1\n0,1,1,1\n"
      "1,0,0,3\n1,0,1,2.5\n1,1,0,3\n1,1,1,0.5\n");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->times->steps(), 2U);
  EXPECT_EQ(file->times->workers(), 2U);
  EXPECT_DOUBLE_EQ(file->times->Compute(0, 0)(25), 1.5);  // A quarter of the batch of 100.
  EXPECT_DOUBLE_EQ(file->times->Compute(0, 1)(50), 2.25);
  EXPECT_DOUBLE_EQ(file->times->Compute(1, 1)(50), 1) << "never less than without load";
  EXPECT_DOUBLE_EQ(file->times->LongestSeconds(100), 3);
  ASSERT_TRUE(file->cluster);
  EXPECT_EQ(file->cluster->workers.size(), 2U);
  EXPECT_GT(file->cluster->gradient_bytes, 0U);
  // Halves: 2 and 2.25 seconds, then 2 and 1.
  EXPECT_DOUBLE_EQ(file->wait_for_all_seconds, 2.25 + 2);
  EXPECT_FALSE(file->assumed.empty());
}

TEST_F(ReplayFileTest, RunsNeedTheirCluster) {
  const auto file = Open(std::string(kRunTraceColumns) + "\n5,0,10,0.1,1000,0.5\n6,1,20,0.1,,\n");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_FALSE(file->cluster);
  EXPECT_EQ(file->times->steps(), 2U);
  EXPECT_DOUBLE_EQ(file->times->Compute(0, 0)(30), 0.3);
  EXPECT_DOUBLE_EQ(file->times->BytesPerSecond(0, 0), 2000);
  EXPECT_EQ(file->times->Compute(1, 0), nullptr);
}

TEST_F(ReplayFileTest, OtherFilesAreRefused) {
  EXPECT_THAT(Open("a,b\n1,2\n").status().ToString(), HasSubstr("must name the columns"));
  EXPECT_THAT(Open("").status().ToString(), HasSubstr("must name the columns"));
  EXPECT_THAT(Open("load,round,worker,seconds\n0,0,0,x\n").status().ToString(),
              HasSubstr(path_.string() + ":2"));
  EXPECT_EQ(OpenReplayFile("/no/such/file", 1).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley
