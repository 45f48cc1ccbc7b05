// SPDX-License-Identifier: Apache-2.0
// Checks the system calls of the file store by replacing them.
#include "checkpoint/store/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "checkpoint/shard_format.h"
#include "tests/checkpoint/checkpoint_rig.h"

namespace {

std::vector<std::string>* g_calls = nullptr;

void Record(const char* what, int fd) {
  if (g_calls == nullptr) return;
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  g_calls->push_back(std::string(what) + " " + link.string());
}

}  // namespace

// These functions replace those of the C library.
extern "C" int fsync(int fd) {
  Record("fsync", fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int posix_fadvise(int fd, off_t offset, off_t size, int advice) {
  if (advice == POSIX_FADV_DONTNEED) Record("forget", fd);
  return syscall(SYS_fadvise64, fd, offset, size, advice) == 0 ? 0 : errno;
}

namespace motley {
namespace {

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    folder_ = std::filesystem::canonical(folder_).string();
    g_calls = &calls_;
  }
  void TearDown() override {
    g_calls = nullptr;
    std::filesystem::remove_all(folder_);
  }
  bool Recorded(const std::string& call) const {
    return std::find(calls_.begin(), calls_.end(), call) != calls_.end();
  }

  std::string folder_ = testing::TempDir() + "motley-file-store-" + std::to_string(getpid());
  std::vector<std::string> calls_;
};

TEST_F(FileStoreTest, AFolderThatMayNotBeReachedIsNoOtherThing) {
  const auto store = OpenFileStore(folder_, MissingFolder::kRefuse);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->MakeFolder("inner/node-00").ok());
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;
  ASSERT_EQ(chmod((folder_ + "/inner").c_str(), 0), 0);
  if (is_root) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const Status status = (*store)->MakeFolder("inner/node-00");
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_EQ(chmod((folder_ + "/inner").c_str(), 0755), 0);
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status.ToString();
  EXPECT_EQ((*store)->MakeFolder("inner/node-00").code(), StatusCode::kOk);
}

TEST_F(FileStoreTest, NamesOfNewFoldersAreSyncedUpToTheFirstThatWasThere) {
  for (const std::string name : {"/a/b/c", "/x/y/z/"}) {
    calls_.clear();
    ASSERT_TRUE(OpenFileStore(folder_ + name, MissingFolder::kCreate).ok());
    EXPECT_EQ(calls_,
              (std::vector<std::string>{"fsync " + folder_, "fsync " + folder_ + name.substr(0, 2),
                                        "fsync " + folder_ + name.substr(0, 4)}));
  }
  calls_.clear();
  ASSERT_TRUE(OpenFileStore(folder_ + "/a/b", MissingFolder::kCreate).ok());
  EXPECT_TRUE(calls_.empty());
}

TEST_F(FileStoreTest, NamesOfFoldersInsideAreSyncedToo) {
  const auto store = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  ASSERT_TRUE(store->MakeFolder("n/m").ok());
  EXPECT_TRUE(Recorded("fsync " + folder_));
  EXPECT_TRUE(Recorded("fsync " + folder_ + "/n"));
}

TEST_F(FileStoreTest, WhatWasSyncedIsForgottenBeforeItIsReadBack) {
  const auto store = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  const auto file = std::move(*store->Create("one"));
  ASSERT_TRUE(file->Append(AsBytes(std::string("hello"))).ok());
  EXPECT_TRUE(calls_.empty());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(calls_,
            (std::vector<std::string>{"fsync " + folder_ + "/one", "forget " + folder_ + "/one"}));
}

// Reading such a file could block forever.
TEST_F(FileStoreTest, WhatIsNoRegularFileIsNotThere) {
  const auto store = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  ASSERT_EQ(mkfifo((folder_ + "/fifo").c_str(), 0666), 0);
  std::filesystem::create_directory(folder_ + "/folder");
  std::filesystem::create_symlink("/dev/zero", folder_ + "/device");
  ASSERT_EQ(mknod((folder_ + "/socket").c_str(), S_IFSOCK | 0666, 0), 0);
  std::array<std::byte, 4> room{};
  for (const std::string name : {"fifo", "folder", "device", "socket"}) {
    const Status status = store->Read(name, 0, room).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << name;
    EXPECT_NE(status.ToString().find(folder_ + "/" + name + " is not a regular file"),
              std::string::npos)
        << status.ToString();
  }
  std::ofstream(folder_ + "/file") << "text";
  std::filesystem::create_symlink("file", folder_ + "/link");
  EXPECT_EQ(*store->Read("link", 0, room), 4u);
}

TEST_F(FileStoreTest, AFifoInAShardsPlaceIsALostShard) {
  const auto store = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  const CheckpointState state = MakeState(20, 300);
  ASSERT_TRUE(WriteCheckpoint(*store, {}, state).ok());
  const std::string path = folder_ + "/" + ShardPath(1, 20);
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  const auto read = ReadCheckpoint(*store);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(Same(*read, state));
  const auto report = VerifyCheckpoint(*store);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_FALSE(report->healthy());
  EXPECT_NE(report->ToText().find("is not a regular file"), std::string::npos) << report->ToText();
  ASSERT_TRUE(RepairCheckpoint(*store).ok());
  EXPECT_TRUE(VerifyCheckpoint(*store)->healthy());
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(FileStoreTest, OneWriterAtATime) {
  auto one = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  const auto two = std::move(*OpenFileStore(folder_, MissingFolder::kRefuse));
  ASSERT_TRUE(one->Lock().ok());
  ASSERT_TRUE(one->Lock().ok());
  const Status status = two->Lock();
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_NE(status.ToString().find("another program is writing into " + folder_), std::string::npos)
      << status.ToString();
  EXPECT_TRUE(two->List("").ok());
  one.reset();
  EXPECT_TRUE(two->Lock().ok());
}

}  // namespace
}  // namespace motley
