// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/worker_flags.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "cli/flags/flag_values.h"
#include "fmt/core.h"

namespace motley {
namespace {

// The number of workers in `text`; 0: not such a number.
uint32_t WorkersIn(std::string_view text) {
  uint32_t workers = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), workers);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  return whole && workers <= kMostCount ? workers : 0;
}

// Sets the minimum. Returns an error, or an empty text. --workers may give the same minimum.
std::string TakeLeast(uint32_t least, JobFlags& flags) {
  const uint32_t other = std::exchange(flags.options.min_workers, least);
  if (other == 0 || other == least) return "";
  return fmt::format(
      "the minimum number of workers is {} here and {} in the other flag. Give it once", least,
      other);
}

// Takes a number like "8", or a minimum and a maximum like "2..8".
std::string TakeWorkers(std::string_view text, JobFlags& flags) {
  const size_t dots = text.find("..");
  const bool range = dots != text.npos;
  const uint32_t least = WorkersIn(text.substr(0, dots));
  const uint32_t most = range ? WorkersIn(text.substr(dots + 2)) : least;
  if (least == 0 || most == 0) {
    return fmt::format(
        "{} is not a number of workers. Give a whole number from 1 to 256, or with --remote one up "
        "to 1024 or a minimum and a maximum, like 2..8",
        text.empty() ? "''" : text);
  }
  if (least > most) return fmt::format("{} has a minimum above its maximum", text);
  flags.options.workers = most;
  flags.workers_range = range;
  return range ? TakeLeast(least, flags) : "";
}

}  // namespace

void AddWorkers(CLI::App* app, JobFlags& flags, MostWorkers most) {
  if (most == MostWorkers::kNumber) {
    app->add_option("--workers", flags.options.workers,
                    "Number of workers; default: as many as speeds, or 2. At most 1024")
        ->type_name("N")
        ->transform(Within(1U, kMostCount))
        ->group("Workers");
    return;
  }
  app->add_option("--workers",
                  "Number of workers; default: as many as speeds, or 2. At most 256 on one "
                  "machine. With --remote the largest number, up to 1024 (default: 8), or a "
                  "minimum and a maximum, like 2..8")
      ->type_name("N|N..M")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->check(CLI::Validator([&flags](std::string& text) { return TakeWorkers(text, flags); }, ""))
      ->group("Workers");
  app->add_option("--min-workers",
                  "With --remote: begin as soon as there are this many workers, including the "
                  "local one; default: 2, or 1 with --no-local-worker")
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->check(Within(1U, kMostCount))
      ->check(CLI::Validator(
          [&flags](std::string& text) { return TakeLeast(WorkersIn(text), flags); }, ""))
      ->group("Workers");
}

}  // namespace motley
