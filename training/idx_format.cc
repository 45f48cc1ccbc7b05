// SPDX-License-Identifier: Apache-2.0
#include "training/idx_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

namespace motley {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;

struct IdxArray {
  std::vector<uint32_t> shape;
  std::string_view data;
};

bool IsIdx(std::string_view content) {
  return content.size() >= 4 && content[0] == '\0' && content[1] == '\0' && content[2] >= 8 &&
         content[2] <= 14 && content[3] >= 1;
}

uint32_t BigEndian(std::string_view four) {
  uint32_t value = 0;
  for (const char c : four) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

Result<IdxArray> ParseArray(std::string_view content, const std::string& path) {
  const auto broken = [&](const std::string& what) {
    return Status::DataError(fmt::format("{}: {}", path, what));
  };
  if (!IsIdx(content)) return broken("is not an IDX file: it does not start with 0, 0, type");
  if (content[2] != kUnsignedByte) {
    return broken(fmt::format("holds IDX type 0x{:02x} (byte 2); only bytes (0x08) are supported",
                              static_cast<uint8_t>(content[2])));
  }
  const auto dimensions = static_cast<uint8_t>(content[3]);
  const size_t header_size = 4 + size_t{4} * dimensions;
  if (content.size() < header_size) {
    return broken(fmt::format("is truncated inside its header, at byte {}", content.size()));
  }
  IdxArray array;
  array.data = content.substr(header_size);
  uint64_t expected = 1;
  bool fits = true;
  for (size_t d = 0; d < dimensions; ++d) {
    const uint32_t size = BigEndian(content.substr(4 + 4 * d, 4));
    array.shape.push_back(size);
    fits = fits && (size == 0 || expected <= array.data.size() / size);
    if (fits) expected *= size;
  }
  if (!fits || expected != array.data.size()) {
    return broken(fmt::format("has {} bytes of data, but its header says {}", array.data.size(),
                              fmt::join(array.shape, "x")));
  }
  return array;
}

Result<RawSamples> ParseImages(std::string_view content, const std::string& path,
                               const ReadOptions&) {
  MOTLEY_ASSIGN_OR_RETURN(const IdxArray images, ParseArray(content, path));
  if (images.shape.size() < 2) {
    return Status::DataError(path +
                             ": has one dimension, so it holds labels; give the file of images");
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::string labels_path, FindIdxLabels(path));
  MOTLEY_ASSIGN_OR_RETURN(const std::string labels_content, ReadFile(labels_path));
  MOTLEY_ASSIGN_OR_RETURN(const IdxArray labels, ParseArray(labels_content, labels_path));
  const uint32_t rows = images.shape[0];
  if (labels.shape.size() != 1) {
    return Status::DataError(
        fmt::format("{}: has {} dimensions; labels have one", labels_path, labels.shape.size()));
  }
  if (labels.shape[0] != rows) {
    return Status::DataError(fmt::format("{} has {} labels but {} has {} images", labels_path,
                                         labels.shape[0], path, rows));
  }
  RawSamples samples;
  samples.path = path;
  const size_t features = rows == 0 ? 0 : images.data.size() / rows;
  if (features > kMaxFeatures) {
    return Status::DataError(
        fmt::format("{}: {} values per image; the limit is {}", path, features, kMaxFeatures));
  }
  samples.features = static_cast<uint32_t>(features);
  samples.dense.reserve(images.data.size());
  for (const char c : images.data) {
    samples.dense.push_back(static_cast<float>(static_cast<uint8_t>(c)) / 255.0f);
  }
  for (const char c : labels.data) samples.label.push_back(static_cast<uint8_t>(c));
  return samples;
}

bool Replace(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.rfind(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return at != std::string::npos;
}

}  // namespace

Result<std::string> FindIdxLabels(const std::string& images_path) {
  const std::filesystem::path path(images_path);
  std::string name = path.filename().string();
  if (!Replace(name, "images", "labels")) {
    return Status::NotFound(images_path +
                            ": its labels cannot be found, since its name does not contain "
                            "'images' (train-images-idx3-ubyte goes with train-labels-idx1-ubyte)");
  }
  Replace(name, "idx3", "idx1");
  const std::string plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  for (const std::string& candidate : {name, plain, plain + ".gz"}) {
    const std::filesystem::path labels = path.parent_path() / candidate;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(labels, ignored)) return labels.string();
  }
  return Status::NotFound(fmt::format("{}: its labels are missing: there is no {}", images_path,
                                      (path.parent_path() / name).string()));
}

const FileFormat kIdxFormat = {"IDX", IsIdx, ParseImages};

}  // namespace motley
