// SPDX-License-Identifier: Apache-2.0
#include "runtime/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/assert.h"
#include "base/suggest.h"

namespace motley {
namespace {

constexpr double kMaxPauseSeconds = 24 * 3600;
constexpr double kMaxFactor = 1e6;

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Duration> ParseDuration(std::string_view text) {
  const size_t unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos) return std::nullopt;
  const std::string_view unit = text.substr(unit_at);
  const double scale = unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 0;
  const auto number = ParseWhole<double>(text.substr(0, unit_at));
  if (scale == 0 || !number || !(*number * scale <= kMaxPauseSeconds)) return std::nullopt;
  const Duration duration = FromSeconds(*number * scale);
  if (duration <= Duration::zero()) return std::nullopt;
  return duration;
}

std::string ReadNothing(std::optional<std::string_view> amount, Fault&) {
  return amount ? fmt::format("',{}' does not belong here", *amount) : "";
}

std::string FormatNothing(const Fault&) { return ""; }

std::string ReadPause(std::optional<std::string_view> amount, Fault& fault) {
  const auto duration = amount ? ParseDuration(*amount) : std::nullopt;
  if (!duration) return "how long is missing or not a time in s, ms or us up to a day";
  fault.duration = *duration;
  return "";
}

std::string FormatPause(const Fault& fault) {
  const int64_t ns = fault.duration.count();
  if (ns % 1'000'000'000 == 0) return fmt::format(",{}s", ns / 1'000'000'000);
  if (ns % 1'000'000 == 0) return fmt::format(",{}ms", ns / 1'000'000);
  return fmt::format(",{}us", static_cast<double>(ns) / 1e3);
}

// "-0.5x"; none: not a factor.
std::optional<double> ParseFactor(std::optional<std::string_view> amount) {
  if (!amount || !amount->ends_with('x')) return std::nullopt;
  const auto factor = ParseWhole<double>(amount->substr(0, amount->size() - 1));
  return factor && std::abs(*factor) <= kMaxFactor ? factor : std::nullopt;
}

std::string ReadSlow(std::optional<std::string_view> amount, Fault& fault) {
  const auto factor = ParseFactor(amount);
  if (!factor || *factor <= 0) return "how many times slower is missing or not a factor like 5x";
  fault.factor = *factor;
  return "";
}

std::string ReadLie(std::optional<std::string_view> amount, Fault& fault) {
  const auto factor = ParseFactor(amount);
  if (!factor) return "what answers are multiplied with is missing or not like -0.5x";
  fault.factor = *factor;
  return "";
}

std::string FormatFactor(const Fault& fault) { return fmt::format(",{}x", fault.factor); }

constexpr FaultForm kForms[] = {
    {Fault::Kind::kKill, "kill", "kill:2@step=50", "Worker 2 dies when step 50 opens.", ReadNothing,
     FormatNothing},
    {Fault::Kind::kPause, "pause", "pause:1@step=20,2s", "Worker 1 pauses for 2 s.", ReadPause,
     FormatPause},
    {Fault::Kind::kSlow, "slow", "slow:0@step=100,5x",
     "Worker 0 takes five times as long from then on.", ReadSlow, FormatFactor},
    {Fault::Kind::kNan, "nan", "nan:1@step=5", "Worker 1 sends an answer that is not a number.",
     ReadNothing, FormatNothing},
    {Fault::Kind::kLie, "lie", "lie:1@step=5,-0.5x",
     "Worker 1 sends -0.5 times its answers from then on.", ReadLie, FormatFactor},
};

const FaultForm& FormOf(Fault::Kind kind) {
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const FaultForm& each) { return each.kind == kind; });
  MOTLEY_ASSERT(form != std::end(kForms));
  return *form;
}

Status Wrong(std::string_view text, const std::string& what, std::string_view example) {
  return Status::InvalidArgument(
      fmt::format("fault '{}': {}; the form is {}", text, what, example));
}

Status UnknownKind(std::string_view text, std::string_view kind) {
  std::vector<std::string_view> names;
  for (const FaultForm& form : kForms) names.emplace_back(form.name);
  return Wrong(text,
               fmt::format("no kind of fault is called '{}'{}", kind, DidYouMean(kind, names)),
               FaultExamples());
}

}  // namespace

std::span<const FaultForm> FaultForms() { return kForms; }

std::string FaultExamples() {
  std::string text;
  for (const FaultForm& form : kForms) {
    const bool last = &form == std::end(kForms) - 1;
    text += fmt::format("{}{}", text.empty() ? "" : last ? " or " : ", ", form.example);
  }
  return text;
}

Result<Fault> ParseFault(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const FaultForm& each) { return each.name == kind; });
  if (form == std::end(kForms)) return UnknownKind(text, kind);
  Fault fault;
  fault.kind = form->kind;
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const size_t at = rest.find('@');
  const auto worker = ParseWhole<WorkerId>(rest.substr(0, at));
  if (!worker) return Wrong(text, "no worker number after ':'", form->example);
  fault.worker = *worker;
  constexpr std::string_view kStep = "@step=";
  const std::string_view when = at == std::string_view::npos ? std::string_view() : rest.substr(at);
  if (!when.starts_with(kStep)) return Wrong(text, "'@step=' is missing", form->example);
  const size_t comma = when.find(',');
  const auto step = ParseWhole<StepId>(when.substr(0, comma).substr(kStep.size()));
  if (!step) return Wrong(text, "no step number after '@step='", form->example);
  fault.step = *step;
  std::optional<std::string_view> amount;
  if (comma != std::string_view::npos) amount = when.substr(comma + 1);
  const std::string wrong = form->read(amount, fault);
  if (!wrong.empty()) return Wrong(text, wrong, form->example);
  return fault;
}

Status CheckFaults(const std::vector<Fault>& faults, uint32_t workers, uint64_t steps) {
  for (const Fault& fault : faults) {
    if (fault.worker >= workers) {
      return Status::InvalidArgument(
          fmt::format("fault '{}': there is no worker {}; the job has {} (0 to {})",
                      FormatFault(fault), fault.worker, workers, workers == 0 ? 0 : workers - 1));
    }
    if (fault.step >= steps) {
      return Status::InvalidArgument(
          fmt::format("fault '{}': step {} is never reached; the job has {} steps (0 to {})",
                      FormatFault(fault), fault.step, steps, steps == 0 ? 0 : steps - 1));
    }
  }
  return Status::Ok();
}

std::string FormatFault(const Fault& fault) {
  const FaultForm& form = FormOf(fault.kind);
  return fmt::format("{}:{}@step={}{}", form.name, fault.worker, fault.step, form.format(fault));
}

}  // namespace motley
