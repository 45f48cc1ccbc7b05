// SPDX-License-Identifier: Apache-2.0
#include "data/formats/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/files/text_scan.h"

namespace motley {
namespace {

using Json = nlohmann::json;

struct DtypeSize {
  std::string_view name;
  uint64_t size_bytes;
};
constexpr DtypeSize kDtypes[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"U16", 2}, {"I16", 2},
                                 {"F16", 2},  {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},
                                 {"U64", 8},  {"I64", 8},  {"F64", 8}};

// Parses without exceptions. Refuses an object with a repeated key, which parsers treat
// differently.
Result<Json> ParseStrictJson(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  bool twice = false;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      twice |= !keys.back().insert(parsed.get<std::string>()).second;
    }
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), watch, false);
  if (json.is_discarded()) return Status::DataError("its header is not JSON");
  if (twice) return Status::DataError("its header names a key twice");
  return json;
}

Status BadTensor(const std::string& name, std::string_view what) {
  return Status::DataError(fmt::format("tensor {}: {}", Quoted(name), what));
}

// Gets the list of numbers under `key`; false if it is anything else.
bool GetNumbers(const Json& entry, const char* key, std::vector<uint64_t>& numbers) {
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array()) return false;
  for (const Json& number : *list) {
    if (!number.is_number_unsigned()) return false;
    numbers.push_back(number.get<uint64_t>());
  }
  return true;
}

Result<TensorInfo> ParseTensor(const std::string& name, const Json& entry) {
  TensorInfo tensor;
  std::vector<uint64_t> offsets;
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry["dtype"].is_string() || !GetNumbers(entry, "shape", tensor.shape) ||
      !GetNumbers(entry, "data_offsets", offsets) || offsets.size() != 2) {
    return BadTensor(name, "needs exactly a dtype, a shape and two data_offsets");
  }
  tensor.dtype = entry["dtype"].get<std::string>();
  const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const DtypeSize& d) { return d.name == tensor.dtype; });
  if (dtype == std::end(kDtypes)) return BadTensor(name, "has an unknown dtype");
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  uint64_t size_bytes = dtype->size_bytes;
  for (const uint64_t extent : tensor.shape) {
    if (extent != 0 && size_bytes > std::numeric_limits<uint64_t>::max() / extent) {
      return BadTensor(name, "has a shape too large for any file");
    }
    size_bytes *= extent;
  }
  if (tensor.end < tensor.begin || tensor.end - tensor.begin != size_bytes) {
    return BadTensor(name, "has data_offsets that do not fit its shape");
  }
  return tensor;
}

Status CheckCoverage(const SafetensorsHeader& header, std::optional<uint64_t> data_size) {
  std::vector<const TensorInfo*> by_place;
  for (const auto& [name, tensor] : header.tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  uint64_t covered = 0;
  for (const TensorInfo* tensor : by_place) {
    if (tensor->begin != covered) {
      return Status::DataError(fmt::format("its tensors {} at byte {} of the data",
                                           tensor->begin < covered ? "overlap" : "leave a hole",
                                           std::min(covered, tensor->begin)));
    }
    covered = tensor->end;
  }
  if (data_size && covered != *data_size) {
    return Status::DataError(
        fmt::format("it is truncated or too long: {} bytes of data, but its header says {}",
                    *data_size, covered));
  }
  return Status::Ok();
}

Status AddEntry(const std::string& name, const Json& entry, SafetensorsHeader& header) {
  if (name != "__metadata__") {
    MOTLEY_ASSIGN_OR_RETURN(header.tensors[name], ParseTensor(name, entry));
    return Status::Ok();
  }
  if (!entry.is_object()) return Status::DataError("its metadata is not an object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string())
      return Status::DataError("its metadata has a value that is not a string");
    header.metadata[key] = value.get<std::string>();
  }
  return Status::Ok();
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view content, DataCheck check) {
  uint64_t size = 0;
  if (content.size() < sizeof(size)) {
    return Status::DataError("not a safetensors file: shorter than 8 bytes");
  }
  std::memcpy(&size, content.data(), sizeof(size));
  if (size > kMaxHeaderSize) {
    return Status::DataError(
        fmt::format("not a safetensors file: its header would have {} bytes; the limit is {}", size,
                    kMaxHeaderSize));
  }
  if (size > content.size() - sizeof(size)) {
    return Status::DataError(
        fmt::format("truncated: {} bytes, with a header of {}", content.size(), size));
  }
  const std::string_view text = content.substr(sizeof(size), size);
  if (!text.starts_with('{')) {
    return Status::DataError("not a safetensors file: its header is not a JSON object");
  }
  MOTLEY_ASSIGN_OR_RETURN(const Json json, ParseStrictJson(text));
  SafetensorsHeader header;
  header.data_begin = sizeof(size) + size;
  for (const auto& [name, entry] : json.items()) {
    MOTLEY_RETURN_IF_ERROR(AddEntry(name, entry, header));
  }
  std::optional<uint64_t> data_size;
  if (check == DataCheck::kAll) data_size = content.size() - header.data_begin;
  MOTLEY_RETURN_IF_ERROR(CheckCoverage(header, data_size));
  return header;
}

}  // namespace motley
