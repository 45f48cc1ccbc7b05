// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_end.h"

#include <limits>
#include <string_view>
#include <utility>

#include "cli/terminal/exit_code.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

constexpr std::string_view kPrefix = "motley: ";  // Errors of the program begin with it.

// The exit code alone is not enough: a job that cannot read its data has the same as one that
// diverged.
TrialVerdict VerdictOn(const ProcessExit& exit, const std::string& kind) {
  if (!exit.failed()) return TrialVerdict::kTrained;
  if (exit.signal != 0) return TrialVerdict::kDisturbed;
  if (exit.code == kExitUsage) return TrialVerdict::kRefused;
  return exit.code == kExitFailure && kind == "diverged" ? TrialVerdict::kDiverged
                                                         : TrialVerdict::kDisturbed;
}

}  // namespace

TrialEnd EndOfTrial(const ProcessExit& exit, const std::string& output,
                    const std::string& last_error) {
  const auto json = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  const auto number = [&json](const char* path) -> std::optional<double> {
    const nlohmann::json::json_pointer at(path);
    if (!json.is_object() || !json.contains(at) || !json[at].is_number()) return std::nullopt;
    return json[at].get<double>();
  };
  const auto text = [&json](const char* path) -> std::string {
    const nlohmann::json::json_pointer at(path);
    const bool found = json.is_object() && json.contains(at) && json[at].is_string();
    return found ? json[at].get<std::string>() : "";
  };
  const std::string kind = text("/error/kind");
  TrialEnd end;
  end.whole = text("/not_tested").empty();
  end.lost_checkpoint = exit.failed() && kind == "checkpoint";
  end.test_loss = number("/test_loss");
  end.test_accuracy = number("/test_accuracy");
  end.loss = std::numeric_limits<double>::infinity();
  if (exit.failed()) {
    end.error = text("/error/message");
    if (end.error.empty()) end.error = last_error;
    if (end.error.starts_with(kPrefix)) end.error.erase(0, kPrefix.size());
    if (end.error.empty() || exit.signal != 0) end.error = "it ended " + exit.Text();
  } else if (const auto loss = number("/judging/best_loss")) {
    end.loss = *loss;
  } else {
    end.error = "the job was not judged on validation samples";
  }
  end.verdict = VerdictOn(exit, kind);
  if (!exit.failed() && !end.error.empty()) end.verdict = TrialVerdict::kRefused;
  return end;
}

Status ErrorOfSweep(const ProcessExit& exit, std::string message) {
  if (exit.signal != 0) return Status::Unavailable(std::move(message));
  switch (exit.code) {
    case kExitNotFound: return Status::NotFound(std::move(message));
    case kExitUnavailable: return Status::Unavailable(std::move(message));
    case kExitPermission: return Status::Permission(std::move(message));
    case kExitConflict: return Status::Conflict(std::move(message));
    default: return Status::Resource(std::move(message));
  }
}

}  // namespace motley
