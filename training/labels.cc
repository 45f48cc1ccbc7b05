// SPDX-License-Identifier: Apache-2.0
#include "training/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace motley {
namespace {

constexpr const char* kRegressionHint = "if the labels are quantities, use --model linear";

Status AddClasses(const RawSamples& samples, std::set<double>& classes) {
  for (size_t row = 0; row < samples.rows(); ++row) {
    const double label = samples.label[row];
    if (label != std::floor(label)) {
      return Status::DataError(fmt::format("{}: the label {} is not a whole number; {}",
                                           Place(samples, row), label, kRegressionHint));
    }
    classes.insert(label);
    if (classes.size() > kMaxClasses) {
      return Status::DataError(fmt::format("{}: more than {} different labels; {}",
                                           Place(samples, row), kMaxClasses, kRegressionHint));
    }
  }
  return Status::Ok();
}

}  // namespace

std::string Place(const RawSamples& samples, size_t row) {
  if (row < samples.line.size()) return fmt::format("{}:{}", samples.path, samples.line[row]);
  return fmt::format("{}: sample {}", samples.path, row);
}

Result<std::vector<double>> FindClasses(const RawSamples& train, const RawSamples* test) {
  std::set<double> classes;
  MOTLEY_RETURN_IF_ERROR(AddClasses(train, classes));
  if (test != nullptr) MOTLEY_RETURN_IF_ERROR(AddClasses(*test, classes));
  if (classes.size() == 1) {
    return Status::DataError(
        fmt::format("{}: every label is {}; a classifier needs at least two classes", train.path,
                    *classes.begin()));
  }
  return std::vector<double>(classes.begin(), classes.end());
}

Result<Dataset> ToDataset(RawSamples samples, const std::vector<double>& class_labels) {
  Dataset data;
  data.features = samples.features;
  data.classes = static_cast<uint32_t>(class_labels.size());
  data.sparse = samples.sparse;
  data.label.reserve(samples.rows());
  for (size_t row = 0; row < samples.rows(); ++row) {
    const double label = samples.label[row];
    if (class_labels.empty()) {
      data.label.push_back(static_cast<float>(label));
      continue;
    }
    const auto found = std::lower_bound(class_labels.begin(), class_labels.end(), label);
    if (found == class_labels.end() || *found != label) {
      return Status::DataError(fmt::format("{}: the label {} is not one of the model's {} classes",
                                           Place(samples, row), label, class_labels.size()));
    }
    data.label.push_back(static_cast<float>(found - class_labels.begin()));
  }
  data.dense = std::move(samples.dense);
  data.row_begin = std::move(samples.row_begin);
  data.column = std::move(samples.column);
  data.value = std::move(samples.value);
  return data;
}

}  // namespace motley
