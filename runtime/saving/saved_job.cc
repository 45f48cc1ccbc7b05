// SPDX-License-Identifier: Apache-2.0
#include "runtime/saving/saved_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "coding/kernels/combine.h"
#include "runtime/memory_need.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/trainers/callback_trainer.h"
#include "transport/wire/checksum.h"

namespace motley {
namespace {

constexpr char kOwnTrainer[] = "a trainer";  // Replaces a model's name.
constexpr uint64_t kProbes = 64;             // Samples that a fingerprint reads.

// FNV-1a (Fowler, Noll, Vo) detects other data, but not an attacker's.
uint64_t Hash(BytesView bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  }
  return hash;
}

Status Differs(const char* what, const std::string& saved, const std::string& now) {
  return Status::Conflict(
      fmt::format("the checkpoint's job has {} {}, this one {}: only workers, code, steps and "
                  "rates may change. "
                  "Leave it out, give {}, or start a new job in another folder",
                  what, saved, now, saved));
}

std::string WeightWords(const ModelSpec& model) {
  const std::vector<float>& weights = model.class_weights;
  constexpr size_t kMost = 6;
  if (weights.empty()) return "none";
  const std::span<const float> shown = std::span(weights).first(std::min(weights.size(), kMost));
  return fmt::format("{}{}", fmt::join(shown, ","), weights.size() > kMost ? ",..." : "");
}

std::string EndsOfGroups(const OptimizerOptions& options) {
  std::vector<uint64_t> ends;
  for (const ParameterGroup& group : options.groups) ends.push_back(group.end);
  return ends.empty() ? "none" : fmt::format("that end at {}", fmt::join(ends, ", "));
}

}  // namespace

Result<uint64_t> Fingerprint(const DataSource& data) {
  const uint64_t rows = data.shape().rows;
  std::vector<uint32_t> probes;
  const uint64_t count = std::min(rows, kProbes);
  for (uint64_t i = 0; i < count; ++i) probes.push_back(static_cast<uint32_t>(i * rows / count));
  MOTLEY_ASSIGN_OR_RETURN(const Dataset some, data.Gather(probes));
  return std::max<uint64_t>(Hash(EncodeBlock(some, 0, some.rows())), 1);
}

Result<uint64_t> FullFingerprint(const DataSource& data) {
  constexpr uint64_t kBlockBytes = uint64_t{8} << 20;
  const DataShape shape = data.shape();
  if (shape.features == 0) return 0;
  // The blocks depend on the shape alone, because each is hashed as EncodeBlock describes it.
  const uint64_t row_bytes = shape.sparse ? 1024 : sizeof(float) * uint64_t{shape.features};
  const uint64_t block = std::max<uint64_t>(1, kBlockBytes / row_bytes);
  Checksum sum;
  for (uint64_t begin = 0; begin < shape.rows; begin += block) {
    MOTLEY_ASSIGN_OR_RETURN(const Dataset some,
                            data.Range(begin, std::min(begin + block, shape.rows)));
    sum.Add(EncodeBlock(some, 0, some.rows()));
  }
  return std::max<uint64_t>(sum.Value(), 1);
}

Result<JobDescription> Describe(const JobOptions& options, const DataSource& data,
                                uint64_t parameters) {
  JobDescription about;
  about.model = options.model;
  about.own_trainer = options.foreign != nullptr;
  if (about.own_trainer) about.model.name = kOwnTrainer;
  about.parameters = parameters;
  about.optimizer = options.optimizer;
  about.own_rule = options.foreign != nullptr && options.foreign->apply != nullptr;
  about.samples = data.shape().rows;
  about.sparse = data.shape().sparse;
  MOTLEY_ASSIGN_OR_RETURN(about.fingerprint, Fingerprint(data));
  MOTLEY_ASSIGN_OR_RETURN(about.digest, FullFingerprint(data));
  about.batch = options.batch;
  about.meaning = options.meaning;
  about.steps = options.steps;
  about.judge_every = options.validation.every;
  about.patience = options.validation.patience;
  about.checkpoint_every = options.checkpoint.every;
  about.checkpoint_code = options.checkpoint.code;
  return about;
}

