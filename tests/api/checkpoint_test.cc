// SPDX-License-Identifier: Apache-2.0
// Checkpoints through the C API.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "nlohmann/json.hpp"
#include "tests/api/api_world.h"

namespace motley {
namespace {

using Text = std::unique_ptr<char, void (*)(char*)>;

// File names are bytes, but JSON is text.
TEST(ApiCheckpoint, IsListedAndVerifiedInAFolderWhoseNameIsNoText) {
  const std::string folder = TemporaryPath("caf\xE9");
  std::error_code unwritable;
  std::filesystem::create_directory(folder, unwritable);
  if (unwritable) GTEST_SKIP() << "this file system has no such names";
  motley_job_options options = SmallJob();
  options.checkpoint = folder.c_str();
  options.checkpoint_every = 6;
  TestJob(options).RunFine();
  char* json = nullptr;
  ASSERT_EQ(motley_checkpoint_list(folder.c_str(), &json), MOTLEY_OK) << motley_last_error();
  const Text list(json, motley_string_destroy);
  const auto listed = nlohmann::json::parse(json);
  EXPECT_EQ(listed.at(0)["step"], 12);
  const std::string path = listed.at(0)["shards"].at(0)["path"];
  EXPECT_NE(path.find("caf\xEF\xBF\xBD"), std::string::npos) << path;
  ASSERT_EQ(motley_checkpoint_verify(folder.c_str(), MOTLEY_NEWEST, &json), MOTLEY_OK)
      << motley_last_error();
  const Text report(json, motley_string_destroy);
  EXPECT_TRUE(nlohmann::json::parse(json)["healthy"]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace motley
