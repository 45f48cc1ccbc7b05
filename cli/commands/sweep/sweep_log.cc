// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_log.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "cli/commands/sweep/trial_flags.h"
#include "cli/commands/sweep/trial_search.h"
#include "data/files/file_io.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using nlohmann::ordered_json;

std::string Line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json JsonOf(const TriedFlag& flag) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&flag.values)) return *list;
  const auto& range = std::get<DrawnRange>(flag.values);
  return {
      {"from", range.from}, {"to", range.to}, {"log", range.logarithmic}, {"whole", range.whole}};
}

// Everything that the results depend on.
ordered_json JsonOf(const SweepPlan& plan) {
  const SearchPlan& search = plan.search;
  ordered_json tried, train;
  for (const TriedFlag& flag : search.flags) tried[flag.name] = JsonOf(flag);
  for (const auto& [flag, value] : plan.train) train[flag] = value;
  ordered_json json = {{"method", static_cast<int>(search.method)},
                       {"epochs", search.epochs},
                       {"train", train},
                       {"try", tried}};
  if (search.method != SearchMethod::kGrid) json["seed"] = search.seed;
  if (search.method == SearchMethod::kAsha) {
    json["first_epochs"] = search.first_epochs;
    json["keep"] = search.keep;
  }
  return json;
}

ordered_json JsonOf(const SweptRun& run) {
  ordered_json json = {{"trial", run.trial},   {"rung", run.rung}, {"epochs", run.epochs},
                       {"values", run.values}, {"loss", nullptr},  {"seconds", run.seconds}};
  if (std::isfinite(run.loss)) json["loss"] = run.loss;
  if (run.test_loss) json["test_loss"] = *run.test_loss;
  if (run.test_accuracy) json["test_accuracy"] = *run.test_accuracy;
  if (!run.error.empty()) json["error"] = run.error;
  return json;
}

bool IsCount(const ordered_json& json) {
  return json.is_number_unsigned() && json <= std::numeric_limits<uint32_t>::max();
}

Result<SweptRun> RunOf(std::string_view line) try {
  const ordered_json json = ordered_json::parse(line);
  SweptRun run;
  const std::pair<const char*, uint32_t*> counts[] = {
      {"trial", &run.trial}, {"rung", &run.rung}, {"epochs", &run.epochs}};
  for (const auto& [key, count] : counts) {
    if (!IsCount(json.at(key))) {
      return Status::DataError(fmt::format("'{}' is not a whole number of at least 0", key));
    }
    *count = json[key].get<uint32_t>();
  }
  run.values = json.at("values").get<std::vector<std::string>>();
  const ordered_json& loss = json.at("loss");
  run.loss = loss.is_null() ? std::numeric_limits<double>::infinity() : loss.get<double>();
  run.seconds = json.at("seconds").get<double>();
  if (json.contains("test_loss")) run.test_loss = json["test_loss"].get<double>();
  if (json.contains("test_accuracy")) run.test_accuracy = json["test_accuracy"].get<double>();
  run.error = json.value("error", "");
  if (loss.is_null() == run.error.empty()) {
    return Status::DataError("a run has either a loss or an error");
  }
  return run;
} catch (const ordered_json::exception&) {
  return Status::DataError("this is not the result of a run");
}

// Compares runs in a file with the plan, and with those that stand before them.
class RunCheck {
 public:
  explicit RunCheck(const SearchPlan& plan)
      : values_(ValuesOf(plan)),
        flags_(plan.flags.size()),
        search_(plan, static_cast<uint32_t>(values_.size())) {}

  // Returns what is wrong; "" for nothing.
  std::string Hear(const SweptRun& run) {
    // A search that was made shorter does not know the values of its later trials.
    const bool known = run.trial < values_.size();
    if (known ? run.values != values_[run.trial] : run.values.size() != flags_) {
      return fmt::format("these are not the values of trial {}", run.trial);
    }
    if (run.rung >= search_.rungs() || run.epochs != search_.EpochsOf(run.rung)) {
      return fmt::format("run {} of a trial does not end at epoch {}", run.rung, run.epochs);
    }
    if (!seen_.emplace(run.trial, run.rung).second) {
      return fmt::format("run {} of trial {} stands in the file twice", run.rung, run.trial);
    }
    if (run.rung > 0 && !seen_.contains({run.trial, run.rung - 1})) {
      return fmt::format("run {} of trial {} is not in the file", run.rung - 1, run.trial);
    }
    return "";
  }

