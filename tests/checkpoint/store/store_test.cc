// SPDX-License-Identifier: Apache-2.0
// The contract of every Store, on files and in the simulator.
#include "checkpoint/store/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "checkpoint/store/file_store.h"
#include "sim/world/sim_store.h"

namespace motley {
namespace {

class StoreTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      store_ = std::make_unique<SimStore>(1);
      return;
    }
    folder_ = testing::TempDir() + "motley-store-" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    auto store = OpenFileStore(folder_ + "/a/b", MissingFolder::kCreate);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
  }
  void TearDown() override {
    store_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  Status Write(const std::string& path, const std::string& text) {
    MOTLEY_ASSIGN_OR_RETURN(const auto file, store_->Create(path));
    for (const char c : text) MOTLEY_RETURN_IF_ERROR(file->Append(AsBytes(std::string(1, c))));
    return file->Sync();
  }
  std::string Read(const std::string& path, uint64_t offset = 0, size_t room = 100) {
    std::string text(room, '\0');
    const auto got = store_->Read(path, offset, std::as_writable_bytes(std::span(text)));
    return got.ok() ? text.substr(0, *got) : "error: " + got.status().ToString();
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, FilesAreWrittenReadAndMeasured) {
  ASSERT_TRUE(Write("one", "hello").ok());
  EXPECT_EQ(Read("one"), "hello");
  EXPECT_EQ(Read("one", 1, 3), "ell");
  EXPECT_EQ(Read("one", 4), "o");
  EXPECT_EQ(Read("one", 99), "");
  EXPECT_EQ(store_->List("")->front().size_bytes, 5u);
}

TEST_P(StoreTest, ANameIsTakenOnce) {
  ASSERT_TRUE(Write("one", "a").ok());
  EXPECT_EQ(store_->Create("one").code(), StatusCode::kConflict);
  EXPECT_EQ(Read("one"), "a");
}

TEST_P(StoreTest, RenamesReplace) {
  ASSERT_TRUE(store_->MakeFolder("f").ok());
  ASSERT_TRUE(Write("f/old", "old").ok());
  ASSERT_TRUE(Write("f/new", "new").ok());
  ASSERT_TRUE(store_->Rename("f/new", "f/old").ok());
  ASSERT_TRUE(store_->SyncFolder("f").ok());
  EXPECT_EQ(Read("f/old"), "new");
  EXPECT_EQ(store_->List("f")->size(), 1u);
  EXPECT_EQ(store_->Rename("f/none", "f/old").code(), StatusCode::kNotFound);
}

TEST_P(StoreTest, FoldersAreMadeWithTheirParentsAndListed) {
  ASSERT_TRUE(store_->MakeFolder("x/y").ok());
  ASSERT_TRUE(store_->MakeFolder("x/y").ok());
  ASSERT_TRUE(Write("x/b", "12").ok());
  ASSERT_TRUE(Write("x/a", "1").ok());
  const auto entries = store_->List("x");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].size_bytes, 1u);
  EXPECT_EQ((*entries)[1].name, "b");
  EXPECT_EQ((*entries)[2].name, "y");
  EXPECT_TRUE((*entries)[2].is_folder);
  EXPECT_FALSE((*entries)[1].is_folder);
  EXPECT_EQ(store_->List("z").code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->SyncFolder("z").code(), StatusCode::kNotFound);
}

TEST_P(StoreTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(store_->Create("no/file").code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->Remove("none").code(), StatusCode::kNotFound);
  EXPECT_TRUE(Read("none").starts_with("error")) << Read("none");
}

TEST_P(StoreTest, PathsStayInside) {
  for (const char* path : {"/etc/passwd", "../up", "a/../../b", "./a", "a//b", "a/"}) {
    EXPECT_EQ(store_->Create(path).code(), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(store_->Remove(path).code(), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(store_->MakeFolder(path).code(), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(store_->Rename(path, "a").code(), StatusCode::kInvalidArgument) << path;
  }
}

TEST_P(StoreTest, RemovedFilesAreGone) {
  ASSERT_TRUE(Write("one", "a").ok());
  ASSERT_TRUE(store_->Remove("one").ok());
  EXPECT_TRUE(Read("one").starts_with("error")) << Read("one");
  ASSERT_TRUE(Write("one", "b").ok());
  EXPECT_EQ(Read("one"), "b");
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, testing::Bool(), [](const auto& kind) {
  return kind.param ? std::string("Files") : std::string("Simulated");
});

TEST(FileStore, SaysWhatIsNoFolder) {
  EXPECT_EQ(OpenFileStore("/proc/version", MissingFolder::kRefuse).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenFileStore("/proc/version/x", MissingFolder::kCreate).ok(), false);
  const auto missing = OpenFileStore(testing::TempDir() + "motley-none", MissingFolder::kRefuse);
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("motley-none"), std::string::npos);
}

TEST(SimStore, KeepsWhatWasSyncedAndOnlyThenSurely) {
  int lost_names = 0;
  int kept_names = 0;
  int torn = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimStore store(seed);
    ASSERT_TRUE(store.MakeFolder("f").ok());
    ASSERT_TRUE(store.SyncFolder("").ok());
    const Bytes old_bytes(2000, std::byte{1});
    const Bytes new_bytes(2000, std::byte{2});
    auto file = store.Create("f/synced");
    ASSERT_TRUE((*file)->Append(old_bytes).ok());
    ASSERT_TRUE((*file)->Sync().ok());
    ASSERT_TRUE(store.SyncFolder("f").ok());
    ASSERT_TRUE((*file)->Append(new_bytes).ok());
    ASSERT_TRUE(store.Rename("f/synced", "f/renamed").ok());
    store.PowerOn();
    EXPECT_FALSE((*file)->Append(new_bytes).ok());  // The file was opened before the power cut.
    for (const std::string& path : store.Files()) {
      Bytes bytes(4000);
      bytes.resize(*store.Read(path, 0, bytes));
      ASSERT_GE(bytes.size(), 2000u);
      ASSERT_TRUE(std::equal(old_bytes.begin(), old_bytes.end(), bytes.begin()));
      torn += bytes.size() > 2000 && bytes.size() < 4000 ? 1 : 0;
      (path == "f/renamed" ? kept_names : lost_names) += 1;
    }
  }
  EXPECT_GT(lost_names, 20);
  EXPECT_GT(kept_names, 20);
  EXPECT_GT(torn, 20);
}

}  // namespace
}  // namespace motley
