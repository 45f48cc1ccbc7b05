// SPDX-License-Identifier: Apache-2.0
#include "runtime/saved_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kVersion = 1;         // Of the description; readers take this and older ones.
constexpr uint64_t kProbes = 64;         // Samples of a fingerprint.
constexpr size_t kMostLosses = 1 << 20;  // 20 MiB of text.

// FNV-1a (Fowler, Noll, Vo): tells other data apart, not an attacker's.
uint64_t Hash(BytesView bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  }
  return hash;
}

// JSON has no other numbers.
double Finite(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::max();
}

JobDescription FromJson(const Json& json) {
  JobDescription about;
  const Json& model = json.at("model");
  model.at("name").get_to(about.model.name);
  model.at("features").get_to(about.model.features);
  model.at("classes").get_to(about.model.classes);
  model.at("parameters").get_to(about.parameters);
  model.at("own_trainer").get_to(about.own_trainer);
  const Json& optimizer = json.at("optimizer");
  optimizer.at("name").get_to(about.optimizer);
  optimizer.at("learning_rate").get_to(about.learning_rate);
  optimizer.at("l2").get_to(about.l2);
  const Json& data = json.at("data");
  data.at("samples").get_to(about.samples);
  data.at("sparse").get_to(about.sparse);
  data.at("fingerprint").get_to(about.fingerprint);
  data.at("class_labels").get_to(about.meaning.class_labels);
  data.at("input_scale").get_to(about.meaning.input_scale);
  data.at("split").get_to(about.meaning.split);
  json.at("batch").get_to(about.batch);
  json.at("partitions").get_to(about.partitions);
  json.at("steps").get_to(about.steps);
  const Json& history = json.at("history");
  history.at("wall_seconds").get_to(about.history.wall_seconds);
  history.at("discarded_steps").get_to(about.history.discarded_steps);
  history.at("audited_steps").get_to(about.history.audited_steps);
  history.at("max_decode_error").get_to(about.history.max_decode_error);
  history.at("max_amplification").get_to(about.history.max_amplification);
  history.at("first_loss").get_to(about.history.first_loss);
  history.at("batch_loss").get_to(about.history.batch_loss);
  return about;
}

Status Differs(const char* what, const std::string& saved, const std::string& now) {
  return Status::Conflict(
      fmt::format("the checkpoint's job has {} {}, this one {}: only workers, code, steps and "
                  "rates may change. "
                  "Leave it out, give {}, or start a new job in another folder",
                  what, saved, now, saved));
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

Result<JobDescription> Describe(const JobOptions& options, const DataSource& data,
                                const BatchSchedule& schedule, uint64_t parameters) {
  JobDescription about;
  about.model = options.model;
  about.own_trainer = options.foreign != nullptr;
  about.parameters = parameters;
  about.optimizer = options.optimizer.name;
  about.samples = data.shape().rows;
  about.sparse = data.shape().sparse;
  MOTLEY_ASSIGN_OR_RETURN(about.fingerprint, Fingerprint(data));
  about.batch = options.batch;
  about.partitions = static_cast<uint32_t>(schedule.partition_sizes().size());
  about.meaning = options.meaning;
  about.learning_rate = options.optimizer.learning_rate;
  about.l2 = options.optimizer.l2;
  about.steps = options.steps;
  return about;
}

std::string ToJson(const JobDescription& about) {
  const JobHistory& history = about.history;
  const size_t dropped =
      history.batch_loss.size() - std::min(history.batch_loss.size(), kMostLosses);
  std::vector<double> losses(history.batch_loss.begin() + static_cast<ptrdiff_t>(dropped),
                             history.batch_loss.end());
  for (double& loss : losses) loss = Finite(loss);
  const Json json = {
      {"version", kVersion},
      {"model",
       {{"name", about.model.name},
        {"features", about.model.features},
        {"classes", about.model.classes},
        {"parameters", about.parameters},
        {"own_trainer", about.own_trainer}}},
      {"optimizer",
       {{"name", about.optimizer}, {"learning_rate", about.learning_rate}, {"l2", about.l2}}},
      {"data",
       {{"samples", about.samples},
        {"sparse", about.sparse},
        {"fingerprint", about.fingerprint},
        {"class_labels", about.meaning.class_labels},
        {"input_scale", about.meaning.input_scale},
        {"split", about.meaning.split}}},
      {"batch", about.batch},
      {"partitions", about.partitions},
      {"steps", about.steps},
      {"history",
       {{"wall_seconds", history.wall_seconds},
        {"discarded_steps", history.discarded_steps},
        {"audited_steps", history.audited_steps},
        {"max_decode_error", Finite(history.max_decode_error)},
        {"max_amplification", Finite(history.max_amplification)},
        {"first_loss", history.first_loss + dropped},
        {"batch_loss", losses}}}};
  return json.dump();
}

Result<JobDescription> ParseJobDescription(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const auto version = json.at("version").get<uint32_t>();
    if (version > kVersion) {
      return Status::Conflict(
          fmt::format("a newer Motley wrote this checkpoint (its description has version {}, this "
                      "one reads up to {})",
                      version, kVersion));
    }
    return FromJson(json);
  } catch (const nlohmann::json::exception& error) {
    return Status::DataError(fmt::format("a checkpoint's description: {}", error.what()));
  }
}

