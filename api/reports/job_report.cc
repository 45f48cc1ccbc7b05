// SPDX-License-Identifier: Apache-2.0
#include "api/reports/job_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/reports/audit_text.h"
#include "api/reports/evaluation_json.h"
#include "api/reports/notice_text.h"
#include "api/reports/run_recording.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "runtime/audit/audit.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

double PerSecond(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

uint64_t Transfers(const JobResult& job) {
  uint64_t sum = 0;
  for (const WorkerStats& worker : job.scheduler.workers) sum += worker.placed_partitions;
  return sum;
}

Json WorkersJson(const TrainReport& report) {
  Json list = Json::array();
  for (const WorkerLine& line : WorkerLines(report.plan, report.job)) {
    list.push_back({{"worker", line.worker},
                    {"name", line.name},
                    {"relative_speed", line.relative_speed},
                    {"share", line.share},
                    {"share_at_end", line.share_at_end},
                    {"samples", line.samples},
                    {"held_bytes", line.held_bytes},
                    {"steps_in_time", static_cast<uint64_t>(line.steps_in_time)},
                    {"late", static_cast<uint64_t>(line.late)},
                    {"rejected", line.rejected},
                    {"transfers", line.transfers},
                    {"lost", line.lost},
                    {"left", line.left}});
  }
  return list;
}

const std::string& CodeAtEnd(const TrainReport& report) {
  const std::string& chosen = report.job.scheduler.code;
  return chosen.empty() ? report.plan.job.code : chosen;
}

// What auto chose, and from which step on.
Json ChoicesJson(const std::vector<CodeChoice>& choices) {
  Json list = Json::array();
  for (const CodeChoice& choice : choices) {
    list.push_back({{"step", choice.step},
                    {"code", choice.code},
                    {"tolerate", choice.tolerate},
                    {"why", ReasonText(choice.why)}});
  }
  return list;
}

Json CheckpointJson(const JobResult& job) {
  Json json = {{"step", job.checkpoint_step},
               {"written", job.checkpoints},
               {"failed", job.checkpoint_failures}};
  if (!job.checkpoint_status.ok()) json["error"] = job.checkpoint_status.ToString();
  if (job.checkpoint_weakness) json["degraded"] = DegradedText(*job.checkpoint_weakness);
  return json;
}

Json EmulationJson(const Emulation& emulation, uint32_t copies) {
  return {{"sample_seconds", ToSeconds(emulation.sample_time)},
          {"real_sample_seconds", emulation.real_sample_seconds},
          {"cores", emulation.cores},
          {"cores_used", emulation.cores_used},
          // A code computes every sample so often.
          {"allowed_samples_per_second", emulation.samples_per_second / copies}};
}

Json AuditJson(const JobResult& job) {
  Json warnings = Json::array();
  for (const AuditWarning& warning : job.audit.warnings) {
    warnings.push_back({{"step", warning.step},
                        {"difference", warning.difference},
                        {"sent_away", warning.sent_away},
                        {"message", AuditText(warning)}});
    if (!warning.worker) continue;
    warnings.back()["worker"] = *warning.worker;
    warnings.back()["name"] = warning.name;
  }
  return {{"steps", job.audited_steps},
          {"tolerance", kAuditTolerance},
          {"largest_difference", job.audit.max_difference},
          {"failures", job.audit_failures},
          {"warnings", std::move(warnings)}};
}

Json LearningJson(const JobOptions& job) {
  const OptimizerOptions& by = job.local.batch > 0 ? job.local.optimizer : job.optimizer;
  const bool own = job.foreign != nullptr && job.foreign->apply;
  Json json = {{"optimizer", own ? "own" : by.name},
               {"learning_rate", by.learning_rate},
               {"schedule", by.schedule},
               {"batch", job.batch / job.turns},
               {"steps", job.steps},
               {"l2", by.l2}};
  if (!by.groups.empty()) json["learning_rate"] = by.groups[0].learning_rate;
  for (const ParameterGroup& group : by.groups) {
    json["groups"].push_back({{"end", group.end},
                              {"learning_rate", group.learning_rate},
                              {"l2", group.l2},
                              {"weight_decay", group.weight_decay}});
  }
  if (job.local.batch > 0) {
    json["local"] = {{"steps", job.sync.local_steps},
                     {"batch", job.local.batch},
                     {"outer_rate", job.optimizer.learning_rate},
                     {"outer_momentum", job.optimizer.momentum}};
    if (job.local.ahead > 0) json["local"]["ahead"] = job.local.ahead;
  }
  if (by.clip > 0) json["clip"] = by.clip;
  if (by.weight_decay > 0) json["weight_decay"] = by.weight_decay;
  if (job.model.dropout > 0) json["dropout"] = job.model.dropout;
  if (!job.model.class_weights.empty()) json["class_weights"] = job.model.class_weights;
  return json;
}

Json JudgingJson(const TrainReport& report) {
  const ValidationOptions& options = report.plan.job.validation;
  const ValidationSummary& found = report.job.validation;
  Json json = {{"every", options.every},
               {"patience", options.patience},
               {"samples", options.samples != nullptr ? options.samples->shape().rows : 0},
               {"evaluations", found.evaluations},
               {"waited_seconds", found.waited_seconds},
               {"kept_best", found.kept_best}};
  if (found.best_version > 0) {
    json["best_step"] = found.best_version;
    json["best_loss"] = found.best_loss * report.loss_unit;
  }
  return json;
}

// How it learned, and why it ended.
void AddCourse(const TrainReport& report, Json& json) {
  json["learning"] = LearningJson(report.plan.job);
  if (report.plan.job.validation.every > 0) json["judging"] = JudgingJson(report);
  json["sync"] = NameOf(report.plan.job.sync);
  if (report.plan.job.sync.one_each) {
    const StalenessRecord& staleness = report.job.staleness;
    json["staleness"] = {{"mean", staleness.mean()}, {"max", staleness.max}};
  }
  json["wire"] = NameOf(report.plan.job.wire);
  if (report.plan.job.wire != WireFormat::kFloat32) {
    json["rounding_noise"] = report.plan.rounding_noise;
  }
}

void AddScores(const TrainReport& report, Json& json) {
  const DataMeaning& meaning = report.plan.job.meaning;
  const auto scores = [&](const Evaluation& found) {
    return Json::parse(
        EvaluationJson(InUnitsOfLabels(found, report.loss_unit), meaning.class_labels,
                       meaning.table.empty() ? std::vector<std::string>() : report.classes));
  };
  if (report.train) {
    json["final_loss"] = report.train->loss * report.loss_unit;
    json["training"] = scores(*report.train);
  }
  if (!report.not_tested.empty()) json["not_tested"] = report.not_tested;
  if (!report.test) return;
  json["test_loss"] = report.test->loss * report.loss_unit;
  if (report.test->accuracy) json["test_accuracy"] = *report.test->accuracy;
  json["test"] = scores(*report.test);
}

Json ApproximateJson(const ApproximateRecord& record) {
  return {{"steps", record.steps},
          {"mean_error", record.mean_error()},
          {"max_error", record.max_error}};
}

// How much of the job this run did, where that is not all of it.
void AddRun(const TrainReport& report, Json& json) {
  const JobResult& job = report.job;
  if (job.steps < report.plan.job.steps) {
    const bool failed = !job.status.ok() && job.status.code() != StatusCode::kCancelled;
    const std::string why = failed ? "it ended by an error" : "it was stopped";
    json["stopped_early"] = job.stopped_early.empty() ? why : job.stopped_early;
    json["steps_wanted"] = report.plan.job.steps;
  }
  if (job.first_step > 0) {
    json["resumed_from"] = job.first_step;
    json["run_seconds"] = job.wall_seconds - job.seconds_before;
  }
}

}  // namespace

double Quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  const size_t index = rank < 1 ? 0 : std::min(values.size(), static_cast<size_t>(rank)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(index), values.end());
  return values[index];
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<WorkerLine> WorkerLines(const JobPlan& plan, const JobResult& job) {
  double fastest = 0;
  for (const WorkerStats& stats : job.scheduler.workers) fastest = std::max(fastest, stats.speed);
  // Not steps by epochs: an epoch's last batch has what is left over, which may be little.
  const uint64_t done =
      plan.steps_per_epoch > 0 ? plan.SamplesIn(job.steps) - plan.SamplesIn(job.first_step) : 0;
  std::vector<WorkerLine> lines;
  size_t count = job.scheduler.workers.size();
  if (plan.job.gather_time) {
    while (count > 0 && !job.scheduler.workers[count - 1].joined) --count;
  }
  for (size_t i = 0; i < count; ++i) {
    const WorkerStats& stats = job.scheduler.workers[i];
    WorkerLine line;
    line.worker = static_cast<uint32_t>(i);
    line.name = i < job.worker_names.size() ? job.worker_names[i] : "";
    if (line.name.empty()) line.name = fmt::format("worker-{}", i);
    line.relative_speed = fastest > 0 ? stats.speed / fastest : 0;
    line.share_at_end = stats.share;
    line.share = done > 0 ? static_cast<double>(stats.samples) / static_cast<double>(done) : 0;
    line.samples = line.share * static_cast<double>(plan.samples);
    line.steps_in_time = static_cast<double>(stats.steps_in_time);
    line.late = static_cast<double>(stats.late);
    line.rejected = stats.rejected;
    line.transfers = stats.placed_partitions;
    line.held_bytes = i < job.held_bytes.size() ? job.held_bytes[i] : 0;
    line.lost = stats.lost || !stats.joined;
    line.left = stats.left;
    lines.push_back(line);
  }
  return lines;
}

