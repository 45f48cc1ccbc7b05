// SPDX-License-Identifier: Apache-2.0
#include "api/request/job_request.h"

#include <fmt/format.h>

#include "api/request/parse.h"
#include "api/versioned.h"
#include "coding/code_form.h"
#include "data/formats/csv_line.h"
#include "data/raw_samples.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr uint64_t kMostNumber = 1u << 30;
constexpr uint64_t kMostThreads = 256;
constexpr uint64_t kMostMemory = uint64_t{1} << 60;  // Larger values are wrapped negative ones.
constexpr size_t kMostArguments = 1024;

void TakeText(const char* text, std::string& out) {
  if (text != nullptr) out = text;
}

template <typename T>
void TakeNumber(T number, T& out) {
  if (number != 0) out = number;
}

Status CheckMost(const char* option, uint64_t value, uint64_t most) {
  if (value <= most) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("`{}` {}: at most {} is possible", option, value, most));
}

Status CheckNumbers(const motley_job_options& given) {
  if (given.role < MOTLEY_ALL_IN_ONE || given.role > MOTLEY_SHARD_SERVER) {
    return Status::InvalidArgument(
        fmt::format("`role` {} is unknown: use MOTLEY_ALL_IN_ONE, MOTLEY_SERVER, MOTLEY_WORKER or "
                    "MOTLEY_SHARD_SERVER",
                    given.role));
  }
  constexpr uint64_t kAllGiven = MOTLEY_GIVEN_SEED | MOTLEY_GIVEN_L2 | MOTLEY_GIVEN_TOLERATE |
                                 MOTLEY_GIVEN_DROPOUT | MOTLEY_GIVEN_FOLLOWERS;
  if ((given.given & ~kAllGiven) != 0) {
    return Status::InvalidArgument(fmt::format(
        "`given` {:#x}: there are MOTLEY_GIVEN_SEED, MOTLEY_GIVEN_L2, MOTLEY_GIVEN_TOLERATE, "
        "MOTLEY_GIVEN_DROPOUT and MOTLEY_GIVEN_FOLLOWERS",
        given.given));
  }
  const bool resumes = given.resume != nullptr && *given.resume != '\0';
  if (resumes && given.init != nullptr && *given.init != '\0') {
    return Status::InvalidArgument(
        fmt::format("`init` {}: with `resume` a job goes on from its checkpoint. Leave one of them "
                    "out",
                    given.init));
  }
  if (given.resume_step != 0 && !resumes) {
    return Status::InvalidArgument(fmt::format(
        "`resume_step` {}: give the folder of that checkpoint with `resume`", given.resume_step));
  }
  if (given.split != 0 && !(given.split > 0 && given.split < 1)) {
    return Status::InvalidArgument(
        fmt::format("`split` {}: the fraction of samples must lie between 0 and 1, ends excluded",
                    given.split));
  }
  if (!(given.dropout >= 0 && given.dropout < 1)) {
    return Status::InvalidArgument(
        fmt::format("`dropout` {}: the probability must be at least 0 and below 1", given.dropout));
  }
  if (!(given.validation < 1)) {
    return Status::InvalidArgument(fmt::format(
        "`validation` {}: the fraction of training samples must lie between 0 and 1, ends excluded",
        given.validation));
  }
  constexpr double kLeastLimit = 0.1, kMostLimit = 1e6;  // Seconds.
  if (given.step_limit != 0 &&
      !(given.step_limit >= kLeastLimit && given.step_limit <= kMostLimit)) {
    return Status::InvalidArgument(
        fmt::format("`step_limit` {}: from {} to {:.0f} seconds are possible, and 0 for no limit",
                    given.step_limit, kLeastLimit, kMostLimit));
  }
  if (!(given.audit <= 1)) {
    return Status::InvalidArgument(fmt::format(
        "`audit` {}: the fraction of steps must lie between 0 and 1, ends included", given.audit));
  }
  MOTLEY_RETURN_IF_ERROR(CheckMost("evaluate_training", given.evaluate_training, 1));
  MOTLEY_RETURN_IF_ERROR(CheckMost("forever", given.forever, 1));
  MOTLEY_RETURN_IF_ERROR(CheckMost("batch", given.batch, kMostNumber));
  MOTLEY_RETURN_IF_ERROR(CheckMost("parts", given.parts, kMaxParts));
  MOTLEY_RETURN_IF_ERROR(CheckMost("epochs", given.epochs, kMostNumber));
  MOTLEY_RETURN_IF_ERROR(CheckMost("steps", given.steps, kMostSteps));
  MOTLEY_RETURN_IF_ERROR(CheckMost("sample_count", given.sample_count, kMaxRows));
  MOTLEY_RETURN_IF_ERROR(CheckMost("memory_bytes", given.memory_bytes, kMostMemory));
  return CheckMost("threads", given.threads, kMostThreads);
}

