// SPDX-License-Identifier: Apache-2.0
#include "runtime/fault_plan.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/suggest.h"

namespace motley {
namespace {

constexpr double kMaxPauseSeconds = 24 * 3600;
constexpr double kMaxSlowFactor = 1e6;

struct KindForm {
  Fault::Kind kind;
  const char* name;
  const char* example;
};

constexpr KindForm kForms[] = {
    {Fault::Kind::kKill, "kill", "kill:2@step=50"},
    {Fault::Kind::kPause, "pause", "pause:1@step=20,2s"},
    {Fault::Kind::kSlow, "slow", "slow:0@step=100,5x"},
    {Fault::Kind::kNan, "nan", "nan:1@step=5"},
    {Fault::Kind::kLie, "lie", "lie:1@step=5,-0.5x"},
};

const KindForm& FormOf(Fault::Kind kind) {
  for (const KindForm& form : kForms) {
    if (form.kind == kind) return form;
  }
  return kForms[0];
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

Status Wrong(std::string_view text, const std::string& what, const char* example) {
  return Status::InvalidArgument(
      fmt::format("fault '{}': {}; the form is {}", text, what, example));
}

Status UnknownKind(std::string_view text, std::string_view kind) {
  std::vector<std::string_view> names;
  for (const KindForm& form : kForms) names.emplace_back(form.name);
  return Wrong(text,
               fmt::format("no kind of fault is called '{}'{}", kind, DidYouMean(kind, names)),
               "kill:2@step=50, pause:1@step=20,2s, slow:0@step=100,5x, nan:1@step=5 or "
               "lie:1@step=5,-0.5x");
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

// Parses the part after the comma: a duration, a slowdown or an error factor. kill and nan have
// none.
Status ParseAmount(std::string_view text, std::optional<std::string_view> amount, Fault& fault) {
  const char* example = FormOf(fault.kind).example;
  if (fault.kind == Fault::Kind::kKill || fault.kind == Fault::Kind::kNan) {
    if (amount) return Wrong(text, fmt::format("',{}' does not belong here", *amount), example);
    return Status::Ok();
  }
  if (fault.kind == Fault::Kind::kPause) {
    const auto duration = amount ? ParseDuration(*amount) : std::nullopt;
    if (!duration) {
      return Wrong(text, "how long is missing or not a time in s, ms or us up to a day", example);
    }
    fault.duration = *duration;
    return Status::Ok();
  }
  std::optional<double> factor;
  if (amount && amount->ends_with('x')) {
    factor = ParseWhole<double>(amount->substr(0, amount->size() - 1));
  }
  if (fault.kind == Fault::Kind::kLie) {
    if (!factor || !(std::abs(*factor) <= kMaxSlowFactor)) {
      return Wrong(text, "what answers are multiplied with is missing or not like -0.5x", example);
    }
    fault.factor = *factor;
    return Status::Ok();
  }
  if (!factor || !std::isfinite(*factor) || *factor <= 0 || *factor > kMaxSlowFactor) {
    return Wrong(text, "how many times slower is missing or not a factor like 5x", example);
  }
  fault.factor = *factor;
  return Status::Ok();
}

}  // namespace

Result<Fault> ParseFault(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const KindForm* form = nullptr;
  for (const KindForm& candidate : kForms) {
    if (kind == candidate.name) form = &candidate;
  }
  if (form == nullptr) return UnknownKind(text, kind);
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
  MOTLEY_RETURN_IF_ERROR(ParseAmount(text, amount, fault));
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
  std::string text =
      fmt::format("{}:{}@step={}", FormOf(fault.kind).name, fault.worker, fault.step);
  if (fault.kind == Fault::Kind::kPause) {
    const int64_t ns = fault.duration.count();
    if (ns % 1'000'000'000 == 0) {
      text += fmt::format(",{}s", ns / 1'000'000'000);
    } else if (ns % 1'000'000 == 0) {
      text += fmt::format(",{}ms", ns / 1'000'000);
    } else {
      text += fmt::format(",{}us", static_cast<double>(ns) / 1e3);
    }
  }
  if (fault.kind == Fault::Kind::kSlow || fault.kind == Fault::Kind::kLie)
    text += fmt::format(",{}x", fault.factor);
  return text;
}

}  // namespace motley
