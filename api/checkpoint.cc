// SPDX-License-Identifier: Apache-2.0
#include "motley/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "api/entry.h"
#include "api/reports/saved_vector.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_format.h"
#include "checkpoint/store/file_store.h"
#include "runtime/saving/saved_job.h"
#include "training/model_files/model_format.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

Json Basics(const CheckpointInfo& info) {
  const uint64_t shards = info.code.data + info.code.parity;
  return {{"step", info.step},
          {"code", ToText(info.code)},
          {"job", fmt::format("{:016x}", info.job)},
          {"id", info.id},
          {"parameters", info.parameters},
          {"bytes", shards * info.shard_bytes}};
}

Json ListedShards(const Store& store, const CheckpointInfo& info) {
  Json shards = Json::array();
  for (uint32_t shard = 0; shard < info.code.data + info.code.parity; ++shard) {
    const auto& missing = info.missing_shards;
    const bool lost = std::find(missing.begin(), missing.end(), shard) != missing.end();
    shards.push_back({{"shard", shard},
                      {"state", lost ? "missing" : "there"},
                      {"path", store.Describe(ShardPath(shard, info.step))}});
  }
  return shards;
}

std::string ListText(const Store& store, const std::vector<CheckpointInfo>& all) {
  Json list = Json::array();
  for (const CheckpointInfo& info : all) {
    Json one = Basics(info);
    one["restorable"] = info.restorable;
    one["degraded"] = info.restorable && info.survives < info.code.parity;
    one["survives"] = info.survives;
    one["shards"] = ListedShards(store, info);
    list.push_back(std::move(one));
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ReportText(const VerifyReport& report) {
  Json json = Basics(report.info);
  json["restorable"] = report.restorable();
  json["degraded"] = report.restorable() && report.survives < report.info.code.parity;
  json["survives"] = report.survives;
  json["healthy"] = report.healthy();
  json["stripes"] = report.stripes;
  json["lost_stripes"] = report.lost_stripes;
  json["shards"] = Json::array();
  for (const ShardReport& shard : report.shards) {
    const char* damaged = shard.problem.empty() ? "damaged" : "lost";
    Json one = {{"shard", shard.shard},
                {"state", shard.healthy() ? "fine" : damaged},
                {"path", shard.path}};
    if (!shard.problem.empty()) one["problem"] = shard.problem;
    if (!shard.damaged_blocks.empty()) one["damaged_blocks"] = shard.damaged_blocks;
    json["shards"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Copies `text` for the caller to free.
Status Give(const std::string& text, char** out) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return Status::Resource("out of memory for the answer");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return Status::Ok();
}

std::optional<uint64_t> StepOf(uint64_t step) {
  return step == MOTLEY_NEWEST ? std::nullopt : std::optional<uint64_t>(step);
}

// Opens `folder` and runs `body` on its Store. Sets `json` (may be null) to NULL first.
template <typename Body>
motley_status OnFolder(const char* function, const char* folder, char** json, const Body& body) {
  return Enter([&]() -> Status {
    if (json != nullptr) *json = nullptr;
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(function, "folder", folder));
    MOTLEY_ASSIGN_OR_RETURN(const auto store, OpenFileStore(folder, MissingFolder::kRefuse));
    return body(*store);
  });
}

Status Export(Store& store, uint64_t step, const char* path, ModelFormat format) {
  MOTLEY_ASSIGN_OR_RETURN(const SavedJob saved, LoadSavedJob(store, StepOf(step)));
  if (saved.about.own_trainer && format == ModelFormat::kMotley) {
    return SaveVector(path, *saved.parameters);
  }
  MOTLEY_ASSIGN_OR_RETURN(const SavedModel model, ModelOf(saved));
  MOTLEY_RETURN_IF_ERROR(CheckFormat(model, format));
  return SaveModel(path, model, model.parameters, format);
}

Status ExportFile(const char* file, uint64_t step, const char* path, ModelFormat format) {
  if (step != MOTLEY_NEWEST) {
    return Status::InvalidArgument(
        fmt::format("step {}: {} is a model, which has no steps. Leave the step out", step, file));
  }
  MOTLEY_ASSIGN_OR_RETURN(const SavedModel model, LoadModel(file));
  MOTLEY_RETURN_IF_ERROR(CheckFormat(model, format));
  return SaveModel(path, model, model.parameters, format);
}

}  // namespace
}  // namespace motley

using motley::CheckNotNull;
using motley::Status;
using motley::Store;

motley_status motley_checkpoint_list(const char* folder, char** json) {
  const char* name = "motley_checkpoint_list";
  return motley::OnFolder(name, folder, json, [&](Store& store) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "json", json));
    MOTLEY_ASSIGN_OR_RETURN(const auto all, motley::ListCheckpoints(store));
    return motley::Give(motley::ListText(store, all), json);
  });
}

motley_status motley_checkpoint_verify(const char* folder, uint64_t step, char** json) {
  const char* name = "motley_checkpoint_verify";
  return motley::OnFolder(name, folder, json, [&](Store& store) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "json", json));
    MOTLEY_ASSIGN_OR_RETURN(const auto report,
                            motley::VerifyCheckpoint(store, motley::StepOf(step)));
    MOTLEY_RETURN_IF_ERROR(motley::Give(motley::ReportText(report), json));
    return report.healthy() ? Status::Ok() : Status::DataError(report.ToText());
  });
}

motley_status motley_checkpoint_restore(const char* folder, uint64_t step, char** json) {
  const char* name = "motley_checkpoint_restore";
  return motley::OnFolder(name, folder, json, [&](Store& store) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "json", json));
    const auto before = motley::RepairCheckpoint(store, motley::StepOf(step));
    if (before.code() == motley::StatusCode::kNotDecodable) {
      return Status::DataError(before.status().ToString());
    }
    if (!before.ok()) return before.status();
    MOTLEY_ASSIGN_OR_RETURN(const auto after, motley::VerifyCheckpoint(store, before->info.step));
    return motley::Give(motley::ReportText(after), json);
  });
}

motley_status motley_checkpoint_export(const char* folder, uint64_t step, const char* path,
                                       const char* format) {
  const char* name = "motley_checkpoint_export";
  return motley::Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "folder", folder));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "path", path));
    MOTLEY_ASSIGN_OR_RETURN(const auto as,
                            motley::ParseModelFormat(format != nullptr ? format : ""));
    std::error_code error;
    if (std::filesystem::is_regular_file(folder, error)) {
      return motley::ExportFile(folder, step, path, as);
    }
    MOTLEY_ASSIGN_OR_RETURN(const auto store,
                            motley::OpenFileStore(folder, motley::MissingFolder::kRefuse));
    return motley::Export(*store, step, path, as);
  });
}

void motley_string_destroy(char* text) { std::free(text); }
