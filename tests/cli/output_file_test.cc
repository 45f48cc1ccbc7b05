// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/exit_code.h"

namespace motley {
namespace {

TEST(OutputFile, MissingFolderIsFoundBeforeTheWork) {
  EXPECT_TRUE(CheckWritable("--out", "").ok());
  EXPECT_TRUE(CheckWritable("--out", testing::TempDir() + "/model").ok());
  EXPECT_EQ(CheckWritable("--out", testing::TempDir() + "/no/such/model").code(),
            StatusCode::kNotFound);
  EXPECT_EQ(CheckWritable("--out", testing::TempDir()).code(), StatusCode::kInvalidArgument);
}

TEST(OutputFile, WritesWhatItIsGiven) {
  const std::string path = testing::TempDir() + "/motley_output_file_test";
  ASSERT_TRUE(WriteFile(path, "text\n").ok());
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  EXPECT_EQ(read.str(), "text\n");
  std::filesystem::remove(path);
}

TEST(OutputFile, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(WriteFile("/dev/full", "text\n").code(), StatusCode::kResource);
}

TEST(ExitCode, FollowsTheStatus) {
  EXPECT_EQ(ExitCodeOf(Status::Ok()), 0);
  EXPECT_EQ(ExitCodeOf(Status::DataError("")), 1);
  EXPECT_EQ(ExitCodeOf(Status::Internal("")), 1);
  EXPECT_EQ(ExitCodeOf(Status::InvalidArgument("")), 2);
  EXPECT_EQ(ExitCodeOf(Status::NotFound("")), 3);
  EXPECT_EQ(ExitCodeOf(Status::Unavailable("")), 4);
  EXPECT_EQ(ExitCodeOf(Status::Permission("")), 5);
  EXPECT_EQ(ExitCodeOf(Status::Conflict("")), 6);
}

}  // namespace
}  // namespace motley
