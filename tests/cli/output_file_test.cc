// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/output_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/terminal/exit_code.h"

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

TEST(OutputFile, APipeIsNotReplaced) {
  std::string name = testing::TempDir() + "/motley_output_file_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(CheckReplaced("--out", pipe).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckWritable("--trace", pipe).ok());
  EXPECT_TRUE(CheckReplaced("--out", folder / "model").ok());
  EXPECT_EQ(CheckReplaced("--out", folder / std::string(300, 'x')).code(),
            StatusCode::kInvalidArgument);
  std::filesystem::remove_all(folder);
}

TEST(OutputFile, OverwritesNeitherDataNorAnotherOutput) {
  std::string name = testing::TempDir() + "/motley_output_file_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  for (const char* file : {"data", "other", "train-images-idx3-ubyte"}) {
    std::ofstream(folder / file) << "1,2\n";
  }
  std::filesystem::create_symlink("data", folder / "link");
  std::filesystem::create_hard_link(folder / "data", folder / "hard");
  const auto apart = [&](const char* path, const std::string& data) {
    return CheckApartFromData("--out", folder / path, data).code();
  };
  const std::string data = folder / "data";
  for (const char* path : {"data", "link", "hard", "./data"}) {
    EXPECT_EQ(apart(path, data), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(apart(path, (folder / "other:test=").string() + data), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(apart("other", data), StatusCode::kOk);
  EXPECT_EQ(apart("new", data), StatusCode::kOk);
  EXPECT_EQ(apart("new", folder), StatusCode::kOk);
  EXPECT_EQ(apart("other", folder), StatusCode::kOk);
  EXPECT_EQ(apart("train-images-idx3-ubyte", folder), StatusCode::kInvalidArgument);
  std::filesystem::create_symlink("new", folder / "later");
  EXPECT_EQ(CheckApart("--out", folder / "later", "--trace", folder / "new").code(),
            StatusCode::kInvalidArgument);
  std::filesystem::remove_all(folder);
}

TEST(OutputFile, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(WriteFile("/dev/full", "text\n").code(), StatusCode::kResource);
}

TEST(ExitCode, FollowsTheStatus) {
  EXPECT_EQ(ExitCodeOf(MOTLEY_OK), 0);
  EXPECT_EQ(ExitCodeOf(MOTLEY_DATA_ERROR), 1);
  EXPECT_EQ(ExitCodeOf(MOTLEY_INTERNAL), 1);
  EXPECT_EQ(ExitCodeOf(MOTLEY_INVALID_ARGUMENT), 2);
  EXPECT_EQ(ExitCodeOf(MOTLEY_NOT_FOUND), 3);
  EXPECT_EQ(ExitCodeOf(MOTLEY_UNAVAILABLE), 4);
  EXPECT_EQ(ExitCodeOf(MOTLEY_PERMISSION), 5);
  EXPECT_EQ(ExitCodeOf(MOTLEY_CONFLICT), 6);
}

}  // namespace
}  // namespace motley
