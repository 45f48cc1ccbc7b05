// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/chunk_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <utility>

#include "base/loop/time_queue.h"

namespace motley {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// The time at which a worker can start its next chunk.
struct Free {
  double time;
  WorkerId worker;
  auto operator<=>(const Free&) const = default;
};

uint32_t ChunkCount(const WorkLists& lists) {
  uint32_t count = 0;
  for (const auto& list : lists) {
    for (PartitionId chunk : list) count = std::max(count, chunk + 1);
  }
  return count;
}

bool Holds(const std::vector<PartitionId>& list, PartitionId chunk) {
  return std::find(list.begin(), list.end(), chunk) != list.end();
}

Status CheckRegular(const WorkLists& placement) {
  const size_t degree = placement.empty() ? 0 : placement.front().size();
  std::vector<size_t> copies(placement.size(), 0);
  for (WorkerId worker = 0; worker < placement.size(); ++worker) {
    std::vector<PartitionId> list = placement[worker];
    std::sort(list.begin(), list.end());
    const bool twice = std::adjacent_find(list.begin(), list.end()) != list.end();
    if (list.size() != degree || twice || (!list.empty() && list.back() >= placement.size())) {
      return Status::InvalidArgument(
          fmt::format("a regular placement gives each of {} workers the same number of different "
                      "chunks below {}; worker {} has {}; order it by least coverage instead",
                      placement.size(), placement.size(), worker, list.size()));
    }
    for (PartitionId chunk : list) ++copies[chunk];
  }
  for (size_t chunk = 0; chunk < copies.size(); ++chunk) {
    if (copies[chunk] == degree) continue;
    return Status::InvalidArgument(
        fmt::format("workers hold {} chunks each, but chunk {} is on {} workers; order it by least "
                    "coverage instead",
                    degree, chunk, copies[chunk]));
  }
  return Status::Ok();
}

// Finds a perfect matching of a regular placement; the result is holder[chunk]. A walk starts at an
// unmatched worker. It takes random chunks that are not the worker's own, and continues from their
// holders. The last choices on the way form an augmenting path.
std::vector<WorkerId> PerfectMatching(const WorkLists& left, Random& random) {
  std::vector<WorkerId> holder(left.size(), kNone);
  std::vector<PartitionId> own(left.size(), kNone);
  std::vector<PartitionId> choice(left.size(), kNone);
  for (WorkerId start = 0; start < left.size(); ++start) {
    WorkerId worker = start;
    do {
      do {
        choice[worker] = left[worker][random.Below(left[worker].size())];
      } while (choice[worker] == own[worker]);
      worker = holder[choice[worker]];
    } while (worker != kNone);
    worker = start;
    do {
      own[worker] = choice[worker];
      worker = std::exchange(holder[own[worker]], worker);
    } while (worker != kNone);
  }
  return holder;
}

}  // namespace

WorkLists CyclicShiftedLists(uint32_t n, uint32_t copies) {
  WorkLists lists(n);
  for (uint32_t w = 0; w < n; ++w) {
    for (uint32_t t = 0; t < copies; ++t) lists[w].push_back((w + t) % n);
  }
  return lists;
}

WorkLists RandomRegularLists(uint32_t n, uint32_t copies, Random& random) {
  WorkLists lists = CyclicShiftedLists(n, copies);
  const uint64_t exchanges = uint64_t{20} * n * copies;
  for (uint64_t i = 0; i < exchanges; ++i) {
    auto& one = lists[random.Below(n)];
    auto& other = lists[random.Below(n)];
    PartitionId& a = one[random.Below(copies)];
    PartitionId& b = other[random.Below(copies)];
    if (&one == &other || !(Holds(one, b) || Holds(other, a))) std::swap(a, b);
  }
  return lists;
}

Result<WorkLists> MatchingOrder(const WorkLists& placement, uint64_t seed) {
  MOTLEY_RETURN_IF_ERROR(CheckRegular(placement));
  Random random(seed, Stream::kCode, placement.size());
  WorkLists left = placement;
  WorkLists order(placement.size());
  while (!left.empty() && !left.front().empty()) {
    const std::vector<WorkerId> holder = PerfectMatching(left, random);
    for (PartitionId chunk = 0; chunk < holder.size(); ++chunk) {
      order[holder[chunk]].push_back(chunk);
      std::erase(left[holder[chunk]], chunk);
    }
  }
  return order;
}

WorkLists LeastCoveredFirst(WorkLists placement, std::span<const double> speeds) {
  MOTLEY_ASSERT(speeds.size() == placement.size());
  TimeQueue<Free> free;
  for (WorkerId worker = 0; worker < placement.size(); ++worker) {
    if (!placement[worker].empty()) free.Push({0, worker});
  }
  std::vector<uint32_t> started(ChunkCount(placement), 0);
  std::vector<uint32_t> ordered(placement.size(), 0);  // By worker: sorted chunks in front.
  while (!free.empty()) {
    const auto [time, worker] = free.Pop();
    auto& list = placement[worker];
    const auto first = list.begin() + ordered[worker]++;
    auto next = first;
    for (auto it = next; it != list.end() && started[*next] > 0; ++it) {
      if (started[*it] < started[*next]) next = it;
    }
    ++started[*next];
    std::rotate(first, next, next + 1);
    if (ordered[worker] < list.size()) free.Push({time + 1 / speeds[worker], worker});
  }
  return placement;
}

}  // namespace motley
