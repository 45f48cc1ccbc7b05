// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// The speeds scaled to a largest of 1, so that no sum of them overflows.
std::vector<double> Normalised(std::span<const double> speeds) {
  std::vector<double> result(speeds.begin(), speeds.end());
  const double largest = *std::max_element(result.begin(), result.end());
  for (double& speed : result) speed /= largest;
  return result;
}

// Proportional shares; a worker at its cap leaves its excess to the others.
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

// Splits of growing sets of workers into the same number of classes. Each class has its sum and its
// members.
class Splits {
 public:
  Splits(const std::vector<double>& speeds, uint32_t count)
      : count_(count), classes_(speeds.size() * count), next_(speeds.size(), kNobody) {
    for (WorkerId worker = 0; worker < speeds.size(); ++worker) {
      *Of(worker) = {speeds[worker], worker, worker};
    }
  }

  double Spread(size_t split) { return Of(split)->sum - (Of(split) + count_ - 1)->sum; }

  // Adds the largest classes of one split to the smallest of the other.
  void Merge(size_t a, size_t b) {
    Class* const into = Of(a);
    for (uint32_t i = 0; i < count_; ++i) {
      const Class& from = *(Of(b) + count_ - 1 - i);
      into[i].sum += from.sum;
      if (from.first == kNobody) continue;
      (into[i].first == kNobody ? into[i].first : next_[into[i].last]) = from.first;
      into[i].last = from.last;
    }
    const auto larger = [](const Class& x, const Class& y) { return x.sum > y.sum; };
    if (count_ > kFewClasses) return std::stable_sort(into, into + count_, larger);
    for (Class* at = into; at != into + count_; ++at) {
      std::rotate(std::upper_bound(into, at, *at, larger), at, at + 1);
    }
  }

  std::vector<WorkerId> Members(size_t split, uint32_t index) {
    std::vector<WorkerId> members;
    for (WorkerId w = (Of(split) + index)->first; w != kNobody; w = next_[w]) members.push_back(w);
    return members;
  }

 private:
  static constexpr WorkerId kNobody = std::numeric_limits<WorkerId>::max();
  static constexpr uint32_t kFewClasses = 8;

  struct Class {
    double sum = 0;
    WorkerId first = kNobody, last = kNobody;
  };

  Class* Of(size_t split) { return classes_.data() + split * count_; }  // Descending.

  uint32_t count_;
  std::vector<Class> classes_;
  std::vector<WorkerId> next_;  // The next member of the same class, by worker.
};

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
  using Next = std::pair<double, size_t>;  // (the time with one more, the worker)
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
  Splits splits(Normalised(speeds), count);
  // Ordered by spread; of equal ones the newest comes first.
  std::priority_queue<std::tuple<double, size_t, size_t>> largest;
  size_t made = 0;
  const auto offer = [&](size_t split) { largest.emplace(splits.Spread(split), made++, split); };
  for (size_t worker = 0; worker < speeds.size(); ++worker) offer(worker);
  const auto take = [&] {
    const size_t split = std::get<2>(largest.top());
    largest.pop();
    return split;
  };
  while (largest.size() > 1) {
    const size_t a = take();
    const size_t b = take();
    splits.Merge(a, b);
    offer(a);
  }
  std::vector<std::vector<WorkerId>> classes;
  const size_t last = take();
  for (uint32_t i = 0; i < count; ++i) classes.push_back(splits.Members(last, i));
  for (auto& members : classes) std::sort(members.begin(), members.end());
  std::sort(classes.begin(), classes.end());
  return classes;
}

bool EqualSpeeds(std::span<const double> speeds) {
  const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
  return *most - *least <= 1e-9 * *most;
}

}  // namespace motley