Result<SavedJob> Understand(const CheckpointState& state) {
  MOTLEY_ASSIGN_OR_RETURN(JobDescription about, ParseJobDescription(state.description));
  const uint64_t losses = about.history.batch_loss.size();
  const bool fits = about.parameters == state.parameters->size() && about.partitions > 0 &&
                    about.partitions <= about.samples && about.batch > 0 &&
                    about.history.first_loss + losses == state.step;
  if (!fits) {
    return Status::DataError(fmt::format(
        "the checkpoint of step {} says {} parameters, {} partitions of {} samples, batch {} and "
        "losses up to step {}, which does not fit its {} parameters",
        state.step, about.parameters, about.partitions, about.samples, about.batch,
        about.history.first_loss + losses, state.parameters->size()));
  }
  SavedJob saved;
  saved.run = state.job;
  saved.seed = state.seed;
  saved.step = state.step;
  saved.about = std::move(about);
  saved.parameters = state.parameters;
  saved.optimizer_steps = state.optimizer_steps;
  saved.optimizer_state = state.optimizer_state;
  return saved;
}

Result<SavedJob> LoadSavedJob(Store& store, std::optional<uint64_t> step,
                              std::vector<std::string>* notes) {
  MOTLEY_ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpoint(store, step, notes));
  return Understand(state);
}

Status CheckBelongs(Store& store, uint64_t run) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> all, ListCheckpoints(store));
  for (const CheckpointInfo& info : all) {
    if (run != 0 && info.job == run) continue;
    return Status::Conflict(
        fmt::format("{} holds a checkpoint of another job (step {}): go on with that one by "
                    "--resume, or choose another folder",
                    store.Describe(""), info.step));
  }
  return Status::Ok();
}

Status CheckSameJob(const SavedJob& saved, const JobDescription& now, uint64_t seed) {
  const JobDescription& was = saved.about;
  const auto shape = [](const JobDescription& job) {
    return fmt::format("{} features, {} classes{}", job.model.features, job.model.classes,
                       job.sparse ? ", sparse" : "");
  };
  const auto kind = [](const JobDescription& job) {
    return std::string(job.own_trainer ? "a trainer" : job.model.name);
  };
  if (kind(was) != kind(now)) return Differs("model", kind(was), kind(now));
  if (shape(was) != shape(now)) return Differs("data of", shape(was), shape(now));
  if (was.parameters != now.parameters) {
    return Differs("parameters:", std::to_string(was.parameters), std::to_string(now.parameters));
  }
  if (was.optimizer != now.optimizer) return Differs("optimizer", was.optimizer, now.optimizer);
  const std::pair<const char*, std::pair<uint64_t, uint64_t>> numbers[] = {
      {"seed", {saved.seed, seed}},
      {"batch", {was.batch, now.batch}},
      {"samples:", {was.samples, now.samples}},
      {"partitions:", {was.partitions, now.partitions}}};
  for (const auto& [name, pair] : numbers) {
    if (pair.first == pair.second) continue;
    return Differs(name, std::to_string(pair.first), std::to_string(pair.second));
  }
  if (was.meaning.input_scale != now.meaning.input_scale) {
    return Differs("features scaled by", fmt::format("{}", was.meaning.input_scale),
                   fmt::format("{}", now.meaning.input_scale));
  }
  const bool known = was.fingerprint != 0 && now.fingerprint != 0;
  const bool same_labels = was.meaning.class_labels == now.meaning.class_labels;
  if (same_labels && (!known || was.fingerprint == now.fingerprint)) return Status::Ok();
  return Status::Conflict(
      "the data are not those of the checkpoint's job, though of the same shape: give the same "
      "--data, --label and --split, or start a new job in another folder");
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
  return SavedModel{saved.about.model, saved.about.meaning.class_labels, *saved.parameters,
                    saved.about.meaning.input_scale};
}

}  // namespace motley
