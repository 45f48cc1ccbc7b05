// SPDX-License-Identifier: Apache-2.0
// The bound of dynamic stale synchronous training (dssp:LO,HI) is held to a simple reference that
// follows the paper's rules push by push, with credits and lists of predicted times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "scheduler/sync/bounded_staleness.h"

namespace motley {
namespace {

Time At(double seconds) { return Time{} + FromSeconds(seconds); }

TEST(DynamicBound, GivesTheUpdatesAfterWhichTheWaitIsShortest) {
  DynamicBound bound(2, 1, 5);
  for (const WorkerId id : {0, 1}) bound.Opened(id, At(0));
  bound.Applied(0, At(1));
  bound.Applied(1, At(4));
  bound.Opened(1, At(5.1));  // It ends at 9.1 s.
  bound.Opened(0, At(7));
  bound.Applied(0, At(8));
  bound.Extend(0, 20, {1}, At(8));
  EXPECT_TRUE(bound.Extra(0, 20));
  EXPECT_FALSE(bound.Extra(0, 21)) << "9 s is next to 9.1 s";
}

TEST(DynamicBound, GivesNothingBeforeTimesAreKnown) {
  DynamicBound bound(2, 0, 9);
  for (const WorkerId id : {0, 1}) bound.Opened(id, At(0));
  bound.Applied(0, At(1));
  bound.Extend(0, 1, {1}, At(1));
  EXPECT_FALSE(bound.Extra(0, 1)) << "the slowest had no update applied so far";
}

TEST(DynamicBound, WaitsForTheLastOfTheSlowest) {
  DynamicBound bound(3, 0, 9);
  for (const WorkerId id : {0, 1, 2}) bound.Opened(id, At(0));
  bound.Applied(0, At(1));
  bound.Applied(1, At(2));
  bound.Applied(2, At(3));
  for (const WorkerId id : {1, 2}) bound.Opened(id, At(3));  // They end at 5 s and 6 s.
  bound.Extend(0, 5, {1, 2}, At(3));
  EXPECT_TRUE(bound.Extra(0, 7));
  EXPECT_FALSE(bound.Extra(0, 8)) << "6 s is exact";
}

// The rules of the paper, with the upper bound as a limit.
class Reference {
 public:
  Reference(uint32_t workers, uint64_t low, uint64_t high)
      : low_(low), high_(high), all_(workers) {}

  void Enter(WorkerId id) {
    if (all_[id].counts) return;
    if (const auto slowest = Slowest()) all_[id].clock = std::max(all_[id].clock, *slowest);
    all_[id].counts = true;
    all_[id].credit = 0;
    all_[id].released = false;
  }
  void Leave(WorkerId id) { all_[id].counts = false; }
  void Begin(WorkerId id, double now) { all_[id].began = now; }
  void Push(WorkerId id, double now) {
    One& one = all_[id];
    one.takes = now - *one.began;
    one.began.reset();
    ++one.clock;
    one.released = false;
    if (one.credit > 0) {
      --one.credit;
      one.released = true;
    } else if (one.counts && one.clock > *Slowest() + low_ && Fastest(one.clock)) {
      one.credit = Control(id, now);
      one.released = one.credit > 0;
      if (one.released) --one.credit;
    }
  }
  bool MayBegin(WorkerId id) const {
    const uint64_t lead = all_[id].clock - *Slowest();
    return lead <= high_ && (lead <= low_ || all_[id].released);
  }

 private:
  struct One {
    bool counts = false;
    uint64_t clock = 0;
    uint64_t credit = 0;
    bool released = false;
    std::optional<double> began, takes;
  };

  std::optional<uint64_t> Slowest() const {
    std::optional<uint64_t> slowest;
    for (const One& each : all_) {
      if (each.counts && (!slowest || each.clock < *slowest)) slowest = each.clock;
    }
    return slowest;
  }
  bool Fastest(uint64_t clock) const {
    return std::none_of(all_.begin(), all_.end(),
                        [clock](const One& each) { return each.counts && each.clock > clock; });
  }
  uint64_t Control(WorkerId id, double now) const {
    std::optional<double> next;
    double step = 0;
    for (const One& each : all_) {
      if (!each.counts || each.clock != *Slowest()) continue;
      if (!each.takes) return 0;
      const double its = each.began.value_or(now) + *each.takes;
      if (!next || its > *next) step = *each.takes;
      next = std::max(next.value_or(its), its);
    }
    std::vector<double> pushes;
    for (uint64_t j = 0; j <= high_ - low_; ++j) {
      pushes.push_back(*next + static_cast<double>(j) * step);
    }
    uint64_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (uint64_t k = 0; k <= high_ - low_; ++k) {
      const double own = now + static_cast<double>(k) * *all_[id].takes;
      for (const double push : pushes) {
        if (std::abs(own - push) >= least - 1e-9) continue;
        least = std::abs(own - push);
        best = k;
      }
    }
    return best;
  }

