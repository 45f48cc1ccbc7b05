// SPDX-License-Identifier: Apache-2.0
#include "data/formats/array_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/counted.h"
#include "data/formats/column_major.h"

namespace motley {
namespace {

struct NamePair {
  const char* features;
  const char* labels;
};
constexpr NamePair kTrainNames[] = {{"x_train", "y_train"},
                                    {"X_train", "y_train"},
                                    {"x", "y"},
                                    {"X", "y"},
                                    {"features", "labels"},
                                    {"images", "labels"},
                                    {"train_images", "train_labels"},
                                    {"arr_0", "arr_1"}};
constexpr NamePair kTestNames[] = {
    {"x_test", "y_test"}, {"X_test", "y_test"}, {"test_images", "test_labels"}};

Status Bad(const ArrayInput& array, const std::string& what) {
  return Status::DataError(fmt::format("{}: {}", array.name, what));
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

// Reads `count` elements in steps, because a header may promise more than memory holds.
Status ReadBytes(const ArrayInput& array, uint64_t count, std::string& bytes) {
  constexpr uint64_t kStep = uint64_t{1} << 22;
  const uint64_t wanted = count * array.type.size_bytes;
  bytes.clear();
  while (bytes.size() < wanted) {
    const size_t size = bytes.size();
    bytes.resize(size + static_cast<size_t>(std::min(kStep, wanted - size)));
    MOTLEY_ASSIGN_OR_RETURN(const size_t got,
                            array.stream->Read(std::span<char>(bytes).subspan(size)));
    if (size + got == bytes.size()) continue;
    return Bad(array, fmt::format("is truncated: its shape is {}", ShapeText(array.shape)));
  }
  return Status::Ok();
}

// The shape of one sample.
struct Layout {
  uint64_t rows = 0;
  uint64_t columns = 0;  // Values of a row, with the label if it is in the row.
};

Result<Layout> LayOut(const ArrayInput& array, bool labels_inside) {
  const auto& shape = array.shape;
  if (labels_inside && shape.size() != 2) {
    return Bad(array,
               fmt::format("has shape {} and no labels beside it; give them (PATH.npy:labels="
                           "FILE.npy), or an array of two dimensions whose last column they "
                           "are",
                           ShapeText(shape)));
  }
  if (shape.empty()) return Bad(array, "holds a single number, no samples");
  Layout layout{.rows = shape[0], .columns = 1};
  for (size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] > kMaxFeatures || layout.columns * shape[d] > uint64_t{kMaxFeatures} + 1) {
      return Bad(array, fmt::format("has shape {}: more than {} values per sample",
                                    ShapeText(shape), kMaxFeatures));
    }
    layout.columns *= shape[d];
  }
  if (layout.rows > kMaxRows) {
    return Bad(array, fmt::format("has {} samples; the limit is {}", layout.rows, kMaxRows));
  }
  if (labels_inside && layout.columns < 2) {
    return Bad(array,
               fmt::format("has shape {}: a sample needs features and a label", ShapeText(shape)));
  }
  return layout;
}

// Removes the last value of each row.
void DropLabels(size_t columns, std::vector<float>& values) {
  const size_t rows = values.size() / columns;
  for (size_t row = 0; row < rows; ++row) {
    const auto from = values.begin() + static_cast<ptrdiff_t>(row * columns);
    std::copy(from, from + static_cast<ptrdiff_t>(columns) - 1,
              values.begin() + static_cast<ptrdiff_t>(row * (columns - 1)));
  }
  values.resize(rows * (columns - 1));
}

// Decodes the last element of each row as double, because float would merge large class numbers.
std::optional<BadElement> DecodeLastColumn(const ElementType& type, size_t columns,
                                           std::string_view bytes, std::vector<double>& labels) {
  const size_t row_bytes = columns * type.size_bytes;
  std::string last;
  for (size_t end = row_bytes; end <= bytes.size(); end += row_bytes) {
    last += bytes.substr(end - type.size_bytes, type.size_bytes);
  }
  labels.resize(last.size() / type.size_bytes);
  return DecodeElements(type, last, std::span<double>(labels));
}

}  // namespace

