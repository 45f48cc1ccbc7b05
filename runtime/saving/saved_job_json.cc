// SPDX-License-Identifier: Apache-2.0
// The description of a job as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "runtime/saving/saved_job.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

// The version of the description. Readers accept this and older ones. The oldest sufficient version
// is written, so that older releases can go on with the job.
constexpr uint32_t kVersion = 6;  // With groups of parameters.
constexpr uint32_t kVersionWithoutGroups = 5;
constexpr uint32_t kVersionOfPlainModels = 4;
constexpr int kDepth = 4;  // The greatest nesting depth.
// This bounds the text in each checkpoint to 100 KB. A user has the whole curve from the run's
// events.
constexpr size_t kMostLosses = 1 << 12;

// Reads what any program may have written into the folder. Each value has its kind and range;
// otherwise `error` names the first wrong one.
class Fields {
 public:
  Fields(const Json& json, Status& error) : json_(json), error_(error) {}

  Fields Object(const char* name) const {
    static const Json kNone = Json::object();
    const Json* found =
        Find(name, "an object", [](const Json& value) { return value.is_object(); });
    return Fields(found != nullptr ? *found : kNone, error_);
  }
  void Take(const char* name, std::string& out) const {
    TakeIf(
        name, "a text", [](const Json& value) { return value.is_string(); }, out);
  }
  void Take(const char* name, bool& out) const {
    TakeIf(
        name, "true or false", [](const Json& value) { return value.is_boolean(); }, out);
  }
  void Take(const char* name, Storage& out) const {
    const auto fits = [](const Json& value) {
      return value.is_string() && ParseStorage(value.get<std::string>()).ok();
    };
    if (const Json* found = Find(name, "a kind of numbers", fits)) {
      out = *ParseStorage(found->get<std::string>());
    }
  }
  void Take(const char* name, CheckpointCode& out) const {
    const auto fits = [](const Json& value) {
      return value.is_string() && ParseCheckpointCode(value.get<std::string>()).ok();
    };
    if (const Json* found = Find(name, "a code of checkpoints", fits)) {
      out = *ParseCheckpointCode(found->get<std::string>());
    }
  }
  bool Has(const char* name) const { return json_.contains(name); }
  template <std::unsigned_integral T>
  void Take(const char* name, T& out) const {
    const auto fits = [](const Json& value) {
      return value.is_number_unsigned() && std::in_range<T>(value.get<uint64_t>());
    };
    TakeIf(name, "a whole number of its size", fits, out);
  }
  template <std::floating_point T>
  void Take(const char* name, T& out) const {
    TakeIf(name, "a number of its size", Fits<T>, out);
  }
  void Take(const char* name, std::vector<double>& out) const {
    const auto fits = [](const Json& value) {
      return value.is_array() && std::all_of(value.begin(), value.end(), Fits<double>);
    };
    TakeIf(name, "a list of numbers", fits, out);
  }

 private:
  template <typename T>
  static bool Fits(const Json& value) {
    return value.is_number() && std::abs(value.get<double>()) <= std::numeric_limits<T>::max();
  }
  template <typename Check>
  const Json* Find(const char* name, const char* kind, const Check& fits) const {
    const auto found = json_.find(name);
    if (found != json_.end() && fits(*found)) return &*found;
    if (error_.ok()) error_ = Status::DataError(fmt::format("'{}' is not {}", name, kind));
    return nullptr;
  }
  template <typename T, typename Check>
  void TakeIf(const char* name, const char* kind, const Check& fits, T& out) const {
    if (const Json* found = Find(name, kind, fits); found != nullptr) found->get_to(out);
  }

  const Json& json_;
  Status& error_;
};