std::optional<double> LastEpochLoss(const JobPlan& plan, const JobResult& job) {
  const uint64_t kept = std::min<uint64_t>(plan.steps_per_epoch, job.batch_loss.size());
  double loss = 0, samples = 0;
  for (uint64_t back = 1; back <= kept; ++back) {
    const uint64_t step = job.first_loss + job.batch_loss.size() - back;
    const auto batch = static_cast<double>(plan.SamplesIn(step + 1) - plan.SamplesIn(step));
    loss += batch * job.batch_loss[job.batch_loss.size() - back];
    samples += batch;
  }
  if (samples == 0) return std::nullopt;
  return loss / samples;
}

// Without a word of the job, what was asked for is what was done.
std::string ReduceJson(const JobOptions& job, const std::string& said) {
  if (!said.empty()) return said;
  using Holders = JobOptions::Holders;
  ReduceMode mode{Reduce::kStar, 0};
  if (job.holders == Holders::kWorkers) mode.kind = Reduce::kDirect;
  if (job.holders == Holders::kShardServers) mode = {Reduce::kSharded, job.shard_servers};
  if (job.holders == Holders::kChosen) mode.kind = Reduce::kAuto;  // It ended before its choice.
  const Json json = {{"by", NameOf(mode)}};
  return json.dump();
}

std::string TrainJson(const TrainReport& report) {
  const JobPlan& plan = report.plan;
  const JobResult& job = report.job;
  const auto samples = static_cast<double>(plan.SamplesIn(job.steps));
  const bool stepped = !job.step_seconds.empty();
  Json json = {{"steps", job.steps},
               {"epochs", plan.Epochs(job.steps)},
               {"wall_seconds", job.wall_seconds},
               {"steps_per_second", PerSecond(static_cast<double>(job.steps), job.wall_seconds)},
               {"samples_per_second", PerSecond(samples, job.wall_seconds)},
               {"step_seconds",
                {{"median", Quantile(job.step_seconds, 0.5)},
                 {"p99", Quantile(job.step_seconds, 0.99)},
                 {"max", job.slowest_seconds}}},
               {"discarded_steps", job.discarded_steps},
               {"max_decode_error", job.max_decode_error},
               {"audited_steps", job.audited_steps},
               {"audit", AuditJson(job)},
               {"code", plan.job.code},
               {"tolerate", plan.job.tolerate},
               {"tolerate_at_end", job.scheduler.tolerates},
               {"code_at_end", CodeAtEnd(report)},
               {"shares", plan.job.shares == Shares::kEqual ? "equal" : "proportional"},
               {"model", plan.job.model.name},
               {"seed", plan.job.seed},
               {"data_transfers", Transfers(job)},
               {"replans", job.scheduler.replans},
               {"rows_reassigned", job.scheduler.rows_reassigned},
               {"steps_restarted", job.scheduler.steps_restarted},
               {"workers", WorkersJson(report)}};
  if (stepped) {
    json["step_seconds"]["max_step"] = job.slowest_step;
  }
  const Scheme& scheme = SchemeNamed(plan.job.code);
  if (!scheme.exact) json["approximate"] = ApproximateJson(job.approximate);
  if (scheme.has_parts) json["parts"] = plan.job.parts;
  if (scheme.chosen_later()) json["choices"] = ChoicesJson(job.scheduler.choices);
  json["reduce"] = Json::parse(ReduceJson(plan.job, report.reduction));
  AddRun(report, json);
  AddCourse(report, json);
  if (plan.job.checkpoint.every > 0) json["checkpoint"] = CheckpointJson(job);
  if (!report.recorded_in.empty()) {
    json["recording"] = {{"profile", report.recorded_in},
                         {"trace", TracePathFor(report.recorded_in)}};
    if (!report.recorded.ok()) json["recording"]["error"] = report.recorded.ToString();
  }
  const double unit = report.loss_unit;
  if (!report.classes.empty()) json["classes"] = report.classes;
  if (!job.batch_loss.empty()) json["batch_loss"] = job.batch_loss.back() * unit;
  if (const auto loss = LastEpochLoss(plan, job)) json["last_epoch_loss"] = *loss * unit;
  AddScores(report, json);
  if (report.emulation) {
    // Copies of adaptive are held, not computed.
    // And what auto chose at last is as good as what was asked for.
    const uint32_t tolerates = scheme.chosen_later() ? job.scheduler.tolerates : plan.job.tolerate;
    const uint32_t computed = SchemeNamed(CodeAtEnd(report)).Computed(tolerates, plan.job.parts);
    json["emulation"] = EmulationJson(*report.emulation, computed);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace motley
