// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rate_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "base/suggest.h"

namespace motley {
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 40;
constexpr uint32_t kMostTimes = 1u << 20;
constexpr uint64_t kMostBatch = uint64_t{1} << 40;

struct Word {
  const char* name;
  RateSchedule::Kind kind;
};
constexpr Word kWords[] = {{"constant", RateSchedule::Kind::kConstant},
                           {"cosine", RateSchedule::Kind::kCosine},
                           {"step", RateSchedule::Kind::kStep},
                           {"plateau", RateSchedule::Kind::kPlateau}};

Status Wrong(std::string_view part, const char* wanted) {
  return Status::InvalidArgument(fmt::format("`schedule`: '{}' is not {}", part, wanted));
}

template <typename T>
Status TakeWhole(std::string_view part, std::string_view value, T least, T most, T& out) {
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  const bool fits =
      error == std::errc() && stop == value.data() + value.size() && out >= least && out <= most;
  return fits ? Status::Ok()
              : Wrong(part, fmt::format("a whole number from {} to {}", least, most).c_str());
}

Status TakePart(std::string_view part, RateSchedule& schedule) {
  using Kind = RateSchedule::Kind;
  const size_t equals = part.find('=');
  if (equals == part.npos) return Wrong(part, "of the form NAME=VALUE, like warmup=100");
  const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
  const bool steps = schedule.kind == Kind::kStep, plateau = schedule.kind == Kind::kPlateau;
  if (name == "warmup") return TakeWhole<uint64_t>(part, value, 0, kMostSteps, schedule.warmup);
  if (name == "linear" || name == "sqrt") {
    uint64_t& batch = name == "linear" ? schedule.linear : schedule.root;
    return TakeWhole<uint64_t>(part, value, 1, kMostBatch, batch);
  }
  if (name == "every" && steps) {
    return TakeWhole<uint64_t>(part, value, 1, kMostSteps, schedule.every);
  }
  if (name == "patience" && plateau) {
    return TakeWhole<uint32_t>(part, value, 1, kMostTimes, schedule.patience);
  }
  if (name == "times" && plateau) {
    return TakeWhole<uint32_t>(part, value, 1, kMostTimes, schedule.times);
  }
  if (name == "factor" && (steps || plateau)) {
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, schedule.factor);
    const bool fits =
        error == std::errc() && stop == end && schedule.factor > 0 && schedule.factor < 1;
    return fits ? Status::Ok() : Wrong(part, "a factor between 0 and 1, ends excluded");
  }
  return Wrong(part, steps     ? "one of every=N, factor=F, warmup=N, linear=N, sqrt=N"
                     : plateau ? "one of patience=N, factor=F, times=N, warmup=N, linear=N, sqrt=N"
                               : "one of warmup=N, linear=N, sqrt=N");
}

}  // namespace

double RateSchedule::Factor(uint64_t step, uint64_t steps) const {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  const auto after = static_cast<double>(step - warmup);
  if (kind == Kind::kStep) return std::pow(factor, std::floor(after / static_cast<double>(every)));
  if (kind != Kind::kCosine || steps <= warmup) return 1;
  // One period of Loshchilov and Hutter 2017: from 1 at the first step to almost 0 at the last.
  const double part = std::min(1.0, after / static_cast<double>(steps - warmup));
  return (1 + std::cos(std::numbers::pi * part)) / 2;
}

double RateSchedule::BatchFactor(double samples) const {
  if (linear > 0) return samples / static_cast<double>(linear);
  return root > 0 ? std::sqrt(samples / static_cast<double>(root)) : 1;
}

Result<RateSchedule> ParseSchedule(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, colon);
  RateSchedule schedule;
  const Word* found = std::find_if(std::begin(kWords), std::end(kWords),
                                   [&](const Word& each) { return each.name == word; });
  if (found == std::end(kWords) && word.find('=') != word.npos) {
    return Status::InvalidArgument(fmt::format(
        "`schedule` {}: the form of the schedule is missing, like constant:{}", text, text));
  }
  if (found == std::end(kWords)) {
    std::vector<std::string> names;
    for (const Word& each : kWords) names.emplace_back(each.name);
    return CheckChoice("`schedule`", std::string(word), names);
  }
  schedule.kind = found->kind;
  std::set<std::string_view> seen;  // Names of parts.
  for (size_t begin = colon + 1; begin <= text.size() && colon < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    MOTLEY_RETURN_IF_ERROR(TakePart(part, schedule));
    const std::string_view name = part.substr(0, part.find('='));
    if (!seen.insert(name).second) {
      return Status::InvalidArgument(fmt::format("`schedule` {}: {} is given twice", text, name));
    }
    begin = end + 1;
  }
  if (schedule.kind == RateSchedule::Kind::kStep && schedule.every == 0) {
    return Status::InvalidArgument(fmt::format(
        "`schedule` {}: give the number of steps between reductions, as in step:every=1000", text));
  }
  if (schedule.linear > 0 && schedule.root > 0) {
    return Status::InvalidArgument(fmt::format(
        "`schedule` {}: the rate follows the samples of an update either linearly or by the square "
        "root. Give one of linear=N and sqrt=N",
        text));
  }
  return schedule;
}

}  // namespace motley
