// SPDX-License-Identifier: Apache-2.0
#include "data/files/data_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/files/file_io.h"

namespace motley {
namespace {

// The image file of one part of a folder in MNIST's layout; empty if there is none.
std::string ImagesIn(const std::string& folder, const std::string& part) {
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      const auto path = std::filesystem::path(folder) /
                        fmt::format("{}-images{}idx3-ubyte{}", part, separator, ending);
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return path.string();
    }
  }
  return {};
}

// Moves the text after the last `mark` from the end of `text` to `into`. Returns false if nothing
// follows the mark.
bool TakeOff(std::string& text, std::string_view mark, std::string& into) {
  const size_t at = text.rfind(mark);
  if (at == std::string::npos) return true;
  into = text.substr(at + mark.size());
  text.resize(at);
  return !into.empty();
}

}  // namespace

Result<DataSpec> ParseDataSpec(const std::string& spec) {
  DataSpec files{.path = spec};
  const bool good = TakeOff(files.path, ":test=", files.test) &&
                    TakeOff(files.test, ":labels=", files.test_labels) &&
                    TakeOff(files.path, ":labels=", files.labels);
  if (files.path.find(":label=") != std::string::npos ||
      files.test.find(":label=") != std::string::npos) {
    return Status::InvalidArgument(fmt::format(
        "'{}': name the file with the array's labels after :labels=, as in X.npy:labels=Y.npy",
        spec));
  }
  const bool named = !files.path.empty() && (files.test_labels.empty() || !files.test.empty());
  if (good && named) return files;
  return Status::InvalidArgument(
      fmt::format("'{}' names no file; use PATH or PATH:test=FILE, and for arrays "
                  "X.npy:labels=Y.npy or X.npy:labels=Y.npy:test=X2.npy:labels=Y2.npy",
                  spec));
}

Result<DataSpec> FindFiles(const std::string& spec) {
  MOTLEY_ASSIGN_OR_RETURN(DataSpec files, ParseDataSpec(spec));
  std::error_code ignored;
  if (!std::filesystem::is_directory(files.path, ignored)) return files;
  const std::string folder = files.path;
  const std::string train = ImagesIn(folder, "train");
  const std::string test = ImagesIn(folder, "t10k");
  if (train.empty() && test.empty()) {
    return Status::NotFound(folder +
                            ": the folder has neither train-images-idx3-ubyte nor "
                            "t10k-images-idx3-ubyte (each may end in .gz)");
  }
  // A folder with the test part alone is one data set, which is then split.
  files.path = train.empty() ? test : train;
  if (files.test.empty() && !train.empty()) files.test = test;
  return files;
}

}  // namespace motley
