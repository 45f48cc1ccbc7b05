// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/model_metadata.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/text_scan.h"

namespace motley {
namespace {

using Json = nlohmann::json;

Result<Json> ParseJson(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status::DataError("its metadata is not JSON");
  return json;
}

Result<std::string> GetMetadata(const std::map<std::string, std::string>& metadata,
                                const std::string& key) {
  const auto found = metadata.find(key);
  if (found != metadata.end()) return found->second;
  return Status::DataError(
      fmt::format("its metadata lacks '{}', so it was not saved by motley", key));
}

Result<uint32_t> GetCount(const std::map<std::string, std::string>& metadata,
                          const std::string& key) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, GetMetadata(metadata, key));
  uint32_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && stop == end) return count;
  return Status::DataError(fmt::format("its metadata '{}' is {}, not a count", key, Quoted(text)));
}

}  // namespace

Result<ModelSpec> SpecFromMetadata(const std::map<std::string, std::string>& metadata) {
  const bool torch = metadata.count(kTorchModel) != 0;
  MOTLEY_ASSIGN_OR_RETURN(const std::string format, GetMetadata(metadata, "format"));
  if (!torch && format != "motley") {
    return Status::DataError(
        fmt::format("its metadata says format {}, not 'motley'", Quoted(format)));
  }
  ModelSpec spec;
  MOTLEY_ASSIGN_OR_RETURN(spec.name, GetMetadata(metadata, torch ? kTorchModel : "model"));
  if (spec.name == "trainer" && metadata.count("features") == 0) {
    return Status::DataError(
        "it has the parameters of a trainer of your own, whose model Motley does not know");
  }
  MOTLEY_ASSIGN_OR_RETURN(spec.features, GetCount(metadata, "features"));
  MOTLEY_ASSIGN_OR_RETURN(spec.classes, GetCount(metadata, "classes"));
  return spec;
}

Result<float> InputScaleFromMetadata(const std::map<std::string, std::string>& metadata) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, GetMetadata(metadata, "input_scale"));
  MOTLEY_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  const float scale = json.is_number() ? json.get<float>() : 0;
  if (scale > 0 && std::isfinite(scale)) return scale;
  return Status::DataError(
      fmt::format("its metadata 'input_scale' is {}, not a positive number", Quoted(text)));
}

Result<std::vector<double>> ClassLabelsFromMetadata(
    const std::map<std::string, std::string>& metadata) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, GetMetadata(metadata, "class_labels"));
  MOTLEY_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_array()) return Status::DataError("its class_labels are not a list");
  std::vector<double> labels;
  for (const Json& label : json) {
    if (!label.is_number()) return Status::DataError("its class_labels are not numbers");
    labels.push_back(label.get<double>());
  }
  return labels;
}

}  // namespace motley
