// SPDX-License-Identifier: Apache-2.0
#include "data/formats/idx_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace motley {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr size_t kStep = size_t{1} << 18;

bool IsIdx(std::string_view content) {
  return content.size() >= 4 && content[0] == '\0' && content[1] == '\0' && content[2] >= 8 &&
         content[2] <= 14 && content[3] >= 1;
}

uint32_t BigEndian(std::string_view four) {
  uint32_t value = 0;
  for (const char c : four) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

Status Broken(const std::string& path, const std::string& what) {
  return Status::DataError(fmt::format("{}: {}", path, what));
}

// Reads the header and returns the extent of each dimension.
Result<std::vector<uint32_t>> ReadShape(const std::string& path, StreamReader& stream) {
  std::string start(4, '\0');
  MOTLEY_ASSIGN_OR_RETURN(size_t got, stream.Read(start));
  if (!IsIdx(start)) return Broken(path, "is not an IDX file: it does not start with 0, 0, type");
  if (start[2] != kUnsignedByte) {
    return Broken(path,
                  fmt::format("holds IDX type 0x{:02x} (byte 2); only bytes (0x08) are supported",
                              static_cast<uint8_t>(start[2])));
  }
  const auto dimensions = static_cast<uint8_t>(start[3]);
  std::string extents(size_t{4} * dimensions, '\0');
  MOTLEY_ASSIGN_OR_RETURN(got, stream.Read(extents));
  if (got < extents.size()) {
    return Broken(path, fmt::format("is truncated inside its header, at byte {}", 4 + got));
  }
  std::vector<uint32_t> shape;
  for (size_t d = 0; d < dimensions; ++d) {
    shape.push_back(BigEndian(std::string_view(extents).substr(4 * d, 4)));
  }
  return shape;
}

// An error for data of another size than `shape` says. `read` bytes were read; the rest is counted.
Status OtherSize(const std::string& path, const std::vector<uint32_t>& shape, uint64_t read,
                 StreamReader& stream) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t rest, stream.Skip(std::numeric_limits<uint64_t>::max()));
  return Broken(path, fmt::format("has {} bytes of data, but its header says {}", read + rest,
                                  fmt::join(shape, "x")));
}

Result<std::vector<double>> ReadIdxLabels(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenFileStream(path));
  StreamReader stream(std::move(file));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<uint32_t> shape, ReadShape(path, stream));
  if (shape.size() != 1) {
    return Broken(path, fmt::format("has {} dimensions; labels have one", shape.size()));
  }
  std::vector<double> labels;
  while (true) {
    MOTLEY_ASSIGN_OR_RETURN(const std::string_view bytes, stream.Peek(kStep));
    if (bytes.empty() && labels.size() == shape[0]) return labels;
    if (bytes.empty() || bytes.size() > shape[0] - labels.size()) {
      return OtherSize(path, shape, labels.size(), stream);
    }
    for (const char c : bytes) labels.push_back(static_cast<uint8_t>(c));
    MOTLEY_RETURN_IF_ERROR(stream.Skip(bytes.size()).status());
  }
}

// Number of values per image. kDataError: too many.
Result<uint32_t> FeaturesOf(const std::string& path, const std::vector<uint32_t>& shape) {
  uint64_t features = 1;
  for (const uint32_t extent : std::span<const uint32_t>(shape).subspan(1)) {
    features *= extent;
    if (features <= kMaxFeatures) continue;
    return Broken(path, fmt::format("its header says {} but the limit is {} values per image",
                                    fmt::join(shape, "x"), kMaxFeatures));
  }
  if (features == 0) {
    return Broken(path,
                  fmt::format("its header says {}: images without values", fmt::join(shape, "x")));
  }
  return static_cast<uint32_t>(features);
}

Status ReadPixels(RawSamples& block, const std::vector<uint32_t>& shape,
                  const std::vector<double>& labels, StreamReader& stream, SampleSink& sink) {
  const uint32_t features = block.features;
  const size_t most = std::max<size_t>(1, kStep / std::max(features, 1u));
  uint64_t read = 0;
  for (size_t row = 0; row < labels.size() && features > 0;) {
    const size_t count = std::min(most, labels.size() - row);
    MOTLEY_ASSIGN_OR_RETURN(const std::string_view bytes, stream.Peek(count * features));
    if (bytes.size() < count * features) return OtherSize(block.path, shape, read, stream);
    block.dense.reserve(bytes.size());
    for (const char c : bytes) {
      block.dense.push_back(static_cast<float>(static_cast<uint8_t>(c)) / 255.0f);
    }
    const auto from = labels.begin() + static_cast<ptrdiff_t>(row);
    block.label.assign(from, from + static_cast<ptrdiff_t>(count));
    MOTLEY_RETURN_IF_ERROR(sink.Take(block));
    MOTLEY_RETURN_IF_ERROR(stream.Skip(count * features).status());
    read += count * features;
    row += count;
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view more, stream.Peek(1));
  if (!more.empty()) return OtherSize(block.path, shape, read, stream);
  return sink.Take(block);
}

Status ReadImages(const InputFile& file, StreamReader& stream, const ReadOptions& options,
                  SampleSink& sink) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<uint32_t> shape, ReadShape(file.path, stream));
  if (shape.size() < 2) {
    return Broken(file.path, "has one dimension, so it holds labels; give the file of images");
  }
  RawSamples block;
  block.path = file.path;
  MOTLEY_ASSIGN_OR_RETURN(block.features, FeaturesOf(file.path, shape));
  const Result<std::string> found = FindIdxLabels(file.path);
  if (found.code() == StatusCode::kNotFound && block.features == options.unlabelled_features) {
    const std::vector<double> none(shape[0], std::numeric_limits<double>::quiet_NaN());
    return ReadPixels(block, shape, none, stream, sink);
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::string labels_path, found);
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<double> labels, ReadIdxLabels(labels_path));
  if (labels.size() != shape[0]) {
    return Status::DataError(fmt::format("{} has {} labels but {} has {} images", labels_path,
                                         labels.size(), file.path, shape[0]));
  }
  return ReadPixels(block, shape, labels, stream, sink);
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

const FileFormat kIdxFormat = {"IDX", IsIdx, ReadImages};

}  // namespace motley
