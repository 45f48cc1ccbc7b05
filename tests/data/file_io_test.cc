// SPDX-License-Identifier: Apache-2.0
#include "data/files/file_io.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace motley {
namespace {

namespace fs = std::filesystem;

class FileIo : public testing::Test {
 protected:
  FileIo() {
    std::string name = testing::TempDir() + "/motley_file_io_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FileIo() override { fs::remove_all(folder_); }

  std::string In(const std::string& name) const { return (folder_ / name).string(); }
  static Status Write(const std::string& path, std::string_view text) {
    const BytesView piece = std::as_bytes(std::span(text));
    return WriteFileAtomically(path, {&piece, 1});
  }
  // Number of entries in the folder, including temporary files left behind.
  int64_t Entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(FileIo, ReplacesTheFileThatALinkLeadsTo) {
  fs::create_directory(In("models"));
  std::ofstream(In("models/first")) << "old";
  fs::create_symlink("models/first", In("near"));
  fs::create_symlink(In("near"), In("far"));
  ASSERT_TRUE(CheckReplaceable(In("far")).ok());
  ASSERT_TRUE(Write(In("far"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(In("far")));
  EXPECT_TRUE(fs::is_symlink(In("near")));
  EXPECT_EQ(*ReadRawFile(In("models/first")), "new");
  EXPECT_EQ(Entries(), 3);
}

TEST_F(FileIo, CreatesTheFileThatALinkPromises) {
  fs::create_symlink("later", In("link"));
  ASSERT_TRUE(Write(In("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(In("link")));
  EXPECT_EQ(*ReadRawFile(In("later")), "new");
}

TEST_F(FileIo, LeavesAPipeAPipeAlsoBehindALink) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", In("link"));
  for (const char* name : {"pipe", "link"}) {
    EXPECT_EQ(CheckReplaceable(In(name)).code(), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(Write(In(name), "new").code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_TRUE(fs::is_fifo(In("pipe")));
  EXPECT_TRUE(fs::is_symlink(In("link")));
  EXPECT_EQ(Entries(), 2);
}

TEST_F(FileIo, LinksThatGoRoundAreRefused) {
  fs::create_symlink("b", In("a"));
  fs::create_symlink("a", In("b"));
  EXPECT_EQ(Write(In("a"), "new").code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::is_symlink(In("a")));
}

TEST_F(FileIo, WhatReplacesAFileHasItsPermissions) {
  const auto mode = [&](const std::string& path) {
    struct stat info {};
    stat(path.c_str(), &info);
    return info.st_mode & 0777;
  };
  std::ofstream(In("mine")) << "old";
  for (const mode_t wanted : {0600, 0640, 0444, 0666}) {
    ASSERT_EQ(chmod(In("mine").c_str(), wanted), 0);
    ASSERT_TRUE(Write(In("mine"), "new").ok());
    EXPECT_EQ(mode(In("mine")), wanted);
  }
  const mode_t before = umask(027);
  ASSERT_TRUE(Write(In("fresh"), "new").ok());
  umask(before);
  EXPECT_EQ(mode(In("fresh")), mode_t{0640}) << "a new file's follow the umask";
}

TEST_F(FileIo, ThreadsThatWriteOneFileDoNotDisturbEachOther) {
  const std::string path = In("model");
  std::vector<Status> wrong(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string text(100000, static_cast<char>('a' + i));
      for (int times = 0; times < 20; ++times) {
        if (Status status = Write(path, text); !status.ok()) wrong[i] = status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : wrong) EXPECT_TRUE(status.ok()) << status.ToString();
  const std::string left = *ReadRawFile(path);
  EXPECT_EQ(left, std::string(100000, left[0]));
  EXPECT_EQ(Entries(), 1);
}

TEST_F(FileIo, CheckingLeavesNothingBehindAndTouchesNothing) {
  EXPECT_TRUE(CheckReplaceable(In("new")).ok());
  EXPECT_EQ(Entries(), 0);
  std::ofstream(In("kept")) << "old";
  EXPECT_TRUE(CheckReplaceable(In("kept")).ok());
  EXPECT_EQ(*ReadRawFile(In("kept")), "old");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(FileIo, NamesThatCannotBeAreFoundByTheCheck) {
  EXPECT_EQ(CheckReplaceable(In(std::string(300, 'x'))).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckReplaceable(In(std::string(255, 'x'))).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckReplaceable(In("no/model")).code(), StatusCode::kNotFound);
  EXPECT_EQ(CheckReplaceable(folder_.string()).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
