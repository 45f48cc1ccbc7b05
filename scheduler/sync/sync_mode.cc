// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace motley {
namespace {

constexpr std::array kForms{
    SyncForm{"bsp", "all workers share each update and wait for it, default",
             [](uint32_t) { return SyncMode{}; }},
    SyncForm{"asp", "each worker's gradient is an update of its own",
             [](uint32_t) { return SyncMode{.one_each = true}; }},
    SyncForm{"ssp:S", "as asp, with no worker more than S updates ahead of the slowest",
             [](uint32_t bound) { return SyncMode{.one_each = true, .most_ahead = bound}; }},
    SyncForm{"local:H", "workers take about H steps of their own, then average what these changed",
             [](uint32_t steps) { return SyncMode{.local_steps = std::max(steps, 1U)}; }},
};

std::optional<uint32_t> NumberOf(std::string_view digits) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return number;
}

}  // namespace

std::span<const SyncForm> SyncForms() { return kForms; }

Result<SyncMode> ParseSyncMode(std::string_view text) {
  std::string forms;
  for (const SyncForm& each : kForms) {
    if (text == each.form && !each.has_number()) return each.make(0);
    const std::string_view prefix = each.form.substr(0, each.form.find(':') + 1);
    if (each.has_number() && text.starts_with(prefix)) {
      if (const auto number = NumberOf(text.substr(prefix.size()))) return each.make(*number);
    }
    forms += fmt::format("{}{}", forms.empty() ? "" : ", ", each.form);
  }
  return Status::InvalidArgument(
      fmt::format("`sync` {}: use one of {} with a whole number, such as ssp:2", text, forms));
}

std::string NameOf(const SyncMode& mode) {
  if (mode.local_steps > 0) return fmt::format("local:{}", mode.local_steps);
  if (!mode.one_each) return "bsp";
  return mode.most_ahead ? fmt::format("ssp:{}", *mode.most_ahead) : "asp";
}

}  // namespace motley
