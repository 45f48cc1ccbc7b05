// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "base/assert.h"
#include "coding/codes/multi_message_code.h"
#include "coding/decode/decoder.h"
#include "coding/gradient_code.h"
#include "scheduler/placement/row_speeds.h"

namespace motley {
namespace {

constexpr double kWorthwhileGain = 0.1;  // Part of a step's time; a smaller gain is noise.
constexpr double kMoveCost = 2;  // A transfer costs as much as computing the partition this often.
// Smaller messages cost more to begin and send than they gain.
constexpr double kSamplesPerMessage = 8;

// The requested code first, then attempts that give ever less of it.
std::vector<PlanAttempt> Attempts(const SchedulerOptions& options, uint32_t members) {
  std::vector<PlanAttempt> attempts;
  const bool equal = options.shares == Shares::kEqual;
  if (SchemeNamed(options.code).keeps_copies) {
    for (uint32_t s = std::min(options.tolerate, members - 1) + 1; s-- > 0;) {
      if (!equal) attempts.push_back({options.code, s, false});
      attempts.push_back({options.code, s, true});
    }
  }
  if (!equal) attempts.push_back({"none", 0, false});
  attempts.push_back({"none", 0, true});
  return attempts;
}

// Members with work, so that the others do not count as workers that may be missing. Nullopt if all
// have work.
std::optional<std::vector<size_t>> MembersWithWork(const CodeForm& code) {
  const auto has_some = [&](RowId row) { return !code.rows[row].empty(); };
  std::vector<size_t> busy;
  for (RowId i = 0; i < code.owners(); ++i) {
    const bool works = code.lists.empty()
                           ? has_some(i)
                           : std::any_of(code.lists[i].begin(), code.lists[i].end(), has_some);
    if (works) busy.push_back(i);
  }
  if (busy.size() == code.owners()) return std::nullopt;
  return busy;
}

// Messages per worker such that each has enough samples, but at least one per copy.
uint32_t MessagesThatPay(const SchedulerOptions& options, double copies, size_t members) {
  const double samples = options.batch * copies / static_cast<double>(members);
  const double most = std::max(samples / kSamplesPerMessage, copies);
  return static_cast<uint32_t>(std::min<double>(most, kMessagesPerWorker));
}

Result<Plan> Build(const SchedulerOptions& options, const PlanAttempt& attempt, Plan plan) {
  while (true) {
    const std::vector<double> alike(plan.members.size(), 1.0);
    CodeRequest request = RequestOf(options, attempt.equal ? alike : plan.speeds);
    request.stragglers = attempt.stragglers;
    request.draft = attempt.draft;
    // With few members left, answers get longer before the tolerance falls.
    const size_t others = plan.members.size() - attempt.stragglers;
    request.parts = static_cast<uint32_t>(std::min<size_t>(options.parts, others));
    const uint32_t copies = SchemeNamed(attempt.code).Computed(attempt.stragglers, request.parts);
    request.messages = MessagesThatPay(options, copies, plan.members.size());
    MOTLEY_ASSIGN_OR_RETURN(CodeForm code, BuildCode(attempt.code, request));
    const auto busy = MembersWithWork(code);
    if (!busy || busy->size() <= attempt.stragglers || busy->empty()) {
      plan.rows = RowLists(code);
      plan.code = std::make_shared<const CodeForm>(std::move(code));
      return plan;
    }
    Plan smaller;
    for (const size_t i : *busy) {
      smaller.members.push_back(plan.members[i]);
      smaller.speeds.push_back(plan.speeds[i]);
    }
    plan = std::move(smaller);
  }
}

// At most `count` members: the fastest, in index order.
void KeepFastest(size_t count, Plan& plan) {
  if (plan.members.size() <= count) return;
  Plan smaller;
  for (const size_t i : FastestOf(plan.speeds, count)) {
    smaller.members.push_back(plan.members[i]);
    smaller.speeds.push_back(plan.speeds[i]);
  }
  plan = std::move(smaller);
}

// The part of the request that the plan does not give. `refusal` is the error of the first attempt.
std::optional<Compromise> CompromiseOf(const SchedulerOptions& options, const PlanAttempt& used,
                                       const Plan& plan, const Status& refusal) {
  const std::string code(used.code);
  if (!refusal.ok()) {
    return notice::OtherCode{code, used.equal, used.stragglers, refusal.ToString()};
  }
  const auto members = static_cast<uint32_t>(plan.members.size());
  const uint32_t asked = SchemeNamed(options.code).keeps_copies ? options.tolerate : 0;
  if (used.stragglers != asked) {
    return notice::ToleratesFewer{members, code, used.stragglers, asked};
  }
  const uint32_t parts = std::max(plan.code->parts, plan.code->kept_parts);
  if (!SchemeNamed(used.code).has_parts || parts >= options.parts) return std::nullopt;
  return notice::FewerParts{members, parts, options.parts};
}

double RowSeconds(const CodeForm& code, const std::vector<double>& speeds, size_t row,
                  double samples_per_partition) {
  return static_cast<double>(code.rows[row].size()) * samples_per_partition / speeds[row];
}

// A run through lists: the first worker to finish a row completes it; kept rows need several
// workers.
class ListRun {
 public:
  ListRun(const CodeForm& code, const std::vector<double>& speeds, double samples_per_partition)
      : code_(code),
        speeds_(speeds),
        samples_(samples_per_partition),
        place_(code.lists.size(), 0),
        turn_(code.lists.size(), 0),
        wanted_(code.workers, std::max(code.kept_parts, 1U)),
        holders_(code.workers) {
    for (WorkerId worker = 0; worker < code.lists.size(); ++worker) {
      for (const RowId row : code.lists[worker]) holders_[row].push_back(worker);
      Begin(worker, 0);
    }
  }