 private:
  const std::vector<TrialValues> values_;
  const size_t flags_;
  const TrialSearch search_;
  std::set<std::pair<uint32_t, uint32_t>> seen_;  // Trial and run.
};

bool IsPlan(std::string_view line) {
  const auto json = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("method") && json.contains("train") &&
         json.contains("try");
}

// The lines of `text` that are complete.
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    lines.push_back(text.substr(0, end));
  }
  return lines;
}

Status SystemError(const std::string& path) {
  return Status::Resource(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

// Opening a pipe or a device would wait, or do something else.
Status CheckRegular(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    return Status::Ok();
  }
  return Status::Conflict(
      fmt::format("{} is not a regular file. Use another folder (--out), or remove it", path));
}

// The folder of a new log must not have files that its trials would overwrite.
Status CheckNew(const std::string& path) {
  std::error_code failed;
  if (const auto size = std::filesystem::file_size(path, failed); !failed && size > 0) {
    return Status::Ok();
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!IsTrialFile(name)) continue;
    return Status::Conflict(fmt::format(
        "{} has {}, and no results of a search in {}: trials would overwrite it. Use another "
        "folder (--out), or remove it",
        folder.string(), name, std::filesystem::path(path).filename().string()));
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<SweepLog>> SweepLog::Open(const std::string& path, const SweepPlan& plan) {
  MOTLEY_RETURN_IF_ERROR(CheckRegular(path));
  MOTLEY_RETURN_IF_ERROR(CheckNew(path));
  auto log = std::make_unique<SweepLog>();
  log->path_ = path;
  log->file_.reset(fopen(path.c_str(), "abe"));
  if (log->file_ == nullptr) return SystemError(path);
  if (flock(fileno(log->file_.get()), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Status::Conflict(fmt::format("another motley sweep writes {}", path));
    }
    return Status::Resource(fmt::format("cannot lock {}: {}. Use a folder on another disk (--out)",
                                        path, std::strerror(errno)));
  }
  const std::string head = Line(JsonOf(plan));
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadRawFile(path));
  std::vector<std::string_view> lines = LinesOf(text);
  // A search that has no results yet, for example because its file was wrong.
  if (lines.size() == 1 && text.size() == lines.front().size() + 1 && IsPlan(lines.front())) {
    lines.clear();
  }
  // A first line that was cut off is the plan's, unless something else wrote the file.
  if (text.find('\n') == text.npos && !head.starts_with(text)) {
    return Status::Conflict(fmt::format(
        "{} is not a file of motley sweep. Use another folder (--out), or remove it", path));
  }
  if (!lines.empty() && std::string(lines.front()) + "\n" != head) {
    return Status::Conflict(fmt::format(
        "{} has the results of another search. Use another folder (--out), or remove it", path));
  }
  uint64_t whole = 0;
  for (const std::string_view line : lines) whole += line.size() + 1;
  RunCheck check(plan.search);
  for (size_t i = 1; i < lines.size(); ++i) {
    Result<SweptRun> run = RunOf(lines[i]);
    const std::string wrong = run.ok() ? check.Hear(*run) : run.status().message();
    if (run.ok()) log->earlier_.push_back(*std::move(run));
    if (wrong.empty()) continue;
    return Status::DataError(
        fmt::format("{}:{}: {}. The file is damaged. Remove this line, and the same command trains "
                    "what is missing",
                    path, i + 1, wrong));
  }
  if (ftruncate(fileno(log->file_.get()), static_cast<off_t>(whole)) != 0) return SystemError(path);
  if (whole == 0 && (fputs(head.c_str(), log->file_.get()) < 0 || fflush(log->file_.get()) != 0)) {
    return SystemError(path);
  }
  return log;
}

Status SweepLog::Add(const SweptRun& run) {
  const std::string line = Line(JsonOf(run));
  if (fputs(line.c_str(), file_.get()) < 0 || fflush(file_.get()) != 0) return SystemError(path_);
  return Status::Ok();
}

}  // namespace motley
