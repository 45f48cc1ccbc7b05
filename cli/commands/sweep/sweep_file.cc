// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "profiles/toml_table.h"
#include "scheduler/sync/sync_mode.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

constexpr uint32_t kMostTrials = 100'000;
constexpr uint32_t kMostEpochs = 1'000'000;
constexpr const char* kRangeForm = "{ from = 1e-4, to = 1e-1, scale = \"log\" }";

// Flags that a file must not have, and why.
constexpr const char* kSet = "is set by motley sweep; leave it out";
constexpr const char* kSetHere = "is set by motley sweep; leave it out, or set it in [sweep]";
constexpr const char* kFile = "names a file, which all trials would write; leave it out";
constexpr const char* kElsewhere =
    "is for workers elsewhere, and those of trials run here; leave it out";
constexpr std::pair<std::string_view, const char*> kTaken[] = {
    {"epochs", kSetHere},
    {"devices", kSetHere},
    {"steps", kSet},
    {"seconds", kSet},
    {"out", kSet},
    {"json", kSet},
    {"quiet", kSet},
    {"verbose", kSet},
    {"checkpoint", kSet},
    {"checkpoint-every", kSet},
    {"resume", kSet},
    {"resume-step", kSet},
    {"evaluate-every", kSet},
    {"log", kFile},
    {"curve", kFile},
    {"trace", kFile},
    {"record-profile", kFile},
    {"remote", kElsewhere},
    {"listen", kElsewhere},
    {"no-local-worker", kElsewhere},
    {"wait", kElsewhere},
    {"min-workers", kElsewhere},
    {"help", "trains nothing; leave it out"}};

bool IsZero(const std::string& text) {
  double number = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number == 0;
}

class Reader {
 public:
  Reader(const toml::table& root, std::string_view source) : source_(source), root_(root, source) {}

  Result<SweepPlan> Read() {
    static constexpr std::array<std::string_view, 3> kKeys = {"train", "sweep", "try"};
    root_.OnlyKeys(kKeys);
    for (const std::string_view key : kKeys) root_.Require(key);
    MOTLEY_RETURN_IF_ERROR(root_.status());
    // The method first, because the flags depend on it.
    if (const auto* table = InnerTable(root_, "sweep", "a [sweep] table")) ReadMethod(*table);
    if (const auto* table = InnerTable(root_, "train", "a [train] table of flags")) {
      ReadTrain(*table);
    }
    if (const auto* table = InnerTable(root_, "try", "a [try] table of values")) ReadTried(*table);
    MOTLEY_RETURN_IF_ERROR(root_.status());
    MOTLEY_RETURN_IF_ERROR(CheckSize());
    return std::move(plan_);
  }

 private:
  bool IsFree(std::string_view flag, const toml::source_region& where) {
    const auto* taken = std::find_if(std::begin(kTaken), std::end(kTaken),
                                     [flag](const auto& each) { return each.first == flag; });
    if (taken == std::end(kTaken)) return true;
    root_.Fail(where, fmt::format("'{}' {}", flag, taken->second));
    return false;
  }

