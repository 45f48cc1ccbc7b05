// SPDX-License-Identifier: Apache-2.0
#include "profiles/profile.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "base/suggest.h"
#include "profiles/units.h"

// toml++ 3.3 asserts things that a damaged file can break; without the assertions it reports them.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace motley {
namespace {

constexpr uint64_t kMaxWorkers = 4096;
constexpr double kMaxSeconds = 86400;  // A latency or an overhead beyond a day is a slip.
constexpr double kMaxNumber = 1e30;    // Speeds and operations.
constexpr double kMaxBytes = 0x1p63;   // What fits into 64 bits with room to add.
constexpr size_t kMaxFileBytes = 16u << 20;

// A table being read: knows where it stands for messages, and remembers the first error.
class Table {
 public:
  Table(const toml::table& table, std::string_view source) : table_(table), source_(source) {}

  void OnlyKeys(std::span<const std::string_view> keys) {
    for (auto&& [key, node] : table_) {
      const std::string_view name = key.str();
      bool known = false;
      for (const std::string_view allowed : keys) known = known || allowed == name;
      if (!known) {
        Fail(key.source(), fmt::format("unknown key '{}'{}", name, DidYouMean(name, keys)));
      }
    }
  }

  std::string Text(std::string_view key, std::string fallback) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return fallback;
    if (const auto* value = node->as_string()) return value->get();
    Fail(node->source(), fmt::format("'{}' must be a text in quotes", key));
    return fallback;
  }

  // A plain number from `low` to `high`; `low` itself only when `low_allowed`.
  double Number(std::string_view key, double fallback, double high, bool zero_allowed) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return fallback;
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value) {
      Fail(node->source(), fmt::format("'{}' must be a number", key));
    } else if (!(zero_allowed ? *value >= 0 : *value > 0) || !(*value <= high)) {
      Fail(node->source(), fmt::format("'{}' is {}; it must be {} 0 and at most {}", key, *value,
                                       zero_allowed ? "at least" : "above", high));
    } else {
      return *value;
    }
    return fallback;
  }

  // A text with a unit or a plain number.
  double Measure(std::string_view key, Quantity quantity, double high) {
    const toml::node* node = table_.get(key);
    const auto* text = node == nullptr ? nullptr : node->as_string();
    if (text == nullptr) return Number(key, 0, high, true);
    const Result<double> value = ParseQuantity(quantity, text->get());
    if (!value.ok()) {
      Fail(node->source(), fmt::format("'{}': {}", key, value.status().message()));
    } else if (*value > high) {
      Fail(node->source(), fmt::format("'{}' is {}; it must be at most {}", key, text->get(),
                                       FormatQuantity(quantity, high)));
    } else {
      return *value;
    }
    return 0;
  }

  // A count of bytes; whole numbers are exact.
  uint64_t Bytes(std::string_view key) {
    const toml::node* node = table_.get(key);
    const auto* exact = node == nullptr ? nullptr : node->as_integer();
    if (exact != nullptr && exact->get() >= 0) return static_cast<uint64_t>(exact->get());
    const double value = Measure(key, Quantity::kSize, kMaxBytes / 2);
    return static_cast<uint64_t>(std::llround(value));
  }

  uint64_t Count(std::string_view key, uint64_t fallback, uint64_t high) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return fallback;
    const auto* value = node->as_integer();
    if (value != nullptr && value->get() >= 1 && static_cast<uint64_t>(value->get()) <= high) {
      return static_cast<uint64_t>(value->get());
    }
    Fail(node->source(), fmt::format("'{}' must be a whole number from 1 to {}", key, high));
    return fallback;
  }

  void Require(std::string_view key) {
    if (table_.get(key) == nullptr) {
      Fail(table_.source(), fmt::format("'{}' is missing here", key));
    }
  }

  const toml::node* Node(std::string_view key) const { return table_.get(key); }

  void Fail(const toml::source_region& where, const std::string& what) {
    if (!status_.ok()) return;
    status_ = Status::DataError(
        fmt::format("{}:{}:{}: {}", source_, where.begin.line, where.begin.column, what));
  }
  void Merge(const Table& inner) {
    if (status_.ok()) status_ = inner.status_;
  }
  const Status& status() const { return status_; }

 private:
  const toml::table& table_;
  std::string_view source_;
  Status status_;
};