Result<std::vector<double>> ReadLabels(const ArrayInput& array) {
  const auto& shape = array.shape;
  if (shape.size() == 2 && shape[1] > 1) {
    return Bad(array, fmt::format("has shape {}, which looks like one column per class; give one "
                                  "class number per sample, such as numpy.argmax(y, axis=1)",
                                  ShapeText(shape)));
  }
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1)) {
    return Bad(array, fmt::format("has shape {}; labels have shape (samples)", ShapeText(shape)));
  }
  if (shape[0] > kMaxRows) {
    return Bad(array, fmt::format("has {} labels; the limit is {}", shape[0], kMaxRows));
  }
  constexpr uint64_t kBlock = uint64_t{1} << 16;
  std::vector<double> labels;
  std::string bytes;
  while (labels.size() < shape[0]) {
    const size_t begin = labels.size();
    const auto count = static_cast<size_t>(std::min(kBlock, shape[0] - begin));
    MOTLEY_RETURN_IF_ERROR(ReadBytes(array, count, bytes));
    labels.resize(begin + count);
    const auto to = std::span<double>(labels).subspan(begin);
    if (const auto bad = DecodeElements(array.type, bytes, to)) {
      return Bad(array, fmt::format("label {}: {}", begin + bad->index, bad->why));
    }
  }
  return labels;
}

Status ReadSamples(const ArrayInput& array, const std::optional<std::vector<double>>& given,
                   const std::string& path, uint32_t unlabelled, SampleSink& sink) {
  if (array.column_major) {
    MOTLEY_ASSIGN_OR_RETURN(
        const auto rows, RowMajor(*array.stream, array.name, array.shape, array.type.size_bytes));
    ArrayInput row_major = array;
    row_major.stream = rows.get();
    row_major.column_major = false;
    return ReadSamples(row_major, given, path, unlabelled, sink);
  }
  std::optional<std::vector<double>> labels = given;
  if (!labels && unlabelled > 0) {
    const Result<Layout> alone = LayOut(array, false);
    if (alone.ok() && alone->columns == unlabelled) {
      labels.emplace(alone->rows, std::numeric_limits<double>::quiet_NaN());
    }
  }
  MOTLEY_ASSIGN_OR_RETURN(const Layout layout, LayOut(array, !labels));
  if (labels && labels->size() != layout.rows) {
    return Bad(array, fmt::format("has {}, but there are {}", Counted(layout.rows, "sample"),
                                  Counted(labels->size(), "label")));
  }
  const uint64_t columns = layout.columns;
  RawSamples block;
  block.path = path;
  block.features = static_cast<uint32_t>(columns - (labels ? 0 : 1));
  const uint64_t most =
      std::max<uint64_t>(1, kSampleBlockBytes / (std::max<uint64_t>(columns, 1) * sizeof(float)));
  std::string bytes;
  for (uint64_t row = 0; row < layout.rows && columns > 0;) {
    const uint64_t count = std::min(most, layout.rows - row);
    MOTLEY_RETURN_IF_ERROR(ReadBytes(array, count * columns, bytes));
    block.dense.resize(count * columns);
    if (const auto bad = DecodeElements(array.type, bytes, std::span<float>(block.dense))) {
      return Bad(array, fmt::format("sample {}, value {}: {}", row + bad->index / columns,
                                    bad->index % columns, bad->why));
    }
    if (labels) {
      const auto from = labels->begin() + static_cast<ptrdiff_t>(row);
      block.label.assign(from, from + static_cast<ptrdiff_t>(count));
    } else {
      DropLabels(columns, block.dense);
      if (const auto bad = DecodeLastColumn(array.type, columns, bytes, block.label)) {
        return Bad(array, fmt::format("sample {}, label: {}", row + bad->index, bad->why));
      }
    }
    row += count;
    MOTLEY_RETURN_IF_ERROR(sink.Take(block));
  }
  // This also reports an empty array.
  return sink.Take(block);
}

bool HasTestArrays(const std::vector<std::string>& names) {
  return std::any_of(std::begin(kTestNames), std::end(kTestNames), [&](const NamePair& pair) {
    return std::count(names.begin(), names.end(), pair.features) > 0;
  });
}

Result<ArrayNames> FindArrays(const std::vector<std::string>& names, bool test,
                              const std::string& path) {
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto known = test ? std::span<const NamePair>(kTestNames) : std::span(kTrainNames);
  for (const NamePair& pair : known) {
    if (has(pair.features) && has(pair.labels)) return ArrayNames{pair.features, pair.labels};
  }
  if (!test && names.size() == 1) return ArrayNames{names[0], ""};
  constexpr size_t kShown = 8;
  const auto shown = std::span<const std::string>(names).first(std::min(kShown, names.size()));
  return Status::DataError(fmt::format(
      "{}: has the arrays {}{}; name them {}, such as x and y, or X_train and y_train (and X_test "
      "and y_test)",
      path, shown.empty() ? "(none)" : fmt::format("{}", fmt::join(shown, ", ")),
      names.size() > kShown ? ", ..." : "", test ? "for the test part" : "features and labels"));
}

}  // namespace motley