Result<SavedJob> Understand(const CheckpointState& state) {
  MOTLEY_ASSIGN_OR_RETURN(JobDescription about, ParseJobDescription(state.description));
  const uint64_t losses = about.history.batch_loss.size();
  const bool fits = about.parameters == state.parameters->size() && about.samples > 0 &&
                    about.batch > 0 && losses <= state.step &&
                    about.history.first_loss == state.step - losses;
  if (!fits) {
    return Status::DataError(
        fmt::format("the checkpoint of step {} says {} parameters, {} samples, batch {} and {} "
                    "losses from step "
                    "{} on, which does not fit its {} parameters",
                    state.step, about.parameters, about.samples, about.batch, losses,
                    about.history.first_loss, state.parameters->size()));
  }
  if (!std::isfinite(SumOfSquares(*state.parameters)) ||
      !std::isfinite(SumOfSquares(*state.optimizer_state))) {
    return Status::DataError(
        fmt::format("the checkpoint of step {} has parameters or an optimizer's state that are not "
                    "finite: its job had diverged. Go on from an older one, with `resume_step`",
                    state.step));
  }
  SavedJob saved;
  saved.run = state.job;
  saved.seed = state.seed;
  saved.step = state.step;
  saved.about = std::move(about);
  saved.parameters = state.parameters;
  saved.optimizer_steps = state.optimizer_steps;
  saved.optimizer_state = state.optimizer_state;
  if (!saved.about.best_follows) return saved;
  // The best version follows the optimizer's state.
  const std::vector<float>& both = *state.optimizer_state;
  if (both.size() < state.parameters->size()) {
    return Status::DataError(fmt::format(
        "the checkpoint of step {} says that it has its best version, and is too short for it",
        state.step));
  }
  const auto middle = both.end() - static_cast<ptrdiff_t>(state.parameters->size());
  saved.optimizer_state = std::make_shared<const std::vector<float>>(both.begin(), middle);
  saved.best = std::make_shared<const std::vector<float>>(middle, both.end());
  return saved;
}

Result<SavedJob> LoadSavedJob(Store& store, std::optional<uint64_t> step,
                              std::vector<std::string>* notes) {
  return OrNoMemory("a checkpoint", [&]() -> Result<SavedJob> {
    MOTLEY_ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpoint(store, step, notes));
    return Understand(state);
  });
}

Status CheckBelongs(Store& store, uint64_t run, uint64_t step) {
  return CheckWritable(store, run, step);
}

Status CheckSameShape(const SavedJob& saved, const ModelSpec& model, bool sparse) {
  const auto shape = [](const ModelSpec& of, bool is_sparse) {
    const std::string classes = of.classes > 0 ? fmt::format(", {} classes", of.classes) : "";
    return fmt::format("{} features{}{}", of.features, classes, is_sparse ? ", sparse" : "");
  };
  const JobDescription& was = saved.about;
  const std::string before = shape(was.model, was.sparse);
  const std::string now = shape(model, sparse);
  if (before == now) return Status::Ok();
  return Status::Conflict(
      fmt::format("these data have {}, those of the checkpoint's job had {}: give `data` of that "
                  "job, or start a new job in another folder",
                  now, before));
}

Status CheckSameRule(const JobDescription& saved, const OptimizerOptions& now, bool own_rule) {
  const OptimizerOptions& was = saved.optimizer;
  // An older description may be of either. With another name it is probably of the program's rule.
  const bool was_own =
      saved.own_rule.value_or(own_rule || (saved.own_trainer && was.name != now.name));
  if (was_own && !own_rule) {
    return Status::Conflict(fmt::format(
        "the program itself applied the updates of the checkpoint's job, and this job uses the "
        "library's {}, whose state is another: let the program apply them again (motley.torch: "
        "server_step=True), or start a new job in another folder",
        now.name));
  }
  if (own_rule && !was_own) {
    return Status::Conflict(fmt::format(
        "the library's {} applied the updates of the checkpoint's job, and here the program "
        "applies them itself, with another state: let the library apply them again (motley.torch: "
        "without server_step), or start a new job in another folder",
        was.name));
  }
  if (was.name != now.name) return Differs("optimizer", was.name, now.name);
  if (EndsOfGroups(was) != EndsOfGroups(now)) {
    return Differs("groups of parameters", EndsOfGroups(was), EndsOfGroups(now));
  }
  const OptimizerRule* rule = FindOptimizerRule(now.name);
  for (const RuleOption& option : rule != nullptr ? rule->options : std::span<const RuleOption>()) {
    const double before = was.*option.value, after = now.*option.value;
    if (!option.shapes_state || before == after) continue;
    return Differs(option.name, fmt::format("{}", before), fmt::format("{}", after));
  }
  return Status::Ok();
}

