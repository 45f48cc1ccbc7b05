// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace motley {
namespace {

constexpr std::string_view kWorker = "worker";
constexpr std::string_view kNext = ", ";

bool Digit(char c) { return c >= '0' && c <= '9'; }

// How much of the beginning of `text` is digits.
size_t Digits(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), Digit) - text.begin());
}

// Behind "worker " or "workers " at the beginning of `text`, where a number follows; else 0.
size_t Opening(std::string_view text) {
  if (!text.starts_with(kWorker)) return 0;
  text.remove_prefix(kWorker.size());
  const size_t plural = text.starts_with('s') ? 1 : 0;
  text.remove_prefix(plural);
  if (!text.starts_with(' ') || Digits(text.substr(1)) == 0) return 0;
  return kWorker.size() + plural + 1;
}

// Moves the number that `text` begins with to the end of `out`, and the name behind it.
void MoveNumber(std::string_view& text, const NameOfWorker& name_of, std::string& out) {
  const size_t digits = Digits(text);
  WorkerId worker = 0;
  const auto read = std::from_chars(text.data(), text.data() + digits, worker);
  out += text.substr(0, digits);
  text.remove_prefix(digits);
  if (read.ec != std::errc() || text.starts_with(" (")) return;
  if (const std::string name = name_of(worker); !name.empty()) out += " (" + name + ")";
}

}  // namespace

bool WorthSaying(std::string_view name) {
  if (!name.starts_with(kWorker)) return !name.empty();
  name.remove_prefix(kWorker.size());
  if (name.starts_with('-')) name.remove_prefix(1 + Digits(name.substr(1)));
  return !name.empty();
}

std::string NumberedName(std::string_view name, WorkerId worker) {
  const bool made_up = name.empty() || name == kWorker || name.starts_with("worker ");
  if (!made_up) return std::string(name);
  name.remove_prefix(std::min(name.size(), kWorker.size()));
  return fmt::format("{}-{}{}", kWorker, worker, name);
}

std::string WithWorkerNames(std::string_view text, const NameOfWorker& name_of) {
  std::string out;
  while (!text.empty()) {
    const bool word = out.empty() || out.back() == ' ' || out.back() == '(';
    const size_t opening = word ? Opening(text) : 0;
    if (opening == 0) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const bool several = text[opening - 2] == 's';
    out += text.substr(0, opening);
    text.remove_prefix(opening);
    MoveNumber(text, name_of, out);
    while (several && text.starts_with(kNext) && Digits(text.substr(kNext.size())) > 0) {
      out += kNext;
      text.remove_prefix(kNext.size());
      MoveNumber(text, name_of, out);
    }
  }
  return out;
}

}  // namespace motley
