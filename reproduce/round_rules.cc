// SPDX-License-Identifier: Apache-2.0
#include "reproduce/round_rules.h"

#include <algorithm>
#include <vector>

#include "fmt/core.h"

namespace motley {
namespace {

using Late = std::vector<bool>;  // By worker.

uint32_t Count(const Late& late) {
  return static_cast<uint32_t>(std::count(late.begin(), late.end(), true));
}

void Join(Late& into, const Late& other) {
  for (size_t i = 0; i < other.size(); ++i) into[i] = into[i] || other[i];
}

bool Disjoint(const Late& a, const Late& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i]) return false;
  }
  return true;
}

// Ends rounds by the rule and adds up their times.
class Rounds {
 public:
  Rounds(const WorkerTrace& trace, double load, double mu)
      : trace_(trace), load_(load), mu_(mu), late_(trace.workers) {}

  // The workers that are later in round `round` than the rule waits.
  const Late& Look(uint32_t round) {
    const std::vector<double> seconds = trace_.Round(round, load_);
    longest_ = *std::max_element(seconds.begin(), seconds.end());
    cut_ = (1 + mu_) * *std::min_element(seconds.begin(), seconds.end());
    for (uint32_t i = 0; i < trace_.workers; ++i) late_[i] = seconds[i] > cut_;
    return late_;
  }
  // Ends the round of the last Look. Returns the workers whose results are missing.
  const Late& End(bool bearable) {
    taken_.seconds += bearable ? std::min(cut_, longest_) : longest_;
    taken_.waits += bearable ? 0 : 1;
    if (!bearable) late_.assign(late_.size(), false);
    return late_;
  }
  const RoundsTaken& taken() const { return taken_; }

 private:
  const WorkerTrace& trace_;
  double load_;
  double mu_;
  double cut_ = 0;
  double longest_ = 0;
  Late late_;
  RoundsTaken taken_;
};

// True if `late` now, after the rounds in `before` (oldest first), stays within the bursts that the
// code tolerates. Within W rounds at most lambda different workers straggle, and none of them
// straggled B or more rounds ago in that window.
bool Bearable(const std::vector<Late>& before, const Late& late, const BurstModel& model) {
  const size_t round = before.size();
  const size_t first = round + 1 > model.window ? round + 1 - model.window : 0;
  Late any = late;
  Late old(late.size(), false);
  for (size_t r = first; r < round; ++r) {
    Join(any, before[r]);
    if (r + model.burst <= round) Join(old, before[r]);
  }
  return Count(any) <= model.stragglers && Disjoint(old, late);
}

Status CheckLength(const WorkerTrace& trace, uint32_t rounds) {
  if (rounds <= trace.rounds) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{} rounds are needed; the trace has {}", rounds, trace.rounds));
}

Status Undecodable(uint32_t job) {
  return Status::Internal(fmt::format("job {} cannot be decoded. This is a bug of motley", job));
}

}  // namespace

Result<RoundsTaken> RunUncoded(const WorkerTrace& trace, uint32_t jobs) {
  return RunQuorum(trace, jobs, 0);
}

Result<RoundsTaken> RunQuorum(const WorkerTrace& trace, uint32_t jobs, uint32_t s) {
  MOTLEY_RETURN_IF_ERROR(CheckLength(trace, jobs));
  RoundsTaken taken;
  for (uint32_t round = 0; round < jobs; ++round) {
    std::vector<double> seconds = trace.Round(round, (s + 1.0) / trace.workers);
    std::sort(seconds.begin(), seconds.end());
    taken.seconds += seconds[trace.workers - 1 - s];
  }
  return taken;
}

Result<RoundsTaken> RunGradientCode(const WorkerTrace& trace, uint32_t jobs, uint32_t s,
                                    double mu) {
  MOTLEY_RETURN_IF_ERROR(CheckLength(trace, jobs));
  Rounds rounds(trace, (s + 1.0) / trace.workers, mu);
  for (uint32_t round = 0; round < jobs; ++round) rounds.End(Count(rounds.Look(round)) <= s);
  return rounds.taken();
}