Status CheckSameJob(const SavedJob& saved, const JobDescription& now, uint64_t seed) {
  const JobDescription& was = saved.about;
  if (was.older_batches) {
    return Status::Conflict(
        "an older Motley wrote this checkpoint. Its batches depended on the number of workers that "
        "the job began with, and this release draws others: finish the job with that release, or "
        "take its model with `motley checkpoint export` and start a new job in another folder");
  }
  if (was.own_trainer != now.own_trainer ||
      (!was.own_trainer && was.model.name != now.model.name)) {
    return Differs("model", was.model.name, now.model.name);
  }
  MOTLEY_RETURN_IF_ERROR(CheckSameShape(saved, now.model, now.sparse));
  if (was.parameters != now.parameters) {
    return Differs("parameters:", std::to_string(was.parameters), std::to_string(now.parameters));
  }
  const bool own_rule = now.own_rule.value_or(was.own_rule.value_or(false));
  MOTLEY_RETURN_IF_ERROR(CheckSameRule(was, now.optimizer, own_rule));
  if (!was.own_trainer && was.model.class_weights != now.model.class_weights) {
    return Differs("class weights", WeightWords(was.model), WeightWords(now.model));
  }
  if (!was.own_trainer && was.model.dropout != now.model.dropout) {
    return Differs("dropout", fmt::format("{}", was.model.dropout),
                   fmt::format("{}", now.model.dropout));
  }
  const std::pair<const char*, std::pair<uint64_t, uint64_t>> numbers[] = {
      {"seed", {saved.seed, seed}},
      {"batch", {was.batch, now.batch}},
      {"samples:", {was.samples, now.samples}},
      {"partitions:", {was.partitions, was.partitions > 0 ? now.partitions : 0}}};
  for (const auto& [name, pair] : numbers) {
    if (pair.first == pair.second) continue;
    return Differs(name, std::to_string(pair.first), std::to_string(pair.second));
  }
  if (was.meaning.input_scale != now.meaning.input_scale) {
    return Differs("features scaled by", fmt::format("{}", was.meaning.input_scale),
                   fmt::format("{}", now.meaning.input_scale));
  }
  if (was.meaning.validation != now.meaning.validation) {
    return Differs("validation", fmt::format("{}", was.meaning.validation),
                   fmt::format("{}", now.meaning.validation));
  }
  if (was.meaning.storage != now.meaning.storage) {
    return Differs("storage", NameOf(was.meaning.storage), NameOf(now.meaning.storage));
  }
  const auto same = [](uint64_t before, uint64_t after) {
    return before == 0 || after == 0 || before == after;
  };
  const bool same_labels = was.meaning.class_labels == now.meaning.class_labels &&
                           was.meaning.table == now.meaning.table;
  if (same_labels && same(was.fingerprint, now.fingerprint) && same(was.digest, now.digest)) {
    return Status::Ok();
  }
  return Status::Conflict(
      "the data are not those of the checkpoint's job, though of the same shape: give the same "
      "`data`, `label` and `split`, or start a new job in another folder");
}

JobResult ResultOf(const SavedJob& saved) {
  JobResult result{saved.about.history};
  const JudgeState& judge = saved.about.validation.judge;
  result.parameters = saved.best != nullptr ? saved.best : saved.parameters;
  result.validation = {.best_version = judge.best_version,
                       .best_loss = judge.best,
                       .kept_best = saved.best != nullptr};
  result.steps = result.first_step = saved.step;
  result.seconds_before = result.wall_seconds;
  return result;
}

Result<SavedModel> ModelOf(const SavedJob& saved) {
  if (saved.about.own_trainer) {
    return Status::InvalidArgument("the checkpoint is of a trainer of its own, not of a model");
  }
  MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(saved.about.model));
  if (model->parameter_count() != saved.parameters->size()) {
    return Status::DataError(fmt::format("a {} of this shape has {} parameters, the checkpoint {}",
                                         saved.about.model.name, model->parameter_count(),
                                         saved.parameters->size()));
  }
  const std::vector<float>& left = saved.best != nullptr ? *saved.best : *saved.parameters;
  return SavedModel{saved.about.model, saved.about.meaning.class_labels, left,
                    saved.about.meaning.input_scale, saved.about.meaning.table};
}

}  // namespace motley
