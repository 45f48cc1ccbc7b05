// SPDX-License-Identifier: Apache-2.0
#include "cli/report/profile_report.h"

#include <optional>
#include <vector>

#include "cli/report/table.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "profiles/cost_model.h"

namespace motley {
namespace {

constexpr double kShownSizes[] = {1, 16, 64, 256, 1024, 4096, 16384};

// Formats 0.00123 as "1.23 ms".
std::string Seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string Rate(double bytes_per_second) {
  return bytes_per_second > 0 ? fmt::format("{:.3g} GB/s", bytes_per_second * 1e-9) : "unlimited";
}

std::string Size(uint64_t bytes) {
  return fmt::format("{:.3g} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string Processor(const DeviceProfile& device) {
  const HardwareFacts& facts = device.hardware;
  std::string text = facts.model.empty() ? "a processor without a name" : facts.model;
  text += fmt::format(", {} core{}, {} thread{}", facts.cores, facts.cores == 1 ? "" : "s",
                      facts.threads, facts.threads == 1 ? "" : "s");
  if (!facts.core_kinds.empty()) text += fmt::format(" of kinds {}", facts.core_kinds);
  if (!facts.driver.empty()) text += fmt::format(", {} kernels", facts.driver);
  if (device.memory_bytes > 0) text += fmt::format(", {}", Size(device.memory_bytes));
  if (facts.bytes_per_second > 0) text += fmt::format(" read at {}", Rate(facts.bytes_per_second));
  return text;
}

std::string Curve(const DeviceProfile& device) {
  std::string text = fmt::format("{:.6g} samples/s, overhead {}", device.samples_per_second,
                                 Seconds(device.overhead_seconds));
  if (device.knee_samples > 0) {
    text += fmt::format(", full from {:.4g} samples on", device.knee_samples);
  }
  text += fmt::format(", noise {:.2g} %", device.jitter * 100);
  if (device.tail_probability > 0) {
    text += fmt::format(", {:.2g} % of pieces {:.3g} times as long", device.tail_probability * 100,
                        device.tail_factor);
  }
  return text;
}

std::string LinkText(const LinkProfile& link) {
  const LinkDirection up = link.Up(), down = link.Down();
  if (up == LinkDirection{} && down == LinkDirection{}) return "not measured";
  return fmt::format("up {} after {}, down {} after {}", Rate(up.bytes_per_second),
                     Seconds(up.latency_seconds), Rate(down.bytes_per_second),
                     Seconds(down.latency_seconds));
}

std::string ServerText(const ServerLink& server) {
  std::string text = fmt::format("to the server at {}", server.address);
  if (server.streams > 1) text += fmt::format(" over {} connections", server.streams);
  return text + fmt::format("; {} behind vectors", Seconds(server.loaded_latency_seconds));
}

nlohmann::ordered_json DirectionJson(const LinkDirection& way) {
  return {{"latency_seconds", way.latency_seconds}, {"bytes_per_second", way.bytes_per_second}};
}

}  // namespace

std::string ProfileTable(const ClusterProfile& profile, bool cached,
                         const std::optional<ServerLink>& server) {
  const WorkerProfile& worker = profile.workers.front();
  const DeviceProfile& device = worker.device;
  std::string text = fmt::format("{} ({} {}{})\n", device.name, device.kind, DeviceIdentity(device),
                                 cached ? ", measured before: --fresh measures again" : "");
  text += fmt::format("processor  {}\n", Processor(device));
  text += fmt::format("{:<10} {}\n", profile.model, Curve(device));
  text += fmt::format("link       {}, {}\n\n", LinkText(worker.link),
                      server ? ServerText(*server) : "between processes of this machine");
  Table table({"samples", "time", "samples/s"});
  for (const double samples : kShownSizes) {
    if (device.max_samples > 0 && samples > static_cast<double>(device.max_samples)) break;
    const double seconds = SecondsFor(device, samples);
    table.Add(
        {fmt::format("{}", samples), Seconds(seconds), fmt::format("{:.4g}", samples / seconds)});
  }
  return text + table.Format();
}

std::string ProfileJson(const ClusterProfile& profile, bool cached,
                        const std::optional<ServerLink>& server) {
  const WorkerProfile& worker = profile.workers.front();
  const DeviceProfile& device = worker.device;
  const HardwareFacts& facts = device.hardware;
  auto times = nlohmann::ordered_json::array();
  for (const double samples : kShownSizes) {
    if (device.max_samples > 0 && samples > static_cast<double>(device.max_samples)) break;
    times.push_back({{"samples", samples}, {"seconds", SecondsFor(device, samples)}});
  }
  nlohmann::ordered_json json = {
      {"identity", DeviceIdentity(device)},
      {"cached", cached},
      {"model", profile.model},
      {"gradient_bytes", profile.gradient_bytes},
      {"step_flops", profile.step_flops},
      {"device",
       {{"name", device.name},
        {"kind", device.kind},
        {"samples_per_second", device.samples_per_second},
        {"overhead_seconds", device.overhead_seconds},
        {"knee_samples", device.knee_samples},
        {"max_samples", device.max_samples},
        {"jitter", device.jitter},
        {"tail", {{"probability", device.tail_probability}, {"factor", device.tail_factor}}},
        {"memory_bytes", device.memory_bytes},
        {"hardware",
         {{"vendor", facts.vendor},
          {"model", facts.model},
          {"driver", facts.driver},
          {"cores", facts.cores},
          {"threads", facts.threads},
          {"core_kinds", facts.core_kinds},
          {"memory_bytes_per_second", facts.bytes_per_second}}}}},
      {"link",
       {{"up", DirectionJson(worker.link.Up())}, {"down", DirectionJson(worker.link.Down())}}},
      {"times", times}};
  if (server) {
    json["link"]["server"] = server->address;
    json["link"]["streams"] = server->streams;
    json["link"]["loaded_latency_seconds"] = server->loaded_latency_seconds;
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
