// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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

// TOML tells integers from floats, and the reader takes both.
std::string Number(double value) { return fmt::format("{}", value); }

std::string QuotedQuantity(Quantity quantity, double value) {
  return Quoted(FormatQuantity(quantity, value));
}

std::string FormatLink(const LinkProfile& link) {
  std::string inside;
  if (link.latency_seconds > 0) {
    inside += "latency = " + QuotedQuantity(Quantity::kDuration, link.latency_seconds);
  }
  if (link.bytes_per_second > 0) {
    inside += inside.empty() ? "" : ", ";
    inside += "bandwidth = " + QuotedQuantity(Quantity::kRate, link.bytes_per_second);
  }
  return inside.empty() ? "" : "link = { " + inside + " }\n";
}

std::string FormatWorker(const WorkerProfile& worker) {
  const DeviceProfile& device = worker.device;
  std::string out = "\n[[worker]]\n";
  out += fmt::format("name = {}\nkind = {}\n", Quoted(device.name), Quoted(device.kind));
  out += fmt::format("samples_per_second = {}\n", Number(device.samples_per_second));
  if (device.overhead_seconds > 0) {
    out += fmt::format("overhead = {}\n",
                       QuotedQuantity(Quantity::kDuration, device.overhead_seconds));
  }
  if (device.jitter > 0) out += fmt::format("jitter = {}\n", Number(device.jitter));
  // Whole bytes, which a double could not hold beyond 2^53.
  if (device.memory_bytes > 0) out += fmt::format("memory = {}\n", device.memory_bytes);
  return out + FormatLink(worker.link);
}

}  // namespace

std::string FormatClusterProfile(const ClusterProfile& profile) {
  std::string out;
  if (!profile.name.empty()) out += fmt::format("name = {}\n", Quoted(profile.name));
  if (profile.gradient_bytes > 0) {
    out += fmt::format("gradient_bytes = {}\n", profile.gradient_bytes);
  }
  if (profile.step_flops > 0) out += fmt::format("step_flops = {}\n", Number(profile.step_flops));
  for (const WorkerProfile& worker : profile.workers) out += FormatWorker(worker);
  return out;
}

}  // namespace motley