LinkProfile ReadLink(const toml::table& toml, std::string_view source, Table& outer) {
  static constexpr std::array<std::string_view, 2> kKeys = {"latency", "bandwidth"};
  Table table(toml, source);
  table.OnlyKeys(kKeys);
  LinkProfile link;
  link.latency_seconds = table.Measure("latency", Quantity::kDuration, kMaxSeconds);
  link.bytes_per_second = table.Measure("bandwidth", Quantity::kRate, kMaxNumber);
  outer.Merge(table);
  return link;
}

// One [[worker]], which may stand for several.
Status ReadWorker(const toml::table& toml, std::string_view source, ClusterProfile& profile) {
  static constexpr std::array<std::string_view, 8> kKeys = {
      "name", "kind", "samples_per_second", "overhead", "jitter", "memory", "count", "link"};
  static constexpr std::array<std::string_view, 3> kKinds = {"cpu", "cuda", "opencl"};
  Table table(toml, source);
  table.OnlyKeys(kKeys);
  table.Require("samples_per_second");
  WorkerProfile worker;
  DeviceProfile& device = worker.device;
  device.name = table.Text("name", fmt::format("worker-{}", profile.workers.size()));
  device.kind = table.Text("kind", device.kind);
  if (device.kind != "cpu" && device.kind != "cuda" && device.kind != "opencl") {
    table.Fail(table.Node("kind")->source(),
               fmt::format("kind '{}' is not one of cpu, cuda, opencl{}", device.kind,
                           DidYouMean(device.kind, kKinds)));
  }
  device.samples_per_second = table.Number("samples_per_second", 0, kMaxNumber, false);
  device.overhead_seconds = table.Measure("overhead", Quantity::kDuration, kMaxSeconds);
  device.jitter = table.Number("jitter", 0, 10, true);
  device.memory_bytes = table.Bytes("memory");
  const uint64_t count = table.Count("count", 1, kMaxWorkers);
  if (const toml::node* link = table.Node("link")) {
    if (const auto* inner = link->as_table()) {
      worker.link = ReadLink(*inner, source, table);
    } else {
      table.Fail(link->source(), "'link' must be { latency = ..., bandwidth = ... }");
    }
  }
  if (profile.workers.size() + count > kMaxWorkers) {
    table.Fail(toml.source(), fmt::format("more than {} workers", kMaxWorkers));
  }
  MOTLEY_RETURN_IF_ERROR(table.status());
  for (uint64_t i = 0; i < count; ++i) {
    profile.workers.push_back(worker);
    if (count > 1) profile.workers.back().device.name = fmt::format("{}-{}", device.name, i);
  }
  return Status::Ok();
}

Result<ClusterProfile> ReadCluster(const toml::table& root, std::string_view source) {
  static constexpr std::array<std::string_view, 4> kKeys = {"name", "gradient_bytes", "step_flops",
                                                            "worker"};
  Table table(root, source);
  table.OnlyKeys(kKeys);
  ClusterProfile profile;
  profile.name = table.Text("name", "");
  profile.gradient_bytes = table.Bytes("gradient_bytes");
  profile.step_flops = table.Number("step_flops", 0, kMaxNumber, true);
  MOTLEY_RETURN_IF_ERROR(table.status());
  const toml::node* workers = table.Node("worker");
  const toml::array* list = workers == nullptr ? nullptr : workers->as_array();
  if (list == nullptr || list->empty()) {
    return Status::DataError(
        fmt::format("{}: no workers: describe each with a [[worker]] table", source));
  }
  for (const toml::node& node : *list) {
    const toml::table* worker = node.as_table();
    if (worker == nullptr) {
      table.Fail(node.source(), "every 'worker' must be a [[worker]] table");
      return table.status();
    }
    MOTLEY_RETURN_IF_ERROR(ReadWorker(*worker, source, profile));
  }
  return profile;
}

}  // namespace

Result<ClusterProfile> ParseClusterProfile(const std::string& text, const std::string& source) {
  const toml::parse_result parsed = toml::parse(std::string_view(text), std::string_view(source));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Status::DataError(fmt::format("{}:{}:{}: {}", source, error.source().begin.line,
                                         error.source().begin.column, error.description()));
  }
  return ReadCluster(parsed.table(), source);
}

Result<ClusterProfile> LoadClusterProfile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::NotFound(
        fmt::format("cannot open the cluster profile '{}': check the path", path));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Status::DataError(fmt::format("cannot read '{}'", path));
  if (text.size() > kMaxFileBytes) {
    return Status::DataError(fmt::format("'{}' is too large for a cluster profile", path));
  }
  return ParseClusterProfile(text, path);
}

}  // namespace motley
