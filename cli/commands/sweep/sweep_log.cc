// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_log.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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

SweptRun RunOf(const ordered_json& json) {
  SweptRun run;
  run.trial = json.at("trial").get<uint32_t>();
  run.rung = json.at("rung").get<uint32_t>();
  run.epochs = json.at("epochs").get<uint32_t>();
  run.values = json.at("values").get<std::vector<std::string>>();
  const ordered_json& loss = json.at("loss");
  run.loss = loss.is_null() ? std::numeric_limits<double>::infinity() : loss.get<double>();
  run.seconds = json.at("seconds").get<double>();
  if (json.contains("test_loss")) run.test_loss = json["test_loss"].get<double>();
  if (json.contains("test_accuracy")) run.test_accuracy = json["test_accuracy"].get<double>();
  run.error = json.value("error", "");
  return run;
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

}  // namespace

Result<std::unique_ptr<SweepLog>> SweepLog::Open(const std::string& path, const SweepPlan& plan) {
  auto log = std::make_unique<SweepLog>();
  log->path_ = path;
  log->file_.reset(fopen(path.c_str(), "abe"));
  if (log->file_ == nullptr) return SystemError(path);
  if (flock(fileno(log->file_.get()), LOCK_EX | LOCK_NB) != 0) {
    return Status::Conflict(fmt::format("another motley sweep writes {}", path));
  }
  const std::string head = Line(JsonOf(plan));
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadRawFile(path));
  const std::vector<std::string_view> lines = LinesOf(text);
  if (!lines.empty() && std::string(lines.front()) + "\n" != head) {
    return Status::Conflict(fmt::format(
        "{} has the results of another search. Use another folder (--out), or remove it", path));
  }
  uint64_t whole = 0;
  for (const std::string_view line : lines) whole += line.size() + 1;
  for (size_t i = 1; i < lines.size(); ++i) {
    try {
      log->earlier_.push_back(RunOf(ordered_json::parse(lines[i])));
    } catch (const ordered_json::exception& error) {
      return Status::DataError(fmt::format("{}:{}: {}", path, i + 1, error.what()));
    }
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
