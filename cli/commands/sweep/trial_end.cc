// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_end.h"

#include <limits>
#include <string_view>
#include <utility>

#include "cli/terminal/exit_code.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

// The message of every job that diverged has these words. The exit code alone is not enough: a job
// that cannot read its data or write its model has the same.
constexpr const char* kDivergence = "training diverged";

constexpr std::string_view kPrefix = "motley: ";  // Errors of the program begin with it.

TrialVerdict VerdictOn(const ProcessExit& exit, const std::string& error) {
  if (!exit.failed()) return TrialVerdict::kTrained;
  if (exit.signal != 0) return TrialVerdict::kDisturbed;
  if (exit.code == kExitUsage) return TrialVerdict::kRefused;
  const bool diverged = exit.code == kExitFailure && error.find(kDivergence) != error.npos;
  return diverged ? TrialVerdict::kDiverged : TrialVerdict::kDisturbed;
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
  TrialEnd end;
  end.began = number("/steps").value_or(0) > 0;
  end.test_loss = number("/test_loss");
  end.test_accuracy = number("/test_accuracy");
  end.loss = std::numeric_limits<double>::infinity();
  if (exit.failed()) {
    const nlohmann::json::json_pointer message("/error/message");
    end.error = last_error.starts_with(kPrefix) ? last_error.substr(kPrefix.size()) : last_error;
    if (json.is_object() && json.contains(message) && json[message].is_string()) {
      end.error = json[message].get<std::string>();
    }
    if (end.error.empty() || exit.signal != 0) end.error = "it ended " + exit.Text();
  } else if (const auto loss = number("/judging/best_loss")) {
    end.loss = *loss;
  } else {
    end.error = "the job was not judged on validation samples";
  }
  end.verdict = VerdictOn(exit, end.error);
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
