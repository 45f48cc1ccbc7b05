// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/repetition_code.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "coding/codes/none_code.h"
#include "coding/placement/allocation.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

// Groups may make the slowest load longer by kMoreLoad once there are kManyGroups of them per copy.
// A class has as many members as there are groups: with one worker in 20 late, in one step of ten
// no class of that size is whole.
constexpr double kMoreLoad = 0.1;
constexpr uint32_t kManyGroups = 4;
constexpr double kRounding = 1e-9;

struct Groups {
  std::vector<std::vector<WorkerId>> members;
  std::vector<double> speeds;  // The speed of each group that is certain with s workers missing.
};

// Sorts workers by speed, fastest first. Workers of one speed are dealt out over the groups they
// fill, so that neighbours in number hold different data.
std::vector<WorkerId> OrderForGroups(std::span<const double> speeds, uint32_t copies) {
  std::vector<WorkerId> order(speeds.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](WorkerId a, WorkerId b) { return speeds[a] > speeds[b]; });
  const size_t grouped = speeds.size() / copies * copies;
  for (size_t begin = 0, end = 0; begin < grouped; begin = end) {
    const double least = speeds[order[begin]] * (1 - kRounding);
    while (end < grouped && speeds[order[end]] >= least) ++end;
    const size_t groups = std::max<size_t>(1, (end - begin) / copies);
    std::vector<WorkerId> dealt;
    for (size_t group = 0; group < groups; ++group) {
      for (size_t i = begin + group; i < end; i += groups) dealt.push_back(order[i]);
    }
    std::copy(dealt.begin(), dealt.end(), order.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return order;
}

// Makes floor(n / (s + 1)) groups of workers of similar speed. Each of the remaining slowest
// workers is an extra copy in one of the slowest groups.
Groups MakeGroups(std::span<const double> speeds, uint32_t copies) {
  const std::vector<WorkerId> order = OrderForGroups(speeds, copies);
  const size_t count = order.size() / copies;
  Groups groups;
  groups.members.resize(count);
  for (size_t i = 0; i < count * copies; ++i) groups.members[i / copies].push_back(order[i]);
  for (const auto& members : groups.members) {
    double slowest = speeds[members.front()];
    for (const WorkerId worker : members) slowest = std::min(slowest, speeds[worker]);
    groups.speeds.push_back(slowest);
  }
  for (size_t i = count * copies; i < order.size(); ++i) {
    groups.members[count - 1 - (i - count * copies) % count].push_back(order[i]);
  }
  return groups;
}

bool Worthwhile(const Groups& groups, std::span<const double> speeds, uint32_t copies) {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0) / copies;
  const double used = std::accumulate(groups.speeds.begin(), groups.speeds.end(), 0.0);
  if (used >= all * (1 - kRounding)) return true;
  return groups.members.size() >= size_t{kManyGroups} * copies && used * (1 + kMoreLoad) >= all;
}

void AddGroups(const Groups& groups, CodeForm& form) {
  const std::vector<uint32_t> lengths = Allocate(groups.speeds, form.partitions, form.partitions);
  PartitionId begin = 0;
  for (size_t group = 0; group < lengths.size(); ++group) {
    const PartitionId end = begin + lengths[group];
    for (const WorkerId worker : groups.members[group]) {
      AppendRun(begin, end, 1, form.rows[worker]);
    }
    begin = end;
  }
}

void AddClasses(const CodeRequest& request, CodeForm& form) {
  const auto classes = BalancedClasses(request.speeds, request.stragglers + 1);
  for (const auto& members : classes) {
    std::vector<double> speeds;
    for (WorkerId worker : members) speeds.push_back(request.speeds[worker]);
    Tile(members, Allocate(speeds, form.partitions, form.partitions), form);
  }
  SetClasses(classes, form);
}

}  // namespace

Result<CodeForm> BuildRepetitionCode(const CodeRequest& request) {
  const uint32_t copies = request.stragglers + 1;
  if (copies == 1) {
    MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildNoneCode(request));
    form.name = "repetition";
    return form;
  }
  CodeForm form = EmptyForm("repetition", request);
  const Groups groups = MakeGroups(request.speeds, copies);
  if (Worthwhile(groups, request.speeds, copies)) {
    AddGroups(groups, form);
  } else {
    AddClasses(request, form);
  }
  Finish(form);
  return form;
}

}  // namespace motley