// Splits "a b  c" into three parts.
std::vector<std::string> SplitAtBlanks(std::string_view text) {
  std::vector<std::string> parts;
  constexpr std::string_view kBlanks = " \t\n";
  for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return parts;
}

JobRequest::Open OpenIn(const motley_job_options& given) {
  const motley_job_options nothing = MOTLEY_JOB_OPTIONS_INIT;
  JobRequest::Open open;
  open.optimizer = given.optimizer == nullptr;
  open.learning_rate = given.learning_rate == 0;
  open.dropout = given.dropout == 0 && (given.given & MOTLEY_GIVEN_DROPOUT) == 0;
  open.schedule = given.schedule == nullptr;
  open.batch = given.batch == 0;
  open.listen = given.listen == nullptr || *given.listen == '\0';
  open.steps = given.steps == 0 && given.epochs == 0;
  open.seed = given.seed == nothing.seed && (given.given & MOTLEY_GIVEN_SEED) == 0;
  open.tolerate = given.tolerate == nothing.tolerate && (given.given & MOTLEY_GIVEN_TOLERATE) == 0;
  open.wait = given.wait == nullptr || *given.wait == '\0';
  open.checkpoint_every = given.checkpoint_every == 0;
  open.checkpoint_code = given.checkpoint_code == nullptr;
  return open;
}

Status TakeWait(const char* text, Duration& out) {
  constexpr double kMostSeconds = 1e6;
  if (text == nullptr || *text == '\0') return Status::Ok();
  if (std::string_view(text) == "0s") {
    out = Duration::zero();
    return Status::Ok();
  }
  const Result<Duration> wait = ParseDuration("`wait`", text, kMostSeconds);
  if (!wait.ok()) {
    return Status::InvalidArgument(fmt::format(
        "`wait` {}: this is not a time. Give a number with its unit, like 30s, 10min or "
        "2h, up to {:.0f}s; 0s does not wait",
        text, kMostSeconds));
  }
  out = *wait;
  return Status::Ok();
}

// Splits "name,date" into two names. Quotes are as in CSV: "\"a,b\",c" has the names a,b and c.
Result<std::vector<std::string>> SplitNames(const std::string& text) {
  CsvFields fields;
  if (!fields.Split(text, ',')) {
    return Status::InvalidArgument(fmt::format("`drop` {}: a quote is not closed", text));
  }
  std::vector<std::string> names;
  for (const std::string_view name : fields.all()) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Status TakeTable(const motley_job_options& given, JobRequest& request) {
  const auto text = [](const char* option) { return std::string(option != nullptr ? option : ""); };
  MOTLEY_ASSIGN_OR_RETURN(request.task, ParseTask(text(given.task)));
  const std::string missing = text(given.missing), scale = text(given.scale);
  request.missing_given = !missing.empty();
  if (!missing.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(request.table.missing, ParseTableMissing(missing));
  }
  request.table.scale_given = !scale.empty();
  if (!scale.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(request.table.scale, ParseTableScale(scale));
  }
  if (const std::string decimal = text(given.decimal); !decimal.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(request.table.decimal, ParseDecimal(decimal));
  }
  MOTLEY_ASSIGN_OR_RETURN(request.table.drop, SplitNames(text(given.drop)));
  return Status::Ok();
}

Status TakeCommand(const char* const* command, std::vector<std::string>& out) {
  if (command == nullptr) return Status::Ok();
  for (; *command != nullptr; ++command) {
    if (out.size() == kMostArguments) {
      return Status::InvalidArgument(fmt::format(
          "`worker_command` has more than {} arguments: end it with NULL", kMostArguments));
    }
    out.emplace_back(*command);
  }
  if (!out.empty() && !out.front().empty()) return Status::Ok();
  return Status::InvalidArgument(
      "`worker_command` names no program: give its path, its arguments and NULL");
}

}  // namespace

