// SPDX-License-Identifier: Apache-2.0
// Synthetic data sets, a device, and files that are removed after the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "data/dataset.h"
#include "devices/paced_device.h"
#include "training/models/model.h"

namespace motley {

// A device that computes at once on the test's thread.
struct TestRig {
  TestRig() {
    auto made = MakeInlineDevice(loop);
    MOTLEY_ASSERT(made.ok());
    device = *std::move(made);
  }
  VirtualLoop loop;
  std::unique_ptr<Device> device;
};

inline std::vector<uint32_t> Iota(size_t begin, size_t end) {
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  return rows;
}

// Samples with labels that depend on the features, so that training can learn something. About a
// third of sparse values are present.
inline Dataset MakeSamples(uint32_t features, uint32_t classes, bool sparse, size_t rows,
                           uint64_t seed) {
  Dataset data;
  data.features = features;
  data.classes = classes;
  data.sparse = sparse;
  Random random(seed, Stream::kTest);
  for (size_t row = 0; row < rows; ++row) {
    double score = 0;
    for (uint32_t column = 0; column < features; ++column) {
      const double normal = random.Normal();
      if (sparse && !random.Chance(0.3)) continue;
      const auto value = static_cast<float>(normal);
      score += value * std::cos(1.7 * column);
      (sparse ? data.value : data.dense).push_back(value);
      if (sparse) data.column.push_back(column);
    }
    if (sparse) data.row_begin.push_back(data.column.size());
    const double noisy = score + 0.1 * random.Normal();
    const double share = 0.5 + std::atan(noisy) / 3.15;
    data.label.push_back(static_cast<float>(classes == 0 ? noisy : std::floor(share * classes)));
  }
  return data;
}

inline std::unique_ptr<Model> MakeModel(const ModelSpec& spec) {
  auto model = Model::Create(spec);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return *std::move(model);
}

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "motley-XXXXXX").string();
    MOTLEY_ASSERT(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  std::string Write(const std::string& name, const std::string& content) const {
    // Some file systems flush a file that is overwritten, which is slow.
    std::filesystem::remove(Path(name));
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace motley
