// SPDX-License-Identifier: Apache-2.0
#include "coding/allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// Speeds with the largest 1, so that no sum of them overflows.
std::vector<double> Normalised(std::span<const double> speeds) {
  std::vector<double> result(speeds.begin(), speeds.end());
  const double largest = *std::max_element(result.begin(), result.end());
  for (double& speed : result) speed /= largest;
  return result;
}

// Proportional shares, where a worker at its cap leaves the rest to the others.
std::vector<double> CappedShares(const std::vector<double>& speeds, uint64_t total, uint32_t cap) {
  std::vector<double> shares(speeds.size(), -1);
  auto left = static_cast<double>(total);
  for (bool again = true; again;) {
    again = false;
    double speed_sum = 0;
    for (size_t i = 0; i < speeds.size(); ++i) speed_sum += shares[i] < 0 ? speeds[i] : 0;
    const double per_speed = speed_sum > 0 ? left / speed_sum : 0;
    for (size_t i = 0; i < speeds.size(); ++i) {
      if (shares[i] < 0 && speeds[i] * per_speed >= cap) {
        shares[i] = cap;
        left = std::max(0.0, left - cap);
        again = true;
      }
    }
    if (again) continue;
    for (size_t i = 0; i < speeds.size(); ++i) {
      if (shares[i] < 0) shares[i] = speeds[i] * per_speed;
    }
  }
  return shares;
}

struct Split {
  std::vector<double> sums;  // Descending.
  std::vector<std::vector<WorkerId>> members;

  double Spread() const { return sums.front() - sums.back(); }
};

void SortDescending(Split& split) {
  std::vector<size_t> order(split.sums.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return split.sums[a] > split.sums[b]; });
  Split sorted;
  for (size_t i : order) {
    sorted.sums.push_back(split.sums[i]);
    sorted.members.push_back(std::move(split.members[i]));
  }
  split = std::move(sorted);
}

// Adds the largest parts of one split to the smallest of the other.
Split Merge(Split a, Split b) {
  const size_t count = a.sums.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t j = count - 1 - i;
    a.sums[i] += b.sums[j];
    a.members[i].insert(a.members[i].end(), b.members[j].begin(), b.members[j].end());
  }
  SortDescending(a);
  return a;
}

}  // namespace

std::vector<uint32_t> Allocate(std::span<const double> speeds, uint64_t total, uint32_t cap) {
  MOTLEY_ASSERT(!speeds.empty() && total <= uint64_t{cap} * speeds.size());
  const std::vector<double> normalised = Normalised(speeds);
  const std::vector<double> shares = CappedShares(normalised, total, cap);
  std::vector<uint32_t> result(speeds.size());
  uint64_t given = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    const double whole = std::min(std::floor(shares[i]), static_cast<double>(total - given));
    result[i] = static_cast<uint32_t>(std::min<double>(whole, cap));
    given += result[i];
  }
  using Next = std::pair<double, size_t>;  // When one with one more is done, and which.
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  const auto offer = [&](size_t i) {
    if (result[i] < cap) next.emplace((result[i] + 1.0) / normalised[i], i);
  };
  for (size_t i = 0; given < total && i < result.size(); ++i) offer(i);
  for (; given < total; ++given) {
    const size_t best = next.top().second;
    next.pop();
    ++result[best];
    offer(best);
  }
  return result;
}

std::vector<std::vector<WorkerId>> BalancedClasses(std::span<const double> speeds, uint32_t count) {
  MOTLEY_ASSERT(count > 0 && count <= speeds.size());
  const std::vector<double> normalised = Normalised(speeds);
  const auto less = [](const Split& a, const Split& b) { return a.Spread() < b.Spread(); };
  std::multiset<Split, decltype(less)> splits(less);
  for (WorkerId worker = 0; worker < speeds.size(); ++worker) {
    Split split{std::vector<double>(count, 0), std::vector<std::vector<WorkerId>>(count)};
    split.sums[0] = normalised[worker];
    split.members[0] = {worker};
    splits.insert(std::move(split));
  }
  while (splits.size() > 1) {
    Split a = std::move(splits.extract(std::prev(splits.end())).value());
    Split b = std::move(splits.extract(std::prev(splits.end())).value());
    splits.insert(Merge(std::move(a), std::move(b)));
  }
  std::vector<std::vector<WorkerId>> classes =
      std::move(splits.extract(splits.begin()).value().members);
  for (auto& members : classes) std::sort(members.begin(), members.end());
  std::sort(classes.begin(), classes.end());
  return classes;
}

bool EqualSpeeds(std::span<const double> speeds) {
  const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
  return *most - *least <= 1e-9 * *most;
}

}  // namespace motley
