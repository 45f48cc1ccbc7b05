// SPDX-License-Identifier: Apache-2.0
#include "profiles/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "base/device_kind.h"
#include "base/suggest.h"
#include "profiles/toml_table.h"
#include "profiles/units.h"

namespace motley {
namespace {

constexpr uint64_t kMaxWorkers = 100'000;
constexpr double kMaxSeconds = 86400;  // A latency or an overhead beyond a day is a typing error.
constexpr double kMaxNumber = 1e30;    // Speeds and operations.
constexpr double kLeastSpeed = 1e-6;   // Samples per second: eleven days for one.
constexpr uint64_t kMaxCores = 1 << 20;
constexpr uint64_t kMaxMemory = uint64_t{1} << 62;
// 1024 TiB. The memory of a job is thousands of vectors at most, and can be counted in 64 bits.
constexpr uint64_t kMaxVector = uint64_t{1} << 50;

// In bytes per second; 0: unlimited.
double ReadRate(TomlTable& table, std::string_view key) {
  const double rate = table.Measure(key, Quantity::kRate, kMaxNumber);
  if (rate == 0 || rate >= kLeastRate) return rate;
  table.Fail(table.Node(key)->source(),
             fmt::format("'{}' is {} bytes per second; it must be at least {}, or 0 for no limit",
                         key, rate, kLeastRate));
  return 0;
}

LinkDirection ReadDirection(TomlTable& table) {
  LinkDirection direction;
  direction.latency_seconds = table.Measure("latency", Quantity::kDuration, kMaxSeconds);
  direction.bytes_per_second = ReadRate(table, "bandwidth");
  return direction;
}

// Reads `latency` and `bandwidth` for both directions, or `up` and `down` for one each.
LinkProfile ReadLink(const toml::table& toml, std::string_view source, TomlTable& outer) {
  static constexpr std::array<std::string_view, 4> kKeys = {"latency", "bandwidth", "up", "down"};
  static constexpr std::array<std::string_view, 2> kOneWay = {"latency", "bandwidth"};
  TomlTable table(toml, source);
  table.OnlyKeys(kKeys);
  const LinkDirection both = ReadDirection(table);
  const auto read = [&](std::string_view way) -> std::optional<LinkDirection> {
    const toml::table* inner = InnerTable(table, way, "{ latency = ..., bandwidth = ... }");
    if (inner == nullptr) return std::nullopt;
    TomlTable one(*inner, source);
    one.OnlyKeys(kOneWay);
    const LinkDirection direction = ReadDirection(one);
    table.Merge(one);
    return direction;
  };
  const auto up = read("up");
  const auto down = read("down");
  outer.Merge(table);
  LinkProfile link;
  link.latency_seconds = up.value_or(both).latency_seconds;
  link.bytes_per_second = up.value_or(both).bytes_per_second;
  if (down || up) link.down = down.value_or(both);
  return link;
}

// Reads the server's link, which has bandwidths only.
ServerRates ReadServer(const toml::table& toml, std::string_view source, TomlTable& outer) {
  static constexpr std::array<std::string_view, 1> kKeys = {"link"};
  TomlTable table(toml, source);
  table.OnlyKeys(kKeys);
  table.Require("link");
  ServerRates rates;
  if (const auto* link = InnerTable(table, "link", "{ bandwidth = ... }")) {
    const LinkProfile read = ReadLink(*link, source, table);
    if (read.Up().latency_seconds > 0 || read.Down().latency_seconds > 0) {
      table.Fail(
          link->source(),
          "the server's link has no latency of its own; put it into each worker's link, since a "
          "worker's latency is that of the whole path");
    }
    rates = {.in = read.Down().bytes_per_second, .out = read.Up().bytes_per_second};
  }
  outer.Merge(table);
  return rates;
}

void ReadTail(const toml::table& toml, std::string_view source, TomlTable& outer,
              DeviceProfile& device) {
  static constexpr std::array<std::string_view, 2> kKeys = {"probability", "factor"};
  TomlTable table(toml, source);
  table.OnlyKeys(kKeys);
  table.Require("probability");
  table.Require("factor");
  device.tail_probability = table.Number("probability", 0, 0, 1);
  device.tail_factor = table.Number("factor", 1, 1, kMostTailFactor);
  outer.Merge(table);
}

HardwareFacts ReadHardware(const toml::table& toml, std::string_view source, TomlTable& outer) {
  static constexpr std::array<std::string_view, 7> kKeys = {
      "vendor", "model", "driver", "cores", "threads", "core_kinds", "memory_bandwidth"};
  TomlTable table(toml, source);
  table.OnlyKeys(kKeys);
  HardwareFacts facts;
  facts.vendor = table.Text("vendor", "");
  facts.model = table.Text("model", "");
  facts.driver = table.Text("driver", "");
  facts.cores = static_cast<uint32_t>(table.Count("cores", 0, kMaxCores));
  facts.threads = static_cast<uint32_t>(table.Count("threads", 0, kMaxCores));
  facts.core_kinds = table.Text("core_kinds", "");
  facts.bytes_per_second = table.Measure("memory_bandwidth", Quantity::kRate, kMaxNumber);
  outer.Merge(table);
  return facts;
}

void ReadDevice(TomlTable& table, std::string_view source, DeviceProfile& device) {
  std::vector<std::string_view> kinds;
  for (const NamedDeviceKind& each : kDeviceKinds) kinds.push_back(each.name);
  device.kind = table.Text("kind", device.kind);
  if (std::find(kinds.begin(), kinds.end(), device.kind) == kinds.end()) {
    table.Fail(table.Node("kind")->source(),
               fmt::format("kind '{}' is not one of {}{}", device.kind, fmt::join(kinds, ", "),
                           DidYouMean(device.kind, kinds)));
  }
  table.Require("samples_per_second");
  device.samples_per_second = table.Number("samples_per_second", 0, kLeastSpeed, kMaxNumber);
  device.overhead_seconds = table.Measure("overhead", Quantity::kDuration, kMaxSeconds);
  device.knee_samples = table.Number("knee_samples", 0, 0, kMaxNumber);
  device.max_samples = table.Count("max_samples", 0, uint64_t{1} << 62);
  device.jitter = table.Number("jitter", 0, 0, kMostJitter);
  device.memory_bytes = table.Bytes("memory", kMaxMemory);
  if (const auto* tail = InnerTable(table, "tail", "{ probability = ..., factor = ... }")) {
    ReadTail(*tail, source, table, device);
  }
  if (const auto* hardware =
          InnerTable(table, "hardware", "a table like { model = ..., cores = 8 }")) {
    device.hardware = ReadHardware(*hardware, source, table);
  }
}

// Reads one [[worker]], which may stand for several workers.
Status ReadWorker(const toml::table& toml, std::string_view source, ClusterProfile& profile) {
  static constexpr std::array<std::string_view, 12> kKeys = {
      "name", "kind",   "samples_per_second", "overhead", "knee_samples", "max_samples", "jitter",
      "tail", "memory", "hardware",           "count",    "link"};
  TomlTable table(toml, source);
  table.OnlyKeys(kKeys);
  WorkerProfile worker;
  DeviceProfile& device = worker.device;
  device.name = table.Text("name", fmt::format("worker-{}", profile.workers.size()));
  ReadDevice(table, source, device);
  const uint64_t count = table.Count("count", 1, kMaxWorkers);
  if (const auto* link = InnerTable(table, "link", "{ latency = ..., bandwidth = ... }")) {
    worker.link = ReadLink(*link, source, table);
  }
  if (profile.workers.size() + count > kMaxWorkers) {
    table.Fail(toml.source(), fmt::format("more than {} workers in one profile", kMaxWorkers));
  }
  MOTLEY_RETURN_IF_ERROR(table.status());
  for (uint64_t i = 0; i < count; ++i) {
    profile.workers.push_back(worker);
    if (count > 1) profile.workers.back().device.name = fmt::format("{}-{}", device.name, i);
  }
  return Status::Ok();
}

Result<ClusterProfile> ReadCluster(const toml::table& root, std::string_view source) {
  static constexpr std::array<std::string_view, 6> kKeys = {
      "name", "model", "gradient_bytes", "step_flops", "server", "worker"};
  TomlTable table(root, source);
  table.OnlyKeys(kKeys);
  ClusterProfile profile;
  profile.name = table.Text("name", "");
  profile.model = table.Text("model", "");
  profile.gradient_bytes = table.Bytes("gradient_bytes", kMaxVector);
  profile.step_flops = table.Number("step_flops", 0, 0, kMaxNumber);
  if (const auto* server = InnerTable(table, "server", "a [server] table with a link")) {
    profile.server = ReadServer(*server, source, table);
  }
  MOTLEY_RETURN_IF_ERROR(table.status());
  const toml::node* workers = table.Node("worker");
  const toml::array* list = workers == nullptr ? nullptr : workers->as_array();
  if (list == nullptr || list->empty()) {
    return Status::DataError(
        fmt::format("{}: no workers; describe each with a [[worker]] table", source));
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

ServerRates ServerRatesOf(const ClusterProfile& profile) {
  if (profile.server) return *profile.server;
  const auto wider = [](double a, double b) { return a == 0 || b == 0 ? 0 : std::max(a, b); };
  ServerRates widest;
  for (size_t w = 0; w < profile.workers.size(); ++w) {
    const LinkProfile& link = profile.workers[w].link;
    const ServerRates rates = {link.Up().bytes_per_second, link.Down().bytes_per_second};
    widest = w == 0 ? rates : ServerRates{wider(widest.in, rates.in), wider(widest.out, rates.out)};
  }
  return widest;
}

Result<ClusterProfile> ParseClusterProfile(const std::string& text, const std::string& source) {
  MOTLEY_ASSIGN_OR_RETURN(const toml::table root, ParseToml(text, source));
  return ReadCluster(root, source);
}

Result<ClusterProfile> LoadClusterProfile(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadTomlFile(path, "cluster profile"));
  return ParseClusterProfile(text, path);
}

}  // namespace motley