  const uint64_t low_, high_;
  std::vector<One> all_;
};

// Workers that compute for random times, leave in the midst of updates, and come back.
class Course {
 public:
  Course(uint32_t workers, uint32_t low, uint32_t high, uint64_t seed)
      : random_(seed, Stream::kTest, 5),
        policy_(workers, kUpdates, {.one_each = true, .most_ahead = high, .least_bound = low}),
        reference_(workers, low, high),
        members_(workers, 1),
        there_(workers),
        busy_(workers) {
    for (WorkerId id = 0; id < workers; ++id) {
      usual_.push_back(0.5 + 7 * random_.NextDouble());
      Come(id);
    }
  }

  void Run() {
    Open();
    while (applied_ < kUpdates && !testing::Test::HasFailure()) {
      ASSERT_FALSE(ends_.empty()) << "nobody can go on";
      const auto [when, id] = *ends_.begin();
      ends_.erase(ends_.begin());
      now_ = when;
      policy_.Committed(id, At(now_));
      reference_.Push(id, now_);
      ++applied_;
      busy_[id] = false;
      if (there_[id]) members_[id].free = true;
      ComeAndGo();
      Open();
    }
  }

 private:
  static constexpr uint64_t kUpdates = 200;

  void Come(WorkerId id) {
    there_[id] = true;
    members_.Join(id, ++incarnation_, At(now_));
    members_.Free(WorkerFree{id, 0, {}, 0}, At(now_));
    members_[id].free = !busy_[id];
    policy_.Enters(id);
    reference_.Enter(id);
  }
  // An update that the worker had begun is done by another one, and counts as its own.
  void ComeAndGo() {
    const auto id = static_cast<WorkerId>(random_.Below(there_.size()));
    if (!random_.Chance(0.1)) return;
    if (!there_[id]) return Come(id);
    if (id == 0) return;  // One stays.
    there_[id] = false;
    members_.Lose(id, false);
    policy_.Leaves(id);
    reference_.Leave(id);
  }
  void Open() {
    while (const auto next = policy_.Next(members_, At(now_))) {
      const auto id = static_cast<WorkerId>(next->lane);
      ASSERT_TRUE(reference_.MayBegin(id)) << "worker " << id << " at " << now_;
      policy_.Opened(*next, At(now_));
      reference_.Begin(id, now_);
      busy_[id] = true;
      members_[id].free = false;
      const double takes = usual_[id] * (0.8 + 0.4 * random_.NextDouble());
      ends_.emplace(now_ + takes, id);
      ++opened_;
    }
    if (opened_ >= kUpdates) return;
    for (WorkerId id = 0; id < there_.size(); ++id) {
      if (!there_[id] || busy_[id]) continue;
      ASSERT_FALSE(reference_.MayBegin(id)) << "worker " << id << " waits at " << now_;
    }
  }

  Random random_;
  BoundedStaleness policy_;
  Reference reference_;
  Membership members_;
  std::vector<bool> there_, busy_;
  std::vector<double> usual_;
  std::multimap<double, WorkerId> ends_;
  double now_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t opened_ = 0;
  uint64_t applied_ = 0;
};

TEST(DynamicStaleness, FollowsThePaperInRandomCourses) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 6);
    const auto workers = static_cast<uint32_t>(2 + random.Below(5));
    const auto low = static_cast<uint32_t>(random.Below(4));
    const auto high = low + static_cast<uint32_t>(random.Below(8));
    SCOPED_TRACE(fmt::format("seed {}, {} workers, dssp:{},{}", seed, workers, low, high));
    Course(workers, low, high, seed).Run();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace motley