Result<RoundsTaken> RunSelectiveRepeat(const WorkerTrace& trace, uint32_t jobs,
                                       const BurstModel& model, double mu) {
  const uint32_t n = trace.workers;
  const uint32_t delay = model.burst;
  MOTLEY_RETURN_IF_ERROR(CheckLength(trace, jobs + delay));
  const uint32_t span = model.window - 1 + model.burst;
  const uint32_t s = (model.burst * model.stragglers + span - 1) / span;
  Rounds rounds(trace, (s + 1.0) / n, mu);
  std::vector<Late> missing;  // By job: workers that have not contributed to it.
  std::vector<Late> counted;  // By round: its stragglers, as far as the model counts them.
  for (uint32_t round = 0; round < jobs + delay; ++round) {
    // Workers that repeat an old task instead of this round's: the first that they lack.
    Late repeats(n, false);
    uint32_t excess = 0;
    if (round >= delay) {
      const Late& lacks = missing[round - delay];
      excess = std::max(Count(lacks), s) - s;
      for (uint32_t i = 0, left = excess; i < n && left > 0; ++i) {
        if (!lacks[i]) continue;
        repeats[i] = true;
        left -= 1;
      }
    }
    if (round >= jobs && excess == 0) {  // This round has no work left.
      counted.emplace_back(n, false);
      missing.emplace_back(n, true);
      continue;
    }
    const Late late = rounds.End(Bearable(counted, rounds.Look(round), model));
    missing.push_back(late);
    Join(missing.back(), repeats);
    // A round that lost at most s answers, and none to repetition, needs no repair later.
    const bool exempt = excess == 0 && Count(late) <= s;
    counted.push_back(exempt ? Late(n, false) : late);
    if (round < delay) continue;
    uint32_t left = Count(missing[round - delay]);
    for (uint32_t i = 0; i < n; ++i) left -= repeats[i] && !late[i] ? 1 : 0;
    if (left > s) return Undecodable(round - delay);
  }
  return rounds.taken();
}

Result<RoundsTaken> RunMultiplexed(const WorkerTrace& trace, uint32_t jobs, const BurstModel& model,
                                   double mu) {
  const uint32_t n = trace.workers;
  const uint32_t plain = model.window - 1;
  const uint32_t slots = plain + model.burst;
  MOTLEY_RETURN_IF_ERROR(CheckLength(trace, jobs + slots - 1));
  const double copies = model.stragglers + 1.0;
  const double load = model.stragglers == n ? static_cast<double>(slots) / (1.0 * n * plain)
                                            : copies * slots / (n * (model.burst + plain * copies));
  Rounds rounds(trace, load, mu);
  std::vector<Late> before;
  struct Job {
    std::vector<uint32_t> plain_done;  // By worker.
    std::vector<uint32_t> coded_done;  // By group.
  };
  std::vector<Job> work(jobs, Job{std::vector<uint32_t>(n), std::vector<uint32_t>(model.burst)});
  for (uint32_t round = 0; round < jobs + slots - 1; ++round) {
    before.push_back(rounds.End(Bearable(before, rounds.Look(round), model)));
    for (uint32_t slot = 0; slot < slots; ++slot) {
      if (round < slot || round - slot >= jobs) continue;
      Job& job = work[round - slot];
      for (uint32_t i = 0; i < n; ++i) {
        if (before.back()[i]) continue;
        const bool coded = slot >= plain && job.plain_done[i] >= plain;
        (coded ? job.coded_done[slot - plain] : job.plain_done[i]) += 1;
      }
    }
    if (round + 1 < slots) continue;
    const Job& due = work[round + 1 - slots];
    if (*std::min_element(due.plain_done.begin(), due.plain_done.end()) < plain ||
        *std::min_element(due.coded_done.begin(), due.coded_done.end()) + model.stragglers < n) {
      return Undecodable(round + 1 - slots);
    }
  }
  return rounds.taken();
}

}  // namespace motley