void TakeGroups(const Fields& fields, std::vector<ParameterGroup>& out) {
  const std::pair<const char*, double ParameterGroup::*> numbers[] = {
      {"learning_rate", &ParameterGroup::learning_rate},
      {"l2", &ParameterGroup::l2},
      {"weight_decay", &ParameterGroup::weight_decay}};
  std::vector<double> values;
  fields.Take("end", values);
  for (const double end : values) {
    out.push_back({.end = static_cast<uint64_t>(std::clamp(end, 0.0, 0x1p60))});
  }
  for (const auto& [name, number] : numbers) {
    fields.Take(name, values);
    values.resize(out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i].*number = values[i];
  }
}

void TakeOptimizer(const Fields& fields, uint32_t version, OptimizerOptions& out) {
  fields.Take("name", out.name);
  fields.Take("learning_rate", out.learning_rate);
  fields.Take("l2", out.l2);
  // Options that came later have the values that they had before.
  for (const RuleOption* option : RuleOptions()) {
    if (fields.Has(option->name)) fields.Take(option->name, out.*option->value);
  }
  if (version < 4) return;
  fields.Take("clip", out.clip);
  fields.Take("schedule", out.schedule);
  if (fields.Has("groups")) TakeGroups(fields.Object("groups"), out.groups);
}

void TakeValidation(const Fields& fields, ValidationState& out, bool& best_follows) {
  JudgeState& judge = out.judge;
  fields.Take("seen", judge.seen);
  fields.Take("first", judge.first);
  fields.Take("best", judge.best);
  fields.Take("best_version", judge.best_version);
  fields.Take("idle", judge.idle);
  fields.Take("lowered", judge.lowered);
  fields.Take("waiting", judge.waiting);
  fields.Take("progress", judge.progress);
  fields.Take("loss_sum", out.loss_sum);
  // Text writes a value that is not finite in this way: the mean over these steps is not a number.
  if (out.loss_sum == std::numeric_limits<double>::max()) out.loss_sum = NAN;
  fields.Take("weight_sum", out.weight_sum);
  fields.Take("best_follows", best_follows);
}

void TakeHistory(const Fields& fields, JobHistory& out) {
  fields.Take("wall_seconds", out.wall_seconds);
  fields.Take("discarded_steps", out.discarded_steps);
  fields.Take("audited_steps", out.audited_steps);
  fields.Take("max_decode_error", out.max_decode_error);
  fields.Take("max_amplification", out.max_amplification);
  if (fields.Has("audit_failures")) fields.Take("audit_failures", out.audit_failures);
  fields.Take("first_loss", out.first_loss);
  fields.Take("batch_loss", out.batch_loss);
  if (!fields.Has("approximate")) return;
  const Fields approximate = fields.Object("approximate");
  approximate.Take("steps", out.approximate.steps);
  approximate.Take("error_sum", out.approximate.error_sum);
  approximate.Take("max_error", out.approximate.max_error);
}

JobDescription TakeAll(const Fields& fields, uint32_t version) {
  JobDescription about;
  const Fields model = fields.Object("model");
  model.Take("name", about.model.name);
  model.Take("features", about.model.features);
  model.Take("classes", about.model.classes);
  model.Take("parameters", about.parameters);
  model.Take("own_trainer", about.own_trainer);
  if (model.Has("own_rule")) model.Take("own_rule", about.own_rule.emplace());
  if (model.Has("class_weights")) {
    std::vector<double> weights;
    model.Take("class_weights", weights);
    about.model.class_weights.assign(weights.begin(), weights.end());
  }
  if (model.Has("dropout")) model.Take("dropout", about.model.dropout);
  TakeOptimizer(fields.Object("optimizer"), version, about.optimizer);
  const Fields data = fields.Object("data");
  data.Take("samples", about.samples);
  data.Take("sparse", about.sparse);
  data.Take("fingerprint", about.fingerprint);
  if (data.Has("digest")) data.Take("digest", about.digest);
  if (data.Has("partitions")) data.Take("partitions", about.partitions);
  data.Take("class_labels", about.meaning.class_labels);
  data.Take("input_scale", about.meaning.input_scale);
  data.Take("split", about.meaning.split);
  if (data.Has("storage")) data.Take("storage", about.meaning.storage);
  if (data.Has("table")) data.Take("table", about.meaning.table);
  fields.Take("batch", about.batch);
  about.older_batches = version < 3;
  fields.Take("steps", about.steps);
  TakeHistory(fields.Object("history"), about.history);
  if (fields.Has("checkpoints")) {
    const Fields checkpoints = fields.Object("checkpoints");
    checkpoints.Take("every", about.checkpoint_every);
    checkpoints.Take("code", about.checkpoint_code);
  }
  if (version < 4) return about;
  data.Take("validation", about.meaning.validation);
  const Fields validation = fields.Object("validation");
  validation.Take("every", about.judge_every);
  validation.Take("patience", about.patience);
  TakeValidation(validation, about.validation, about.best_follows);
  return about;
}