  double Seconds() {
    double last = 0;
    while (!due_.empty()) {
      const auto [time, worker, turn] = due_.top();
      due_.pop();
      if (turn != turn_[worker]) continue;
      const RowId row = code_.lists[worker][place_[worker]++];
      Begin(worker, time);
      if (--wanted_[row] > 0) continue;
      last = time;
      for (const WorkerId other : holders_[row]) {
        const auto& list = code_.lists[other];
        if (place_[other] < list.size() && list[place_[other]] == row) Begin(other, time);
      }
    }
    return last;
  }

 private:
  struct Due {
    double time;
    WorkerId worker;
    uint32_t turn;
    auto operator<=>(const Due&) const = default;
  };

  void Begin(WorkerId worker, double now) {
    const auto& list = code_.lists[worker];
    size_t& place = place_[worker];
    while (place < list.size() && wanted_[list[place]] == 0) ++place;
    const uint32_t turn = ++turn_[worker];
    if (place == list.size()) return;
    const auto partitions = static_cast<double>(code_.rows[list[place]].size());
    due_.push({now + partitions * samples_ / speeds_[worker], worker, turn});
  }

  const CodeForm& code_;
  const std::vector<double>& speeds_;
  double samples_;
  std::vector<size_t> place_;  // By worker: its place in its list.
  std::vector<uint32_t> turn_;
  std::vector<uint32_t> wanted_;  // By row: how often it has to be done still.
  std::vector<std::vector<WorkerId>> holders_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace

std::span<const RowId> Plan::RowsOf(WorkerId worker) const {
  // A shortcut for plans without missing workers.
  if (worker < members.size() && members[worker] == worker) return rows[worker];
  const auto at = std::lower_bound(members.begin(), members.end(), worker);
  if (at == members.end() || *at != worker) return {};
  return rows[static_cast<size_t>(at - members.begin())];
}

uint64_t Plan::LoadOf(size_t member) const {
  uint64_t load = 0;
  for (const RowId row : rows[member]) load += code->rows[row].size();
  return load;
}

bool Plan::FollowsSpeeds() const { return SchemeNamed(code->name).follows_speeds; }

Result<Plan> MakePlanOf(const PlanAttempt& attempt, const SchedulerOptions& options,
                        const std::vector<WorkerId>& members, const std::vector<double>& speeds) {
  MOTLEY_ASSERT(!members.empty() && members.size() == speeds.size());
  Plan base;
  base.members = members;
  base.speeds = speeds;
  KeepFastest(options.partitions, base);
  return Build(options, attempt, std::move(base));
}

Result<Plan> MakePlan(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                      const std::vector<double>& speeds) {
  MOTLEY_ASSERT(!members.empty() && members.size() == speeds.size());
  const size_t most = std::min<size_t>(members.size(), options.partitions);
  Status refusal;  // The error of the first attempt, which the user wants to know.
  for (const PlanAttempt& attempt : Attempts(options, static_cast<uint32_t>(most))) {
    Result<Plan> plan = MakePlanOf(attempt, options, members, speeds);
    if (!plan.ok()) {
      if (refusal.ok()) refusal = plan.status();
      continue;
    }
    plan->compromise = CompromiseOf(options, attempt, *plan, refusal);
    plan->step_seconds = PredictStepSeconds(
        *plan->code, plan->speeds, static_cast<double>(options.batch) / options.partitions);
    return plan;
  }
  return refusal.WithContext("no code can share the work over the workers that are left");
}

double PredictStepSeconds(const CodeForm& code, const std::vector<double>& speeds,
                          double samples_per_partition) {
  if (!code.lists.empty()) return ListRun(code, speeds, samples_per_partition).Seconds();
  std::vector<size_t> order(code.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> seconds(code.rows.size());
  for (size_t i = 0; i < order.size(); ++i) {
    seconds[i] = RowSeconds(code, speeds, i, samples_per_partition);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds[a] < seconds[b]; });
  // Without redundancy every row is needed; otherwise more rows never decode less.
  size_t low = code.stragglers == 0 ? order.size() : 1;
  size_t high = order.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    std::vector<bool> present(order.size(), false);
    for (size_t i = 0; i < middle; ++i) present[order[i]] = true;
    if (Solve(code, present).ok()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return seconds[order[high - 1]];
}

bool WorthReplanning(const ReplanCase& numbers) {
  // If the present plan cannot go on, cost does not matter.
  if (!std::isfinite(numbers.current_seconds)) return std::isfinite(numbers.fresh_seconds);
  const double gain = numbers.current_seconds - numbers.fresh_seconds;
  if (!(gain > kWorthwhileGain * numbers.current_seconds)) return false;
  const double cost = std::max(kMoveCost * numbers.moved_seconds, numbers.transfer_seconds);
  return gain * static_cast<double>(numbers.remaining_steps) > cost;
}

}  // namespace motley