namespace {

Status TakeLearning(const motley_job_options& given, JobRequest& request) {
  if (given.class_weights != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(request.class_weights, ParseClassWeights(given.class_weights));
  }
  request.dropout = given.dropout;
  OptimizerOptions& optimizer = request.optimizer;
  TakeText(given.optimizer, optimizer.name);
  optimizer = UsualOptions(optimizer.name);
  for (size_t i = 0; i < std::size(kOptimizerNumbers); ++i) {
    const OptimizerNumber& number = kOptimizerNumbers[i];
    const double value = given.*number.given;
    request.given_numbers[i] = value != 0 || (given.given & number.given_zero) != 0;
    if (request.given_numbers[i]) optimizer.*number.value = value;
  }
  TakeText(given.schedule, optimizer.schedule);
  TakeText(given.evaluate_every, request.evaluate_every);
  request.validation = given.validation;
  request.patience = given.patience;
  TakeNumber(given.batch, request.batch);
  TakeNumber(given.epochs, request.epochs);
  request.steps = given.steps;
  return Status::Ok();
}

}  // namespace

Result<JobRequest> ReadJobOptions(const motley_job_options& options) {
  MOTLEY_ASSIGN_OR_RETURN(const motley_job_options given,
                          ReadVersioned(&options, motley_job_options MOTLEY_JOB_OPTIONS_INIT,
                                        "motley_job_options", "MOTLEY_JOB_OPTIONS_INIT"));
  MOTLEY_RETURN_IF_ERROR(CheckNumbers(given));
  JobRequest request;
  request.role = given.role;
  TakeText(given.data, request.data);
  TakeText(given.label, request.label);
  request.split = given.split;
  TakeText(given.storage, request.storage);
  MOTLEY_RETURN_IF_ERROR(TakeTable(given, request));
  TakeText(given.init, request.init);
  MOTLEY_ASSIGN_OR_RETURN(request.format,
                          ParseModelFormat(given.format != nullptr ? given.format : ""));
  request.sample_count = given.sample_count;
  request.memory_bytes = given.memory_bytes;
  TakeText(given.model, request.model);
  MOTLEY_RETURN_IF_ERROR(TakeLearning(given, request));
  request.seed = given.seed;
  request.workers = given.workers;
  request.min_workers = given.min_workers;
  request.fastest = given.fastest;
  request.partitions = given.partitions;
  request.forever = given.forever != 0;
  request.tolerate = given.tolerate;
  request.parts = given.parts;
  TakeText(given.code, request.code);
  request.quorum = given.quorum;
  TakeText(given.reduce, request.reduce);
  if (given.followers > 0 || (given.given & MOTLEY_GIVEN_FOLLOWERS) != 0) {
    request.followers = given.followers;
  }
  TakeText(given.wire, request.wire);
  TakeText(given.sync, request.sync);
  request.outer_rate = given.outer_rate;
  request.outer_momentum = given.outer_momentum;
  TakeText(given.staleness, request.staleness);
  TakeText(given.step_deadline, request.step_deadline);
  TakeText(given.shares, request.shares);
  TakeText(given.worker_speeds, request.speeds);
  TakeText(given.sample_time, request.sample_time);
  if (given.faults != nullptr) request.faults = SplitAtBlanks(given.faults);
  MOTLEY_RETURN_IF_ERROR(TakeCommand(given.worker_command, request.worker_command));
  TakeText(given.listen, request.listen);
  TakeText(given.server, request.server);
  TakeText(given.token, request.token);
  TakeText(given.name, request.name);
  MOTLEY_RETURN_IF_ERROR(TakeWait(given.wait, request.wait));
  request.threads = given.threads;
  TakeText(given.devices, request.devices);
  request.open = OpenIn(given);
  TakeText(given.checkpoint, request.checkpoint);
  TakeNumber(given.checkpoint_every, request.checkpoint_every);
  TakeText(given.checkpoint_code, request.checkpoint_code);
  TakeText(given.resume, request.resume);
  request.resume_step = given.resume_step;
  TakeText(given.record_profile, request.record_profile);
  request.allowed_steps = given.allowed_steps;
  if (request.allowed_steps > 0 && request.open.steps) {
    request.steps = kMostSteps;
    request.open.steps = false;
  }
  request.step_limit = given.step_limit;
  request.evaluate_training = given.evaluate_training != 0;
  request.audit = given.audit;
  return request;
}

}  // namespace motley