// Writes JSON without the library's objects. Their destructors need memory, so running out of it
// while they exist would end the program.
class Text {
 public:
  void Open(const char* name) {
    Name(name);
    text_ += '{';
  }
  void Close() { text_ += '}'; }
  void Add(const char* name, const std::string& value) {
    Name(name);
    // A single string is destroyed without memory. Invalid UTF-8 is replaced without an exception.
    text_ += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void Add(const char* name, std::span<const double> values) {
    Name(name);
    text_ += '[';
    for (const double value : values) {
      if (text_.back() != '[') text_ += ',';
      Number(value);
    }
    text_ += ']';
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void Add(const char* name, T value) {
    Name(name);
    Number(value);
  }
  std::string Finish() && {
    Close();
    return std::move(text_);
  }

 private:
  void Name(const char* name) {
    if (text_.back() != '{') text_ += ',';
    fmt::format_to(std::back_inserter(text_), "\"{}\":", name);
  }
  template <typename T>
  void Number(T value) {
    // JSON has no infinity and no NaN.
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) value = std::numeric_limits<T>::max();
    }
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }

  std::string text_ = "{";
};

// The oldest version that has all of this.
uint32_t VersionFor(const JobDescription& about) {
  if (!about.optimizer.groups.empty()) return kVersion;
  const bool plain = about.model.class_weights.empty() && about.model.dropout == 0;
  return plain ? kVersionOfPlainModels : kVersionWithoutGroups;
}

void AddGroups(std::span<const ParameterGroup> groups, Text& text) {
  if (groups.empty()) return;
  const auto add = [&](const char* name, auto ParameterGroup::*number) {
    std::vector<double> values;
    for (const ParameterGroup& group : groups) {
      values.push_back(static_cast<double>(group.*number));
    }
    text.Add(name, values);
  };
  text.Open("groups");
  add("end", &ParameterGroup::end);
  add("learning_rate", &ParameterGroup::learning_rate);
  add("l2", &ParameterGroup::l2);
  add("weight_decay", &ParameterGroup::weight_decay);
  text.Close();
}

void AddCheckpoints(const JobDescription& about, Text& text) {
  if (about.checkpoint_every == 0) return;
  text.Open("checkpoints");
  text.Add("every", about.checkpoint_every);
  text.Add("code", ToText(about.checkpoint_code));
  text.Close();
}

void AddValidation(const JobDescription& about, Text& text) {
  const ValidationState& state = about.validation;
  text.Open("validation");
  text.Add("every", about.judge_every);
  text.Add("patience", about.patience);
  text.Add("seen", state.judge.seen);
  text.Add("first", state.judge.first);
  text.Add("best", state.judge.best);
  text.Add("best_version", state.judge.best_version);
  text.Add("idle", state.judge.idle);
  text.Add("lowered", state.judge.lowered);
  text.Add("waiting", state.judge.waiting);
  text.Add("progress", state.judge.progress);
  text.Add("loss_sum", state.loss_sum);
  text.Add("weight_sum", state.weight_sum);
  text.Add("best_follows", about.best_follows);
  text.Close();
}

}  // namespace

