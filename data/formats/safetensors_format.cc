// SPDX-License-Identifier: Apache-2.0
#include "data/formats/safetensors_format.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "data/formats/array_samples.h"
#include "data/formats/safetensors_header.h"

namespace motley {
namespace {

bool IsSafetensors(std::string_view head) {
  uint64_t size = 0;
  if (head.size() <= sizeof(size)) return false;
  std::memcpy(&size, head.data(), sizeof(size));
  return size <= kMaxHeaderSize && head[sizeof(size)] == '{';
}

Result<SafetensorsHeader> ReadHeader(const std::string& path, StreamReader& stream) {
  uint64_t size = 0;
  MOTLEY_ASSIGN_OR_RETURN(std::string_view start, stream.Peek(sizeof(size)));
  if (start.size() == sizeof(size)) std::memcpy(&size, start.data(), sizeof(size));
  if (size > kMaxHeaderSize) return Status::DataError(path + ": its header is too large");
  MOTLEY_ASSIGN_OR_RETURN(start, stream.Peek(sizeof(size) + size));
  // Missing data are noticed when they are read.
  const auto header = ParseSafetensorsHeader(start, DataCheck::kNotAtEnd);
  if (!header.ok()) return header.status().WithContext(path);
  return header;
}

Result<ElementType> TypeOf(const std::string& name, const std::string& dtype) {
  using Kind = ElementType::Kind;
  struct Known {
    std::string_view dtype;
    ElementType type;
  };
  constexpr Known kKnown[] = {
      {"F64", {Kind::kFloat, 8}},    {"F32", {Kind::kFloat, 4}},    {"F16", {Kind::kFloat, 2}},
      {"BF16", {Kind::kBfloat, 2}},  {"I64", {Kind::kSigned, 8}},   {"I32", {Kind::kSigned, 4}},
      {"I16", {Kind::kSigned, 2}},   {"I8", {Kind::kSigned, 1}},    {"U64", {Kind::kUnsigned, 8}},
      {"U32", {Kind::kUnsigned, 4}}, {"U16", {Kind::kUnsigned, 2}}, {"U8", {Kind::kUnsigned, 1}},
      {"BOOL", {Kind::kBool, 1}}};
  for (const Known& known : kKnown) {
    if (known.dtype == dtype) return known.type;
  }
  return Status::DataError(
      fmt::format("{}: the dtype {} is not understood; save F32", name, dtype));
}

// A tensor of the file, positioned at its first element.
Result<ArrayInput> FindTensor(const SafetensorsHeader& header, const std::string& path,
                              const std::string& name, StreamReader& stream) {
  const TensorInfo& tensor = header.tensors.at(name);
  const std::string place = fmt::format("{}, tensor '{}'", path, name);
  MOTLEY_ASSIGN_OR_RETURN(const ElementType type, TypeOf(place, tensor.dtype));
  const uint64_t begin = header.data_begin + tensor.begin;
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t skipped, stream.Skip(begin));
  if (skipped < begin) return Status::DataError(path + ": is truncated before " + name);
  return ArrayInput{.name = place, .type = type, .shape = tensor.shape, .stream = &stream};
}

std::vector<std::string> NamesOf(const SafetensorsHeader& header) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : header.tensors) names.push_back(name);
  return names;
}

Status ReadTensors(const InputFile& file, StreamReader& stream, const ReadOptions& options,
                   SampleSink& sink) {
  if (file.path == "-") {
    return Status::InvalidArgument(
        "safetensors cannot be read from the standard input: give its path with `data`");
  }
  MOTLEY_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadHeader(file.path, stream));
  MOTLEY_ASSIGN_OR_RETURN(const ArrayNames names,
                          FindArrays(NamesOf(header), file.test, file.path));
  std::optional<std::vector<double>> labels;
  if (!names.labels.empty()) {
    // Labels may be stored before or after the features, so each is read in a pass of its own.
    MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> again, OpenFileStream(file.path));
    StreamReader reader(std::move(again));
    MOTLEY_ASSIGN_OR_RETURN(const ArrayInput array,
                            FindTensor(header, file.path, names.labels, reader));
    MOTLEY_ASSIGN_OR_RETURN(labels, ReadLabels(array));
  }
  MOTLEY_ASSIGN_OR_RETURN(const ArrayInput array,
                          FindTensor(header, file.path, names.features, stream));
  return ReadSamples(array, labels, file.path, options.unlabelled_features, sink);
}

Result<bool> HasTest(const std::string& path) {
  if (path == "-") return false;
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenFileStream(path));
  StreamReader stream(std::move(file));
  MOTLEY_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadHeader(path, stream));
  return HasTestArrays(NamesOf(header));
}

}  // namespace

const FileFormat kSafetensorsFormat = {"safetensors", IsSafetensors, ReadTensors, HasTest};

}  // namespace motley
