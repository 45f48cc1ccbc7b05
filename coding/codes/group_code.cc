// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/group_code.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "coding/placement/allocation.h"
#include "coding/placement/cyclic_walk.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

using Group = std::vector<WorkerId>;

constexpr int kOrders = 20;
constexpr int kPermutations = 20;
// Limits of one group's search, and of all searches in one order. A limit of steps alone is not
// enough when hundreds of workers hold each run.
constexpr int kMostSteps = 10000;
constexpr int64_t kMostLooks = 20'000'000;
// The most distances between nodes that all draws together compute; two draws are always made.
constexpr double kMostDistances = 1e9;

// The runs of each worker and the workers of each run.
struct Incidence {
  Incidence(std::span<const HeldRun> runs, uint32_t workers) : runs_of(workers) {
    for (uint32_t run = 0; run < runs.size(); ++run) {
      holders.push_back(runs[run].holders);
      for (WorkerId worker : runs[run].holders) runs_of[worker].push_back(run);
    }
  }

  // Sorts the holders of each run by rank.
  void SortHolders(std::span<const uint32_t> rank) {
    std::vector<WorkerId> order(rank.size());
    for (WorkerId worker = 0; worker < rank.size(); ++worker) order[rank[worker]] = worker;
    for (auto& of_run : holders) of_run.clear();
    for (WorkerId worker : order) {
      for (uint32_t run : runs_of[worker]) holders[run].push_back(worker);
    }
  }

  std::vector<std::vector<uint32_t>> runs_of;
  std::vector<std::vector<WorkerId>> holders;
};

// Exact cover by unused workers. The holders of a run are tried in order.
struct CoverSearch {
  const Incidence& incidence;
  const std::vector<bool>& used;
  int64_t& looks_left;  // Visits of a holder or of one of its runs.
  std::vector<bool> covered;
  Group chosen;
  int steps_left = kMostSteps;

  bool Fits(WorkerId worker) {
    --looks_left;
    if (used[worker]) return false;
    for (uint32_t run : incidence.runs_of[worker]) {
      --looks_left;
      if (covered[run]) return false;
    }
    return true;
  }

  void Mark(WorkerId worker, bool value) {
    for (uint32_t run : incidence.runs_of[worker]) covered[run] = value;
  }

  bool From(uint32_t run) {
    while (run < covered.size() && covered[run]) ++run;
    if (run == covered.size()) return true;
    if (--steps_left < 0) return false;
    for (WorkerId worker : incidence.holders[run]) {
      if (looks_left <= 0) return false;
      if (!Fits(worker)) continue;
      Mark(worker, true);
      chosen.push_back(worker);
      if (From(run + 1)) return true;
      chosen.pop_back();
      Mark(worker, false);
    }
    return false;
  }
};

std::vector<Group> GroupsInOrder(const Incidence& incidence) {
  std::vector<Group> groups;
  std::vector<bool> used(incidence.runs_of.size(), false);
  int64_t looks_left = kMostLooks;
  for (;;) {
    CoverSearch search{
        incidence, used, looks_left, std::vector<bool>(incidence.holders.size()), {}};
    if (!search.From(0)) return groups;
    for (WorkerId worker : search.chosen) used[worker] = true;
    std::sort(search.chosen.begin(), search.chosen.end());
    groups.push_back(std::move(search.chosen));
    if (groups.size() == incidence.holders.front().size()) return groups;
  }
}

