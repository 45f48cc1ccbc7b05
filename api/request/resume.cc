// SPDX-License-Identifier: Apache-2.0
#include "api/request/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "checkpoint/store/file_store.h"

namespace motley {
namespace {

template <typename T>
Status Contradicts(const char* option, const T& given, const T& saved) {
  return Status::Conflict(
      fmt::format("`{}` {}: the job of the checkpoint has {}, and its loss curve depends on it. "
                  "Leave it out, or start a new job without `resume`",
                  option, given, saved));
}

// Sets `value` to the saved job's, or refuses a different one.
template <typename T>
Status Same(const char* option, bool left_open, const T& saved, T& value) {
  if (!left_open && value != saved) return Contradicts(option, value, saved);
  value = saved;
  return Status::Ok();
}

// 0 stands for the default on both sides.
Status TakeUpSplit(const JobDescription& was, double& split) {
  double saved = was.meaning.split;
  if (split == 0) {
    split = saved;
    return Status::Ok();
  }
  if (saved == 0) saved = was.own_trainer ? kAllTrain : kDefaultSplit;
  return split == saved ? Status::Ok() : Contradicts("split", split, saved);
}

// A job does all steps or epochs that the user gives. It stops early only if the user gives a
// patience, too.
void TakeUpJudging(const JobDescription& was, JobRequest& request) {
  if (request.validation == 0) {
    request.validation = was.meaning.validation > 0 ? was.meaning.validation : -1;
  }
  if (request.evaluate_every.empty() && was.judge_every > 0) {
    request.evaluate_every = fmt::format("{}", was.judge_every);
  }
  if (request.patience != 0) return;
  const bool goes_on = request.open.steps && was.patience > 0;
  request.patience = goes_on ? static_cast<int32_t>(was.patience) : -1;
}

JobRequest::Open NothingOpen() {
  return {.optimizer = false,
          .learning_rate = false,
          .schedule = false,
          .batch = false,
          .steps = false,
          .seed = false,
          .checkpoint_every = false,
          .checkpoint_code = false};
}

}  // namespace

// Checks that the request reads the table as the saved job did.
Status TakeUpTable(const JobDescription& was, const JobRequest& request) {
  if (was.meaning.table.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const TableSchema table, ParseTableSchema(was.meaning.table));
  const bool regress = request.task == LabelTask::kRegress;
  if (request.task != LabelTask::kGuess && regress != table.regression) {
    return Contradicts("task", regress ? "regress" : "classify",
                       table.regression ? "regress" : "classify");
  }
  if (request.missing_given && request.table.missing != table.missing) {
    return Contradicts("missing", NameOf(request.table.missing), NameOf(table.missing));
  }
  if (request.table.scale_given && request.table.scale != table.scale) {
    return Contradicts("scale", NameOf(request.table.scale), NameOf(table.scale));
  }
  if (const auto decimal = request.table.decimal; decimal && !Allows(table, *decimal)) {
    return Contradicts("decimal", NameOf(*decimal), NameOf(OtherMark(*decimal)));
  }
  for (const std::string& name : request.table.drop) {
    const std::vector<std::string>& left_out = table.left_out;
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    return Contradicts<std::string>(
        "drop", name, left_out.empty() ? "none" : fmt::format("{}", fmt::join(left_out, ",")));
  }
  return Status::Ok();
}

Result<std::shared_ptr<const SavedJob>> LoadResume(
    const JobRequest& request, const std::function<void(const std::string&)>& say) {
  const std::string& resume = request.resume;
  const auto load = [&]() -> Result<SavedJob> {
    MOTLEY_ASSIGN_OR_RETURN(const auto store, OpenFileStore(resume, MissingFolder::kRefuse));
    std::vector<std::string> notes;
    std::optional<uint64_t> step;
    if (request.resume_step != 0) step = request.resume_step;
    auto saved = LoadSavedJob(*store, step, &notes);
    for (const std::string& note : notes) say("checkpoint: " + note);
    return saved;
  };
  auto saved = load();
  if (!saved.ok()) {
    const bool named = saved.status().ToString().find(resume) != std::string::npos;
    return saved.status().WithContext(named ? "`resume`" : "`resume` " + resume);
  }
  say(fmt::format("resuming from the checkpoint of step {} in {}", saved->step, resume));
  return std::make_shared<const SavedJob>(std::move(saved).value());
}

bool IsLost(const Status& status) {
  const StatusCode code = status.code();
  return code == StatusCode::kDataError || code == StatusCode::kNotDecodable ||
         code == StatusCode::kNotFound;
}

Status TakeUp(const SavedJob& saved, JobRequest& request) {
  const JobDescription& was = saved.about;
  const JobRequest::Open& open = request.open;
  if (!request.data.empty() && !was.own_trainer) {
    MOTLEY_RETURN_IF_ERROR(Same("model", request.model.empty(), was.model.name, request.model));
  }
  // CheckSameRule compares the optimizers of jobs with a rule of the program's own.
  const bool maybe_own = was.own_rule.value_or(was.own_trainer && !open.optimizer);
  if (!maybe_own) {
    MOTLEY_RETURN_IF_ERROR(
        Same("optimizer", open.optimizer, was.optimizer.name, request.optimizer.name));
  }
  MOTLEY_RETURN_IF_ERROR(Same("dropout", open.dropout, was.model.dropout, request.dropout));
  MOTLEY_RETURN_IF_ERROR(Same("batch", open.batch, was.batch, request.batch));
  if (was.partitions > 0) {
    MOTLEY_RETURN_IF_ERROR(
        Same("partitions", request.partitions == 0, was.partitions, request.partitions));
    request.keeps_partitions = true;
  }
  MOTLEY_RETURN_IF_ERROR(Same("seed", open.seed, saved.seed, request.seed));
  MOTLEY_RETURN_IF_ERROR(TakeUpSplit(was, request.split));
  MOTLEY_RETURN_IF_ERROR(TakeUpTable(was, request));
  MOTLEY_RETURN_IF_ERROR(Same("storage", request.storage.empty(),
                              std::string(NameOf(was.meaning.storage)), request.storage));
  OptimizerOptions& optimizer = request.optimizer;
  for (size_t i = 0; i < std::size(kOptimizerNumbers); ++i) {
    double OptimizerOptions::*const number = kOptimizerNumbers[i].value;
    if (!request.given_numbers[i]) optimizer.*number = was.optimizer.*number;
  }
  if (open.schedule) optimizer.schedule = was.optimizer.schedule;
  if (optimizer.groups.empty()) optimizer.groups = was.optimizer.groups;
  TakeUpJudging(was, request);
  if (open.steps) request.steps = was.steps;
  if (was.checkpoint_every > 0) {
    if (open.checkpoint_every) request.checkpoint_every = was.checkpoint_every;
    if (open.checkpoint_code) request.checkpoint_code = ToText(was.checkpoint_code);
  }
  const bool tolerate = open.tolerate, wait = open.wait;  // Taken from the new run only.
  request.open = NothingOpen();
  request.open.tolerate = tolerate;
  request.open.wait = wait;
  return Status::Ok();
}

Status ReadAs(const DataMeaning& was, DataRequest& request) {
  request.input_scale = was.input_scale;
  request.class_labels = was.class_labels;
  request.only_numbers = was.table.empty();
  if (was.table.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(TableSchema known, ParseTableSchema(was.table));
  request.class_names = known.classes;
  request.known = std::make_shared<const TableSchema>(std::move(known));
  return Status::Ok();
}

Result<std::unique_ptr<CheckpointFolder>> CheckpointFolder::Open(Loop& loop,
                                                                 const std::string& folder,
                                                                 const SavedJob* resumed) {
  auto made = std::make_unique<CheckpointFolder>();
  const auto open = [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(made->store_, OpenFileStore(folder, MissingFolder::kCreate));
    MOTLEY_RETURN_IF_ERROR(CheckBelongs(*made->store_, resumed != nullptr ? resumed->run : 0,
                                        resumed != nullptr ? resumed->step : 0));
    MOTLEY_ASSIGN_OR_RETURN(made->disk_, MakeThreadDisk(loop, *made->store_));
    return Status::Ok();
  };
  MOTLEY_RETURN_IF_ERROR(open().WithContext("`checkpoint` " + folder));
  return made;
}

}  // namespace motley
