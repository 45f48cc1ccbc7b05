// SPDX-License-Identifier: Apache-2.0
// lambda: the gain of schemes in total time over waiting for all workers, on the recorded times of
// 256 cloud workers.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "fmt/core.h"
#include "reproduce/experiments.h"
#include "reproduce/round_rules.h"
#include "reproduce/rows.h"

namespace motley {
namespace {

constexpr uint32_t kJobs = 26;  // As in A5, whose other schemes need 4 more rounds.
constexpr uint32_t kStragglers = 14;
constexpr double kTolerance = 0.01;

using Groups = std::vector<std::vector<uint32_t>>;  // Workers that hold the same data.

Groups Neighbours(uint32_t workers, uint32_t copies) {
  Groups groups((workers + copies - 1) / copies);
  for (uint32_t w = 0; w < workers; ++w) groups[w / copies].push_back(w);
  return groups;
}

// Groups as in the repetition code: adjacent workers are slow together, so no group has two of
// them.
Groups FarApart(uint32_t workers, uint32_t copies) {
  Groups groups(workers / copies);
  for (uint32_t w = 0; w < workers; ++w) groups[w % groups.size()].push_back(w);
  return groups;
}

// Groups by the mean time so far, which combine slow workers with fast ones.
Groups DealtBySpeed(const WorkerTrace& trace, uint32_t rounds_seen, uint32_t copies) {
  if (rounds_seen == 0) return FarApart(trace.workers, copies);
  std::vector<double> total(trace.workers, 0);
  for (uint32_t round = 0; round < rounds_seen; ++round) {
    for (uint32_t w = 0; w < trace.workers; ++w) total[w] += trace.Seconds(0, round, w);
  }
  std::vector<uint32_t> order(trace.workers);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return total[a] < total[b]; });
  Groups groups(trace.workers / copies);
  const auto count = static_cast<uint32_t>(groups.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    const uint32_t place = i % count;
    groups[i / count % 2 == 0 ? place : count - 1 - place].push_back(order[i]);
  }
  return groups;
}

// Time until every group has its first answer.
double RepetitionRound(const WorkerTrace& trace, uint32_t round, const Groups& groups) {
  const std::vector<double> seconds = trace.Round(round, 1.0 / static_cast<double>(groups.size()));
  double last = 0;
  for (const auto& group : groups) {
    double first = std::numeric_limits<double>::infinity();
    for (const uint32_t w : group) first = std::min(first, seconds[w]);
    last = std::max(last, first);
  }
  return last;
}

// Time if all work were divisible at will among the workers that have begun: no scheme is faster.
double FluidRound(const WorkerTrace& trace, uint32_t round) {
  std::vector<double> begun = trace.Round(round, 0);
  std::sort(begun.begin(), begun.end());
  const double slope = trace.SecondsPerLoad();
  double sum = 0;
  for (size_t i = 0; i < begun.size(); ++i) {
    sum += begun[i];
    const double end = (slope + sum) / static_cast<double>(i + 1);
    if (i + 1 == begun.size() || end <= begun[i + 1]) return end;
  }
  return begun.back();
}

template <typename Round>
double Total(const WorkerTrace& trace, const Round& round) {
  double total = 0;
  for (uint32_t r = 0; r < trace.rounds; ++r) total += round(r);
  return total;
}

void AddOurs(const WorkerTrace& trace, double uncoded, RowList& rows) {
  const auto gain = [&](const auto& round) { return 1 - Total(trace, round) / uncoded; };
  for (const uint32_t copies : {3U, 8U}) {
    const std::string setting = fmt::format("{} copies: gain", copies);
    const double least = copies == 3 ? 0.40 : 0.55;
    rows.Show("repetition, neighbours", setting, gain([&](uint32_t r) {
                return RepetitionRound(trace, r, Neighbours(trace.workers, copies));
              }));
    rows.AtLeast("repetition, far apart", setting, gain([&](uint32_t r) {
                   return RepetitionRound(trace, r, FarApart(trace.workers, copies));
                 }),
                 least);
    rows.AtLeast("repetition, dealt by learned speed", setting, gain([&](uint32_t r) {
                   return RepetitionRound(trace, r, DealtBySpeed(trace, r, copies));
                 }),
                 least);
  }
  rows.Show("fluid bound", "gain", gain([&](uint32_t r) { return FluidRound(trace, r); }));
}

}  // namespace

Result<ExperimentResult> RunRecordedGain(const ReproduceContext& context) {
  MOTLEY_ASSIGN_OR_RETURN(const WorkerTrace trace, ReadLambdaTrace(context.data));
  MOTLEY_ASSIGN_OR_RETURN(const RoundsTaken few, RunUncoded(trace, kJobs));
  MOTLEY_ASSIGN_OR_RETURN(const RoundsTaken ruled, RunGradientCode(trace, kJobs, kStragglers, 1.0));
  MOTLEY_ASSIGN_OR_RETURN(const RoundsTaken quorum, RunQuorum(trace, kJobs, kStragglers));
  MOTLEY_ASSIGN_OR_RETURN(const RoundsTaken uncoded, RunUncoded(trace, trace.rounds));
  RowList rows("lambda");
  const std::string setting = fmt::format("15 copies, {} rounds: gain", kJobs);
  rows.Compare(
      "gradient coding, mu-rule", setting,
      {ReferenceKind::kAuthorsCode,
       "1 - 33.64 / 40.87 of A5: the simulator of Krishnan, Ebrahimi, Khisti, run by us", 0.177},
      1 - ruled.seconds / few.seconds, kTolerance);
  rows.Show("gradient coding, first n - s answers", setting, 1 - quorum.seconds / few.seconds);
  AddOurs(trace, uncoded.seconds, rows);
  rows.Note(
      "gain: the fraction of the total time of uncoded rounds (each waits for all workers) that is "
      "saved; rows without a number of rounds are over all 30");
  rows.Note(fmt::format(
      "assumed: a worker's time is the one recorded without load plus {:.4f} s per unit of load, "
      "also while others are helped; messages cost what they cost when the trace was recorded; "
      "learned speeds are means of earlier rounds, and data may be dealt out again in each",
      trace.SecondsPerLoad()));
  rows.Note(
      "nearly all of a worker's time goes by before it computes, so that leases, which move "
      "work that was not begun, gain nothing here and copies do");
  return std::move(rows).Take();
}

}  // namespace motley