std::string ToJson(const JobDescription& about) {
  const JobHistory& history = about.history;
  const size_t dropped =
      history.batch_loss.size() - std::min(history.batch_loss.size(), kMostLosses);
  Text text;
  text.Add("version", VersionFor(about));
  text.Open("model");
  text.Add("name", about.model.name);
  text.Add("features", about.model.features);
  text.Add("classes", about.model.classes);
  text.Add("parameters", about.parameters);
  text.Add("own_trainer", about.own_trainer);
  if (about.own_trainer && about.own_rule) text.Add("own_rule", *about.own_rule);
  if (!about.model.class_weights.empty()) {
    const std::vector<float>& weights = about.model.class_weights;
    text.Add("class_weights", std::vector<double>(weights.begin(), weights.end()));
  }
  if (about.model.dropout > 0) text.Add("dropout", about.model.dropout);
  text.Close();
  text.Open("optimizer");
  text.Add("name", about.optimizer.name);
  text.Add("learning_rate", about.optimizer.learning_rate);
  text.Add("l2", about.optimizer.l2);
  for (const RuleOption* option : RuleOptions()) {
    text.Add(option->name, about.optimizer.*option->value);
  }
  text.Add("clip", about.optimizer.clip);
  text.Add("schedule", about.optimizer.schedule);
  AddGroups(about.optimizer.groups, text);
  text.Close();
  text.Open("data");
  text.Add("samples", about.samples);
  text.Add("sparse", about.sparse);
  text.Add("fingerprint", about.fingerprint);
  text.Add("digest", about.digest);
  if (about.partitions > 0) text.Add("partitions", about.partitions);
  text.Add("class_labels", std::span(about.meaning.class_labels));
  text.Add("input_scale", about.meaning.input_scale);
  text.Add("split", about.meaning.split);
  text.Add("validation", about.meaning.validation);
  if (about.meaning.storage != Storage::kFloat32) {
    text.Add("storage", NameOf(about.meaning.storage));
  }
  if (!about.meaning.table.empty()) text.Add("table", about.meaning.table);
  text.Close();
  text.Add("batch", about.batch);
  text.Add("steps", about.steps);
  AddCheckpoints(about, text);
  AddValidation(about, text);
  text.Open("history");
  text.Add("wall_seconds", history.wall_seconds);
  text.Add("discarded_steps", history.discarded_steps);
  text.Add("audited_steps", history.audited_steps);
  text.Add("max_decode_error", history.max_decode_error);
  text.Add("max_amplification", history.max_amplification);
  text.Add("first_loss", history.first_loss + dropped);
  text.Add("batch_loss", std::span(history.batch_loss).subspan(dropped));
  if (history.audit_failures > 0) text.Add("audit_failures", history.audit_failures);
  if (history.approximate.steps > 0) {
    text.Open("approximate");
    text.Add("steps", history.approximate.steps);
    text.Add("error_sum", history.approximate.error_sum);
    text.Add("max_error", history.approximate.max_error);
    text.Close();
  }
  text.Close();
  return std::move(text).Finish();
}

Result<JobDescription> ParseJobDescription(const std::string& text) {
  // ToJson nests less deeply. Deeper values are skipped.
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= kDepth; };
  Status error;
  try {
    const Json json = Json::parse(text, shallow);
    const Fields fields(json, error);
    uint32_t version = 0;
    fields.Take("version", version);
    if (version > kVersion) {
      return Status::Conflict(
          fmt::format("a newer Motley wrote this checkpoint (its description has version {}, this "
                      "one reads up to {})",
                      version, kVersion));
    }
    JobDescription about = TakeAll(fields, version);
    if (error.ok()) return about;
  } catch (const nlohmann::json::exception& thrown) {
    error = Status::DataError(thrown.what());
  }
  return error.WithContext("a checkpoint's description");
}

}  // namespace motley