  // The text of a value as it is typed after a flag.
  std::optional<std::string> Typed(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto* number = node.as_floating_point()) {
      if (std::isfinite(number->get())) return fmt::format("{}", number->get());
    }
    return std::nullopt;
  }

  // Fails for values with which trials could not be run or compared.
  bool IsUsable(const std::string& flag, const std::string& text,
                const toml::source_region& where) {
    if (text.empty()) {
      root_.Fail(where,
                 fmt::format("'{}' is an empty text; give it a value, or leave it out", flag));
      return false;
    }
    // What is no mode at all is left to motley train.
    const auto sync = flag == "sync" ? ParseSyncMode(text) : SyncMode();
    if (plan_.search.method == SearchMethod::kAsha && sync.ok() && sync->answers_differ()) {
      root_.Fail(where,
                 fmt::format("method asha goes on from checkpoints, and a job with sync {} has "
                             "none; use method grid or random, or sync bsp",
                             text));
    }
    const auto schedule = flag == "schedule" ? ParseSchedule(text) : RateSchedule();
    if (plan_.search.method == SearchMethod::kAsha && schedule.ok() &&
        schedule->kind == RateSchedule::Kind::kCosine) {
      root_.Fail(where,
                 fmt::format("schedule {} follows the length of a training, and a trial of method "
                             "asha is made longer after its beginning; use method grid or random, "
                             "or another schedule",
                             text));
    }
    const bool zero = IsZero(text);
    if (zero && flag == "validation") {
      root_.Fail(where,
                 "'validation' is 0, and trials are compared on validation samples; give the part "
                 "of the samples to hold out, or leave it out for a tenth");
    } else if (zero && flag == "patience") {
      root_.Fail(where,
                 "'patience' is 0, and then trials would not keep their best versions; leave it "
                 "out, and no trial ends early");
    }
    return root_.status().ok();
  }

  void ReadTrain(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const std::string flag(key.str());
      if (!IsFree(flag, key.source())) return;
      if (const auto* on = node.as_boolean()) {
        if (on->get()) plan_.train.emplace_back(flag, "");
      } else if (const auto text = Typed(node)) {
        if (!IsUsable(flag, *text, node.source())) return;
        plan_.train.emplace_back(flag, *text);
      } else {
        return root_.Fail(node.source(),
                          fmt::format("'{}' must be a text, a number or true", flag));
      }
    }
    if (plan_.Train("data").empty()) {
      root_.Fail(table.source(), "'data' is missing here; it names the samples, like --data");
    }
  }

  void ReadMethod(const toml::table& toml) {
    static constexpr std::array<std::string_view, 8> kKeys = {
        "method", "trials", "epochs", "first_epochs", "keep", "seed", "at_once", "devices"};
    TomlTable table(toml, source_);
    table.OnlyKeys(kKeys);
    SearchPlan& search = plan_.search;
    const std::string method = table.Text("method", "grid");
    if (method == "random") {
      search.method = SearchMethod::kRandom;
    } else if (method == "asha") {
      search.method = SearchMethod::kAsha;
    } else if (method != "grid") {
      table.Fail(table.Node("method")->source(),
                 fmt::format("'method' is {}; it must be grid, random or asha", method));
    }
    if (search.method != SearchMethod::kGrid) table.Require("trials");
    search.trials = static_cast<uint32_t>(table.Count("trials", 1, kMostTrials));
    search.epochs = static_cast<uint32_t>(table.Count("epochs", 10, kMostEpochs));
    search.first_epochs = static_cast<uint32_t>(table.Count("first_epochs", 1, kMostEpochs));
    search.keep = static_cast<uint32_t>(table.Count("keep", 3, kMostTrials));
    if (search.keep < 2) table.Fail(table.Node("keep")->source(), "'keep' must be at least 2");
    search.seed = table.Count("seed", 7, uint64_t{1} << 62);
    plan_.at_once = static_cast<uint32_t>(table.Count("at_once", 0, 1024));
    ReadDevices(table);
    root_.Merge(table);
  }

  void ReadDevices(TomlTable& table) {
    const toml::node* node = table.Node("devices");
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list != nullptr) {
      for (const toml::node& each : *list) {
        const auto* text = each.as_string();
        if (text != nullptr) plan_.devices.push_back(text->get());
      }
    }
    if (list == nullptr || list->empty() || plan_.devices.size() != list->size()) {
      table.Fail(node->source(), "'devices' must be a list like [\"cpu\", \"opencl:0\"]");
    }
  }

  void ReadTried(const toml::table& table) {
    for (auto&& [key, node] : table) {
      TriedFlag flag;
      flag.name = key.str();
      if (!IsFree(flag.name, key.source())) return;
      const auto given = [&](const auto& each) { return each.first == flag.name; };
      if (std::any_of(plan_.train.begin(), plan_.train.end(), given)) {
        return root_.Fail(key.source(), fmt::format("'{}' is in [train], too", flag.name));
      }
      if (const toml::array* list = node.as_array()) {
        ReadList(*list, flag);
      } else if (const toml::table* range = node.as_table()) {
        ReadRange(*range, flag);
      } else {
        root_.Fail(node.source(), fmt::format("'{}' must be a list of values, or a range like {}",
                                              flag.name, kRangeForm));
      }
      if (!root_.status().ok()) return;
      plan_.search.flags.push_back(std::move(flag));
    }
    if (plan_.search.flags.empty()) root_.Fail(table.source(), "[try] has no flag to try");
  }

  void ReadList(const toml::array& list, TriedFlag& flag) {
    std::vector<std::string> values;
    for (const toml::node& node : list) {
      const auto text = Typed(node);
      if (!text) {
        return root_.Fail(node.source(),
                          fmt::format("'{}': a value must be a text or a number", flag.name));
      }
      if (!IsUsable(flag.name, *text, node.source())) return;
      values.push_back(*text);
    }
    if (values.empty()) root_.Fail(list.source(), fmt::format("'{}' has no values", flag.name));
    flag.values = std::move(values);
  }

  void ReadRange(const toml::table& toml, TriedFlag& flag) {
    static constexpr std::array<std::string_view, 4> kKeys = {"from", "to", "scale", "whole"};
    if (plan_.search.method == SearchMethod::kGrid) {
      return root_.Fail(toml.source(), fmt::format("'{}' is a range, and a grid needs a list of "
                                                   "values; use method random or asha for ranges",
                                                   flag.name));
    }
    TomlTable table(toml, source_);
    table.OnlyKeys(kKeys);
    table.Require("from");
    table.Require("to");
    DrawnRange range;
    range.from = table.Number("from", 0, -1e30, 1e30);
    range.to = table.Number("to", 1, -1e30, 1e30);
    const std::string scale = table.Text("scale", "linear");
    range.logarithmic = scale == "log";
    if (!range.logarithmic && scale != "linear") {
      table.Fail(table.Node("scale")->source(), "'scale' must be linear or log");
    }
    range.whole = table.Truth("whole");
    if (table.status().ok() && !(range.from < range.to)) {
      table.Fail(toml.source(), fmt::format("'{}': 'from' must be below 'to'", flag.name));
    }
    if (table.status().ok() && range.logarithmic && !(range.from > 0)) {
      table.Fail(toml.source(),
                 fmt::format("'{}': 'from' must be above 0 on a log scale", flag.name));
    }
    if (table.status().ok() && range.whole && std::ceil(range.from) > std::floor(range.to)) {
      table.Fail(toml.source(), fmt::format("'{}': there is no whole number from {} to {}",
                                            flag.name, range.from, range.to));
    }
    root_.Merge(table);
    flag.values = range;
  }

  Status CheckSize() const {
    const SearchPlan& search = plan_.search;
    if (search.method == SearchMethod::kGrid) {
      double size = 1;
      for (const TriedFlag& flag : search.flags) {
        size *= static_cast<double>(std::get<std::vector<std::string>>(flag.values).size());
      }
      if (size > kMostTrials) {
        return Status::DataError(fmt::format(
            "{}: the grid has {:.0f} trials, and {} are possible. Use method random or asha",
            source_, size, kMostTrials));
      }
    }
    if (search.method == SearchMethod::kAsha && search.first_epochs > search.epochs) {
      return Status::DataError(fmt::format("{}: first_epochs {} is above epochs {}", source_,
                                           search.first_epochs, search.epochs));
    }
    return Status::Ok();
  }

  const std::string_view source_;
  TomlTable root_;
  SweepPlan plan_;
};

}  // namespace

std::string SweepPlan::Train(std::string_view name) const {
  for (const auto& [flag, value] : train) {
    if (flag == name) return value;
  }
  return "";
}

Result<SweepPlan> ParseSweep(const std::string& text, const std::string& source) {
  MOTLEY_ASSIGN_OR_RETURN(const toml::table root, ParseToml(text, source));
  return Reader(root, source).Read();
}

Result<SweepPlan> LoadSweep(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadTomlFile(path, "search"));
  return ParseSweep(text, path);
}

}  // namespace motley