// Changes the order of `incidence`.
std::vector<Group> DisjointGroups(Incidence& incidence, uint64_t seed) {
  const size_t copies = incidence.holders.front().size();
  std::vector<uint32_t> rank(incidence.runs_of.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::vector<Group> best;
  for (int order = 0; order < kOrders && best.size() < copies; ++order) {
    incidence.SortHolders(rank);
    std::vector<Group> groups = GroupsInOrder(incidence);
    if (groups.size() > best.size()) best = std::move(groups);
    Random(seed, Stream::kCode, rank.size(), order).Shuffle(std::span(rank));
  }
  if (best.size() + 1 < copies || best.size() == copies) return best;
  // The remaining workers tile the data, too.
  Group rest;
  for (WorkerId worker = 0; worker < rank.size(); ++worker) {
    const bool grouped = std::any_of(best.begin(), best.end(), [&](const Group& group) {
      return std::binary_search(group.begin(), group.end(), worker);
    });
    if (!grouped && !incidence.runs_of[worker].empty()) rest.push_back(worker);
  }
  best.push_back(std::move(rest));
  return best;
}

// The best nodes for the workers in `outside`; all other workers get 0. Candidates are the middles
// of the workers' stretches of the walk, and evenly spread nodes in the order of the walk or in up
// to 20 random orders. The nodes with the least amplification win.
std::vector<Complex> BestNodes(std::vector<WorkerId> outside, std::span<const HeldRun> held,
                               const CyclicWalk& walk, uint32_t stragglers, uint64_t seed) {
  const auto count = static_cast<double>(outside.size());
  std::vector<Complex> best;
  const std::vector<Complex> middle = MiddleNodes(walk);
  double least = std::numeric_limits<double>::infinity();
  double distances = 0;
  for (const HeldRun& run : held) distances += std::pow(run.holders.size(), 2);
  const int draws = static_cast<int>(std::min<double>(kPermutations, kMostDistances / distances));
  for (int draw = -1; draw <= draws; ++draw) {
    std::vector<Complex> nodes(walk.worker.size(), 0);
    std::vector<Complex> used;
    for (size_t q = 0; q < outside.size(); ++q) {
      const WorkerId worker = outside[q];
      nodes[worker] = draw < 0 ? middle[worker] : OnCircle(static_cast<double>(q) / count);
      used.push_back(nodes[worker]);
    }
    const double score = LogLargestOnCircle(nodes, held) + LogWorstWeightOnCircle(used, stragglers);
    if (draw < 0 || score < least) {
      least = score;
      best = std::move(nodes);
    }
    if (draw >= 0)
      Random(seed, Stream::kCode, walk.worker.size(), draw).Shuffle(std::span(outside));
  }
  return best;
}

// The workers outside the groups with the runs they hold, as a code for s - P stragglers. All other
// rows are empty.
CodeForm RestCode(std::span<const HeldRun> runs, const CyclicWalk& walk,
                  const std::vector<bool>& grouped, uint32_t stragglers,
                  const CodeRequest& request) {
  CodeForm rest = EmptyForm("group", request);
  rest.stragglers = stragglers;
  std::vector<HeldRun> held(runs.begin(), runs.end());
  std::vector<WorkerId> outside;
  for (HeldRun& run : held) {
    std::erase_if(run.holders, [&](WorkerId worker) { return grouped[worker]; });
    outside.insert(outside.end(), run.holders.begin(), run.holders.end());
  }
  std::sort(outside.begin(), outside.end());
  outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
  auto nodes = BestNodes(std::move(outside), held, walk, stragglers, request.seed);
  SetCircleCode(std::move(nodes), held, rest);
  return rest;
}

// Puts one row of C per group above the rows of `rest`.
void Join(const std::vector<Group>& groups, CodeForm rest, CodeForm& form) {
  form.field = rest.field;
  form.rows = std::move(rest.rows);
  form.accumulators = static_cast<uint32_t>(groups.size()) + rest.accumulators;
  form.v.assign(groups.size(), 1);
  form.v.insert(form.v.end(), rest.v.begin(), rest.v.end());
  form.c.assign(groups.size() * form.workers, 0);
  for (size_t r = 0; r < groups.size(); ++r) {
    for (WorkerId worker : groups[r]) form.c[r * form.workers + worker] = 1;
  }
  form.c.insert(form.c.end(), rest.c.begin(), rest.c.end());
  if (groups.empty()) form.nodes = std::move(rest.nodes);
}

}  // namespace

Result<CodeForm> BuildGroupCode(const CodeRequest& request) {
  CodeForm form = EmptyForm("group", request);
  const uint32_t copies = form.stragglers + 1;
  const auto loads = Allocate(request.speeds, uint64_t{form.partitions} * copies, form.partitions);
  std::vector<WorkerId> order(form.workers);
  std::iota(order.begin(), order.end(), 0);
  const CyclicWalk walk = WalkInOrder(std::move(order), loads);
  const std::vector<HeldRun> runs = HeldRuns(walk, form.partitions, copies);
  Incidence incidence(runs, form.workers);
  const std::vector<Group> groups = DisjointGroups(incidence, request.seed);
  std::vector<bool> grouped(form.workers, false);
  for (const Group& group : groups) {
    for (WorkerId worker : group) grouped[worker] = true;
  }
  if (groups.size() < copies) {
    const auto left = static_cast<uint32_t>(copies - 1 - groups.size());
    Join(groups, RestCode(runs, walk, grouped, left, request), form);
  }
  for (const HeldRun& run : runs) {
    for (WorkerId worker : run.holders) {
      if (grouped[worker]) AppendRun(run.begin, run.end, 1, form.rows[worker]);
    }
  }
  if (groups.size() == copies && copies > 1) SetClasses(groups, form);
  Finish(form);
  return form;
}

}  // namespace motley
