// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/checkpoint_command.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "base/counted.h"
#include "cli/report/table.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "fmt/core.h"
#include "motley/motley.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;
using Action = CheckpointFlags::Action;

uint64_t StepOf(const CheckpointFlags& flags) { return flags.step.value_or(MOTLEY_NEWEST); }

std::string Megabytes(const Json& bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes.get<uint64_t>()) / 1e6);
}

// Describes the strength of an entry of a list, or of a report.
std::string StrengthText(const Json& one) {
  if (!one["restorable"].get<bool>()) return "no";
  if (!one["degraded"].get<bool>()) return "yes";
  const auto survives = one["survives"].get<uint64_t>();
  return fmt::format("degraded: survives {} more loss{}", survives, survives == 1 ? "" : "es");
}

std::string ListTable(const Json& all) {
  Table table({"step", "code", "MB", "shards there", "restorable"});
  for (const Json& one : all) {
    uint64_t there = 0;
    for (const Json& shard : one["shards"]) there += shard["state"] == "there" ? 1 : 0;
    table.Add({one["step"].dump(), one["code"].get<std::string>(), Megabytes(one["bytes"]),
               fmt::format("{} of {}", there, one["shards"].size()), StrengthText(one)});
  }
  return table.Format() + "by headers and sizes; motley checkpoint verify reads every block\n";
}

std::string ReportTable(const Json& report, bool newest) {
  Table table({"shard", "state", "damaged blocks", "path"});
  for (const Json& shard : report["shards"]) {
    const size_t damaged = shard.contains("damaged_blocks") ? shard["damaged_blocks"].size() : 0;
    const std::string problem = shard.contains("problem") ? shard["problem"].get<std::string>()
                                                          : shard["state"].get<std::string>();
    table.Add({shard["shard"].dump(), problem, std::to_string(damaged),
               shard["path"].get<std::string>()});
  }
  const bool healthy = report["healthy"].get<bool>();
  std::string verdict = "nothing is lost or damaged";
  if (!report["restorable"].get<bool>()) {
    verdict = "it cannot be restored";
  } else if (!healthy) {
    const std::string strength = StrengthText(report);
    verdict =
        (strength == "yes" ? "" : strength + "; ") + "motley checkpoint restore can restore it";
  }
  return table.Format() + fmt::format("step {}{} as {}: {} of {} each; {}\n", report["step"].dump(),
                                      newest ? " (the newest; others with --step)" : "",
                                      report["code"].get<std::string>(),
                                      Counted(report["shards"].size(), "shard"),
                                      Counted(report["stripes"].get<uint64_t>(), "block"), verdict);
}

using Owned = std::unique_ptr<char, void (*)(char*)>;

// The step of an export without --step, for the message. 0 if the folder cannot be read; the export
// then reports why.
uint64_t NewestRestorable(const std::string& folder) {
  char* json = nullptr;
  const motley_status status = motley_checkpoint_list(folder.c_str(), &json);
  const Owned owned(json, motley_string_destroy);
  if (status != MOTLEY_OK) return MOTLEY_NEWEST;
  for (const Json& one : Json::parse(json)) {
    if (one["restorable"].get<bool>()) return one["step"].get<uint64_t>();
  }
  return MOTLEY_NEWEST;
}

int Export(const CheckpointFlags& flags) {
  if (const Status out = CheckReplaced("--out", flags.out); !out.ok()) return Fail(out);
  std::error_code error;
  const bool file = std::filesystem::is_regular_file(flags.folder, error);
  uint64_t step = StepOf(flags);
  if (!flags.step && !file) step = NewestRestorable(flags.folder);
  const motley_status status =
      motley_checkpoint_export(flags.folder.c_str(), step, flags.out.c_str(), flags.format.c_str());
  if (status != MOTLEY_OK) return FailOfLibrary(status);
  if (file) return PrintResult(fmt::format("the model of {} is in {}\n", flags.folder, flags.out));
  const std::string which = step == MOTLEY_NEWEST ? "newest step" : fmt::format("step {}", step);
  return PrintResult(
      fmt::format("the model of {} of {} is in {}\n", which, flags.folder, flags.out));
}

int List(const CheckpointFlags& flags, const char* json) {
  if (flags.json) return PrintResult(json);
  const Json all = Json::parse(json);
  if (all.empty()) {
    return Fail(Status::NotFound(fmt::format("there is no checkpoint in {}", flags.folder)));
  }
  return PrintResult(ListTable(all));
}

motley_status Ask(const CheckpointFlags& flags, char** json) {
  const char* folder = flags.folder.c_str();
  switch (flags.action) {
    case Action::kList: return motley_checkpoint_list(folder, json);
    case Action::kVerify: return motley_checkpoint_verify(folder, StepOf(flags), json);
    case Action::kRestore: return motley_checkpoint_restore(folder, StepOf(flags), json);
    case Action::kExport: break;  // Has no JSON.
  }
  return MOTLEY_INTERNAL;
}

}  // namespace

int RunCheckpoint(const CheckpointFlags& flags) {
  if (flags.action == Action::kExport) return Export(flags);
  char* json = nullptr;
  const motley_status status = Ask(flags, &json);
  const Owned owned(json, motley_string_destroy);
  if (json == nullptr) return FailOfLibrary(status);
  if (flags.action == Action::kList) return List(flags, json);
  const int printed = PrintResult(flags.json ? json : ReportTable(Json::parse(json), !flags.step));
  return status == MOTLEY_OK ? printed : kExitFailure;
}

}  // namespace motley
