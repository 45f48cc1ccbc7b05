// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace motley {
namespace {

using Numbers = SyncForm::Numbers;

constexpr std::array kForms{
    SyncForm{"bsp", "all workers share each update and wait for it, default",
             [](const Numbers&) { return SyncMode{}; }},
    SyncForm{"backup:B", "as bsp, and a step does not wait for its last B answers",
             [](const Numbers& n) { return SyncMode{.backup = n[0]}; }, 1},
    SyncForm{"asp", "each worker's gradient is an update of its own",
             [](const Numbers&) { return SyncMode{.one_each = true}; }},
    SyncForm{"dana", "as asp, and each worker has a momentum of its own that looks ahead",
             [](const Numbers&) { return SyncMode{.one_each = true, .own_momentum = true}; }},
    SyncForm{"r2sp", "as asp, and workers' updates are applied one after the other in turn",
             [](const Numbers&) { return SyncMode{.one_each = true, .in_order = true}; }},
    SyncForm{"dssp:LO,HI", "as ssp, with a bound from LO to HI that follows the workers' times",
             [](const Numbers& n) {
               return SyncMode{.one_each = true, .most_ahead = n[1], .least_bound = n[0]};
             }},
    SyncForm{"ssp:S", "as asp, with no worker more than S updates ahead of the slowest",
             [](const Numbers& n) { return SyncMode{.one_each = true, .most_ahead = n[0]}; }},
    SyncForm{"local:H", "workers take about H steps of their own, then average what these changed",
             [](const Numbers& n) { return SyncMode{.local_steps = n[0]}; }, 1},
    SyncForm{"local:H,K", "the same, and K steps of the next round while vectors travel",
             [](const Numbers& n) { return SyncMode{.local_steps = n[0], .local_ahead = n[1]}; }, 1,
             /*falls=*/true},
};

// The numbers of "2" or "1,4"; none if they are not those of the form.
std::optional<Numbers> NumbersOf(std::string_view text, const SyncForm& form) {
  const size_t count = form.numbers();
  Numbers numbers{};
  const char* at = text.data();
  const char* const all = at + text.size();
  for (size_t i = 0; i < count; ++i) {
    const auto [end, error] = std::from_chars(at, all, numbers[i]);
    const bool last = i + 1 == count;
    if (error != std::errc() || (last ? end != all : end == all || *end != ',')) return {};
    at = last ? end : end + 1;
  }
  const bool fall = count > 1 && numbers[1] < numbers[0];
  if (fall != form.falls || numbers[0] < form.least) return {};
  return numbers;
}

}  // namespace

size_t SyncForm::numbers() const {
  if (form.find(':') == std::string_view::npos) return 0;
  return 1 + static_cast<size_t>(std::count(form.begin(), form.end(), ','));
}

std::span<const SyncForm> SyncForms() { return kForms; }

Result<SyncMode> ParseSyncMode(std::string_view text) {
  std::string forms;
  for (const SyncForm& each : kForms) {
    if (text == each.form && each.numbers() == 0) return each.make({});
    const std::string_view prefix = each.form.substr(0, each.form.find(':') + 1);
    if (each.numbers() > 0 && text.starts_with(prefix)) {
      const auto numbers = NumbersOf(text.substr(prefix.size()), each);
      if (numbers) return each.make(*numbers);
    }
    forms += fmt::format("{}{}", forms.empty() ? "" : ", ", each.form);
  }
  return Status::InvalidArgument(fmt::format(
      "`sync` {}: use one of {}, with whole numbers (B and H from 1 on, K below H), such as ssp:2 "
      "or dssp:1,4",
      text, forms));
}

std::string NameOf(const SyncMode& mode) {
  if (mode.local_ahead > 0) return fmt::format("local:{},{}", mode.local_steps, mode.local_ahead);
  if (mode.local_steps > 0) return fmt::format("local:{}", mode.local_steps);
  if (mode.backup > 0) return fmt::format("backup:{}", mode.backup);
  if (!mode.one_each) return "bsp";
  if (mode.own_momentum) return "dana";
  if (mode.in_order) return "r2sp";
  if (mode.least_bound) return fmt::format("dssp:{},{}", *mode.least_bound, *mode.most_ahead);
  return mode.most_ahead ? fmt::format("ssp:{}", *mode.most_ahead) : "asp";
}

}  // namespace motley
