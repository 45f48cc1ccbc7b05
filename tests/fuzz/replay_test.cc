// SPDX-License-Identifier: Apache-2.0
// Replays every input in corpus/ and some hundred damaged copies of each, so that past findings are
// tested without a fuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/random.h"
#include "test_paths.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {
namespace {

std::vector<std::string> Corpus(const std::string& name) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path folder =
      std::filesystem::path(MOTLEY_SOURCE_DIR) / "tests/fuzz/corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Replay : public ::testing::TestWithParam<Target> {};

TEST_P(Replay, EveryInputAndDamagedCopiesOfItEndWell) {
  constexpr int kCopies = 300;
  const auto corpus = Corpus(GetParam().name);
  ASSERT_FALSE(corpus.empty());
  Random random(1, Stream::kTest);
  GetParam().run({});
  for (const std::string& input : corpus) {
    GetParam().run(input);
    for (int i = 0; i < kCopies; ++i) GetParam().run(Damaged(input, random));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Replay, ::testing::ValuesIn(Targets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace motley::fuzz
