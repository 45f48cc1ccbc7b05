// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "profiles/profile.h"
#include "profiles/units.h"

namespace motley {
namespace {

// A TOML basic string.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// TOML distinguishes integers from floats; the reader accepts both.
std::string Number(double value) { return fmt::format("{}", value); }

std::string QuotedQuantity(Quantity quantity, double value) {
  return Quoted(FormatQuantity(quantity, value));
}

// "{ a = 1, b = 2 }" with the entries that are not empty.
std::string InlineTable(std::initializer_list<std::string> entries) {
  std::string inside;
  for (const std::string& entry : entries) {
    if (entry.empty()) continue;
    inside += (inside.empty() ? " " : ", ") + entry;
  }
  return "{" + inside + " }";
}

// Entries are left out if they have the default value.
std::string TextEntry(const char* key, const std::string& text) {
  return text.empty() ? "" : fmt::format("{} = {}", key, Quoted(text));
}
std::string CountEntry(const char* key, uint64_t count) {
  return count == 0 ? "" : fmt::format("{} = {}", key, count);
}
std::string NumberEntry(const char* key, double value) {
  return value > 0 ? fmt::format("{} = {}", key, Number(value)) : "";
}
std::string QuantityEntry(const char* key, Quantity quantity, double value) {
  return value > 0 ? fmt::format("{} = {}", key, QuotedQuantity(quantity, value)) : "";
}

std::string FormatLink(const LinkProfile& link) {
  const auto latency = [](const LinkDirection& way) {
    return QuantityEntry("latency", Quantity::kDuration, way.latency_seconds);
  };
  const auto bandwidth = [](const LinkDirection& way) {
    return QuantityEntry("bandwidth", Quantity::kRate, way.bytes_per_second);
  };
  const LinkDirection up = link.Up();
  if (up == LinkDirection{} && !link.down) return "";
  const std::string down =
      link.down ? "down = " + InlineTable({latency(*link.down), bandwidth(*link.down)}) : "";
  return "link = " + InlineTable({latency(up), bandwidth(up), down}) + "\n";
}

// An unlimited direction is written too; without it the reader would use the widest worker's link.
std::string FormatServer(const ServerRates& rates) {
  const auto bandwidth = [](double rate) {
    return rate > 0 ? QuantityEntry("bandwidth", Quantity::kRate, rate)
                    : std::string("bandwidth = 0");
  };
  const std::string inside = rates.in == rates.out
                                 ? InlineTable({bandwidth(rates.in)})
                                 : InlineTable({"up = " + InlineTable({bandwidth(rates.out)}),
                                                "down = " + InlineTable({bandwidth(rates.in)})});
  return "\n[server]\nlink = " + inside + "\n";
}

std::string FormatHardware(const HardwareFacts& facts) {
  if (facts == HardwareFacts{}) return "";
  return "hardware = " +
         InlineTable({TextEntry("vendor", facts.vendor), TextEntry("model", facts.model),
                      TextEntry("driver", facts.driver), CountEntry("cores", facts.cores),
                      CountEntry("threads", facts.threads),
                      TextEntry("core_kinds", facts.core_kinds),
                      QuantityEntry("memory_bandwidth", Quantity::kRate, facts.bytes_per_second)}) +
         "\n";
}

std::string FormatTail(const DeviceProfile& device) {
  if (device.tail_probability <= 0) return "";
  return fmt::format("tail = {{ probability = {}, factor = {} }}\n",
                     Number(device.tail_probability), Number(device.tail_factor));
}

std::string FormatWorker(const WorkerProfile& worker) {
  const DeviceProfile& device = worker.device;
  std::string out = "\n[[worker]]\n";
  out += fmt::format("name = {}\nkind = {}\n", Quoted(device.name), Quoted(device.kind));
  out += fmt::format("samples_per_second = {}\n", Number(device.samples_per_second));
  // Byte counts are written as integers, because a double cannot hold them beyond 2^53.
  for (const std::string& entry :
       {QuantityEntry("overhead", Quantity::kDuration, device.overhead_seconds),
        NumberEntry("knee_samples", device.knee_samples),
        CountEntry("max_samples", device.max_samples), NumberEntry("jitter", device.jitter),
        CountEntry("memory", device.memory_bytes)}) {
    if (!entry.empty()) out += entry + "\n";
  }
  return out + FormatTail(device) + FormatHardware(device.hardware) + FormatLink(worker.link);
}

}  // namespace

std::string FormatClusterProfile(const ClusterProfile& profile) {
  std::string out;
  if (!profile.name.empty()) out += fmt::format("name = {}\n", Quoted(profile.name));
  if (!profile.model.empty()) out += fmt::format("model = {}\n", Quoted(profile.model));
  if (profile.gradient_bytes > 0) {
    out += fmt::format("gradient_bytes = {}\n", profile.gradient_bytes);
  }
  if (profile.step_flops > 0) out += fmt::format("step_flops = {}\n", Number(profile.step_flops));
  if (profile.server) out += FormatServer(*profile.server);
  for (const WorkerProfile& worker : profile.workers) out += FormatWorker(worker);
  return out;
}

}  // namespace motley
