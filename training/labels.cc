// SPDX-License-Identifier: Apache-2.0
#include "training/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr const char* kRegressionHint = "if the labels are quantities, use `model` linear";

}  // namespace

std::string Place(const RawSamples& samples, size_t row) {
  if (row < samples.line.size()) return fmt::format("{}:{}", samples.path, samples.line[row]);
  return fmt::format("{}: sample {}", samples.path, samples.first + row);
}

Result<float> LabelCoder::CodeOf(double label) {
  if (kind_ == Kind::kRegression) return static_cast<float>(label);
  if (kind_ == Kind::kKnown) {
    const auto found = std::lower_bound(classes_.begin(), classes_.end(), label);
    if (found != classes_.end() && *found == label) {
      return static_cast<float>(found - classes_.begin());
    }
    return Status::DataError(
        fmt::format("the label {} is not one of the model's {} classes", label, classes_.size()));
  }
  const auto found = seen_.find(label);
  if (found != seen_.end()) return found->second;
  if (label != std::floor(label)) {
    return Status::DataError(
        fmt::format("the label {} is not a whole number; {}", label, kRegressionHint));
  }
  if (seen_.size() == kMaxClasses) {
    return Status::DataError(
        fmt::format("more than {} different labels; {}", kMaxClasses, kRegressionHint));
  }
  const auto code = static_cast<float>(seen_.size());
  seen_[label] = code;
  return code;
}

Result<std::vector<float>> LabelCoder::Code(const RawSamples& block) {
  std::vector<float> codes;
  codes.reserve(block.rows());
  for (size_t row = 0; row < block.rows(); ++row) {
    const Result<float> code = CodeOf(block.label[row]);
    if (!code.ok()) {
      return Status(code.code(), fmt::format("{}: {}", Place(block, row), code.status().message()));
    }
    codes.push_back(*code);
  }
  return codes;
}

Result<std::vector<double>> LabelCoder::Finish(const std::string& path,
                                               std::vector<float>& index) const {
  index.clear();
  if (kind_ != Kind::kDiscover) return classes_;
  if (seen_.size() == 1) {
    return Status::DataError(
        fmt::format("{}: every label is {}; a classifier needs at least two classes", path,
                    seen_.begin()->first));
  }
  std::vector<double> classes;
  index.resize(seen_.size());
  for (const auto& [label, code] : seen_) {
    index[static_cast<size_t>(code)] = static_cast<float>(classes.size());
    classes.push_back(label);
  }
  return classes;
}

}  // namespace motley
