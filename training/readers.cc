// SPDX-License-Identifier: Apache-2.0
#include "training/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "training/csv_format.h"
#include "training/file_io.h"
#include "training/idx_format.h"
#include "training/labels.h"
#include "training/libsvm_format.h"
#include "training/text_scan.h"

namespace motley {
namespace {

// In the order of asking. CSV takes any text, so it is last.
const FileFormat* const kFormats[] = {&kIdxFormat, &kLibsvmFormat, &kCsvFormat};

Result<RawSamples> ParseFile(const std::string& path, const ReadOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  if (content.empty()) return Status::DataError(path + ": the file is empty");
  for (const FileFormat* format : kFormats) {
    if (!format->sniff(content)) continue;
    if (!options.label.empty() && format != &kCsvFormat) {
      return Status::InvalidArgument(
          fmt::format("{} is {}, which has no columns to choose the label from: leave --label out",
                      path, format->name));
    }
    MOTLEY_ASSIGN_OR_RETURN(RawSamples samples, format->parse(content, path, options));
    if (samples.rows() == 0) return Status::DataError(path + ": holds no samples");
    if (samples.features == 0) return Status::DataError(path + ": its samples have no features");
    if (samples.rows() > kMaxRows) {
      return Status::DataError(
          fmt::format("{}: {} samples; the limit is {}", path, samples.rows(), kMaxRows));
    }
    return samples;
  }
  return Status::DataError(path + ": is neither IDX, LIBSVM nor CSV (each may be gzipped)");
}

// The images of one part of a folder in MNIST's layout; empty when they are not there.
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

struct Paths {
  std::string train;
  std::string test;  // Empty: none.
};

Result<Paths> FindPaths(const std::string& spec) {
  constexpr std::string_view kTest = ":test=";
  const size_t at = spec.rfind(kTest);
  Paths paths{.train = spec.substr(0, at)};
  if (at != std::string::npos) paths.test = spec.substr(at + kTest.size());
  if (paths.train.empty() || (at != std::string::npos && paths.test.empty())) {
    return Status::InvalidArgument(
        fmt::format("'{}' names no file; write PATH or PATH:test=FILE", spec));
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(paths.train, ignored)) return paths;
  const std::string folder = paths.train;
  const std::string train = ImagesIn(folder, "train");
  const std::string test = ImagesIn(folder, "t10k");
  if (train.empty() && test.empty()) {
    return Status::NotFound(folder +
                            ": the folder has neither train-images-idx3-ubyte nor "
                            "t10k-images-idx3-ubyte (each may end in .gz)");
  }
  // The test part alone is still a data set: then it is to be split.
  paths.train = train.empty() ? test : train;
  if (paths.test.empty() && !train.empty()) paths.test = test;
  return paths;
}

// Makes both have the same features; LIBSVM files only show the largest index that occurs.
Status MatchFeatures(RawSamples& train, RawSamples& test) {
  if (train.sparse != test.sparse) {
    const auto kind = [](const RawSamples& samples) { return samples.sparse ? "LIBSVM" : "dense"; };
    return Status::DataError(fmt::format("{} is {} but {} is {}; both must be of one kind",
                                         train.path, kind(train), test.path, kind(test)));
  }
  if (train.sparse) {
    train.features = test.features = std::max(train.features, test.features);
  } else if (train.features != test.features) {
    return Status::DataError(fmt::format("{} has {} features but {} has {}", train.path,
                                         train.features, test.path, test.features));
  }
  const bool both_named = !train.names.empty() && !test.names.empty();
  for (size_t i = 0; both_named && i < train.names.size(); ++i) {
    if (train.names[i] == test.names[i]) continue;
    return Status::DataError(fmt::format("feature {} is {} in {} but {} in {}", i,
                                         Quoted(train.names[i]), train.path, Quoted(test.names[i]),
                                         test.path));
  }
  return Status::Ok();
}

Result<TrainingData> Combine(RawSamples train, std::optional<RawSamples> test, bool regression) {
  if (test.has_value()) MOTLEY_RETURN_IF_ERROR(MatchFeatures(train, *test));
  TrainingData data;
  if (!regression) {
    MOTLEY_ASSIGN_OR_RETURN(data.class_labels,
                            FindClasses(train, test.has_value() ? &*test : nullptr));
  }
  MOTLEY_ASSIGN_OR_RETURN(data.train, ToDataset(std::move(train), data.class_labels));
  if (test.has_value()) {
    MOTLEY_ASSIGN_OR_RETURN(data.test, ToDataset(*std::move(test), data.class_labels));
  }
  return data;
}

// Samples for a model of `features`: fewer are fine where absent means 0.
Status FitFeatures(RawSamples& samples, uint32_t features) {
  if (!samples.sparse && samples.features != features) {
    return Status::DataError(fmt::format("{}: has {} features but the model has {}", samples.path,
                                         samples.features, features));
  }
  for (size_t row = 0; samples.sparse && row < samples.rows(); ++row) {
    const uint64_t end = samples.row_begin[row + 1];
    // Ascending: the last entry has the largest index.
    if (end > samples.row_begin[row] && samples.column[end - 1] >= features) {
      return Status::DataError(fmt::format("{}: index {} but the model has {} features",
                                           Place(samples, row), samples.column[end - 1] + 1,
                                           features));
    }
  }
  samples.features = features;
  return Status::Ok();
}

}  // namespace

Result<TrainingData> ReadTrainingData(const std::string& spec, const ReadOptions& options) {
  return WithinMemory(spec, [&]() -> Result<TrainingData> {
    MOTLEY_ASSIGN_OR_RETURN(const Paths paths, FindPaths(spec));
    MOTLEY_ASSIGN_OR_RETURN(RawSamples train, ParseFile(paths.train, options));
    std::optional<RawSamples> test;
    if (!paths.test.empty()) {
      MOTLEY_ASSIGN_OR_RETURN(test, ParseFile(paths.test, options));
    }
    return Combine(std::move(train), std::move(test), options.regression);
  });
}

Result<Dataset> ReadLabelled(const std::string& path, const ReadOptions& options,
                             const std::vector<double>& class_labels, uint32_t features) {
  return WithinMemory(path, [&]() -> Result<Dataset> {
    MOTLEY_ASSIGN_OR_RETURN(RawSamples samples, ParseFile(path, options));
    MOTLEY_RETURN_IF_ERROR(FitFeatures(samples, features));
    return ToDataset(std::move(samples), class_labels);
  });
}

}  // namespace motley
