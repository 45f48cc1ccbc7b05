// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <variant>

#include "fmt/core.h"

namespace motley {
namespace {

constexpr uint32_t kDigits = 4;

std::string FlagText(const std::string& flag, const std::string& value) {
  return value.empty() ? "--" + flag : fmt::format("--{}={}", flag, value);
}

const TriedFlag* Tried(const SweepPlan& plan, std::string_view flag) {
  const std::vector<TriedFlag>& flags = plan.search.flags;
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [flag](const TriedFlag& each) { return each.name == flag; });
  return found != flags.end() ? &*found : nullptr;
}

bool Has(const SweepPlan& plan, std::string_view flag) {
  return !plan.Train(flag).empty() || Tried(plan, flag) != nullptr;
}

uint32_t NumberIn(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "1,1,0.5" has three.
uint32_t EntriesIn(std::string_view text) {
  return 1 + static_cast<uint32_t>(std::count(text.begin(), text.end(), ','));
}

// The largest count of any trial; at least 1.
uint64_t Largest(const SweepPlan& plan, std::string_view flag,
                 uint32_t (*count)(std::string_view)) {
  uint64_t largest = 1;
  const auto add = [&](uint64_t number) { largest = std::max(largest, number); };
  if (const std::string given = plan.Train(flag); !given.empty()) add(count(given));
  const TriedFlag* tried = Tried(plan, flag);
  if (tried == nullptr) return largest;
  if (const auto* range = std::get_if<DrawnRange>(&tried->values)) {
    add(static_cast<uint64_t>(std::clamp(range->to, 1.0, 1e9)));
    return largest;
  }
  for (const std::string& value : std::get<std::vector<std::string>>(tried->values)) {
    add(count(value));
  }
  return largest;
}

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Takes digits from the front. False: there are none.
bool TakeDigits(std::string_view& text, size_t least) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end >= least;
}

bool Take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// What follows the name of a trial's model or checkpoint; none: it is no such name.
std::optional<std::string_view> EndOf(std::string_view name) {
  if (!Take(name, "trial-") || !TakeDigits(name, kDigits)) return std::nullopt;
  if (Take(name, ".checkpoint")) return name;
  if (!Take(name, ".safetensors")) return std::nullopt;
  Take(name, ".diverged");  // The last version of a trial that diverged.
  return name;
}

}  // namespace

uint32_t TrialsAtOnce(const SweepPlan& plan, uint32_t cores) {
  if (plan.at_once > 0) return plan.at_once;
  if (!plan.devices.empty()) return static_cast<uint32_t>(plan.devices.size());
  const uint64_t workers =
      std::max(Largest(plan, "workers", NumberIn), Largest(plan, "worker-speeds", EntriesIn));
  const uint64_t threads = workers * Largest(plan, "threads", NumberIn);  // Fits: below 2^64.
  return static_cast<uint32_t>(std::max<uint64_t>(1, cores / threads));
}

std::vector<std::string> FlagsOfTrial(const SweepPlan& plan, const TrialValues& values,
                                      uint32_t epochs) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : plan.train) words.push_back(FlagText(flag, value));
  for (size_t i = 0; i < values.size(); ++i) {
    words.push_back(FlagText(plan.search.flags[i].name, values[i]));
  }
  // Speeds also say how many workers there are.
  if (!Has(plan, "workers") && !Has(plan, "worker-speeds")) words.emplace_back("--workers=1");
  if (!Has(plan, "threads") && plan.devices.empty()) words.emplace_back("--threads=1");
  words.push_back(fmt::format("--epochs={}", epochs));
  words.emplace_back("--evaluate-every=1epoch");
  // Keeps the best version. No trial has so many judgements, so none ends early.
  if (!Has(plan, "patience")) words.push_back(fmt::format("--patience={}", plan.search.epochs + 1));
  return words;
}

std::string ShownCommand(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789-_=./:,@+%") == std::string::npos;
    text += text.empty() ? "" : " ";
    text += plain ? word : Quoted(word);
  }
  return text;
}

std::string ModelName(uint32_t trial) {
  return fmt::format("trial-{:0{}}.safetensors", trial, kDigits);
}

std::string CheckpointName(uint32_t trial) {
  return fmt::format("trial-{:0{}}.checkpoint", trial, kDigits);
}

bool IsTrialFile(std::string_view name) {
  const auto end = EndOf(name);
  return end && (end->empty() || IsUnfinishedTrialFile(name));
}

bool IsUnfinishedTrialFile(std::string_view name) {
  auto end = EndOf(name);
  return end && Take(*end, ".") && TakeDigits(*end, 1) && Take(*end, ".") && TakeDigits(*end, 1) &&
         *end == ".tmp";
}

}  // namespace motley
