// SPDX-License-Identifier: Apache-2.0
// A priority queue of events by time. Pure; the caller serialises access.
//
// This is a calendar queue (Brown, CACM 31(10), 1988): time is cut into as many bins as there are
// events. Events of later bins wait unsorted; only those of the present bin form a heap. That heap
// mostly fits into a few cache lines, however many events there are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace motley {

// Event: has a finite `time` in seconds, and an operator> that is a total order by time first.
template <typename Event>
class TimeQueue {
 public:
  void Push(const Event& event) {
    const double place = (event.time - base_) * per_second_;
    if (place < present_ + 1) {
      near_.push_back(event);
      std::push_heap(near_.begin(), near_.end(), std::greater<>());
    } else {
      Await(event, ListAt(place));
    }
    ++size_;
  }

  bool empty() const { return size_ == 0; }

  // Removes and returns the earliest event. Precondition: not empty.
  Event Pop() {
    while (near_.empty()) Advance();
    std::pop_heap(near_.begin(), near_.end(), std::greater<>());
    const Event event = near_.back();
    near_.pop_back();
    --size_;
    return event;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kFew = 32;  // A plain heap serves this few as well as bins.

  struct Waiting {
    Event event;
    uint32_t next;  // The next event of the same list.
  };

  // The list of a later bin, or the list of events beyond all bins.
  uint32_t& ListAt(double place) {
    return place < static_cast<double>(bins_.size()) ? bins_[static_cast<size_t>(place)] : beyond_;
  }

  void Await(const Event& event, uint32_t& list) {
    if (free_ == kNone) {
      waiting_.push_back({event, list});
      list = static_cast<uint32_t>(waiting_.size() - 1);
      return;
    }
    const uint32_t at = free_;
    free_ = waiting_[at].next;
    waiting_[at] = {event, list};
    list = at;
  }

  // Moves to the next bin. After the last bin, cuts the events beyond them into new bins.
  void Advance() {
    if (present_ + 1 < static_cast<double>(bins_.size())) {
      present_ += 1;
      ToHeap(bins_[static_cast<size_t>(present_)]);
      return;
    }
    double first = std::numeric_limits<double>::infinity(), last = -first;
    size_t count = 0;
    for (uint32_t i = beyond_; i != kNone; i = waiting_[i].next) {
      first = std::min(first, waiting_[i].event.time);
      last = std::max(last, waiting_[i].event.time);
      ++count;
    }
    base_ = first;
    per_second_ = static_cast<double>(count) / (last - first);
    if (count <= kFew || !std::isfinite(per_second_)) {
      base_ = last;  // Every event up to this time goes to the heap.
      per_second_ = std::numeric_limits<double>::max();
      present_ = 0;
      bins_.clear();
      return ToHeap(beyond_);
    }
    present_ = -1;
    bins_.assign(count, kNone);
    for (uint32_t i = std::exchange(beyond_, kNone); i != kNone;) {
      const uint32_t next = waiting_[i].next;
      uint32_t& list = ListAt((waiting_[i].event.time - base_) * per_second_);
      waiting_[i].next = std::exchange(list, i);
      i = next;
    }
  }

  void ToHeap(uint32_t& list) {
    for (uint32_t i = std::exchange(list, kNone); i != kNone;) {
      near_.push_back(waiting_[i].event);
      const uint32_t next = waiting_[i].next;
      waiting_[i].next = std::exchange(free_, i);
      i = next;
    }
    std::make_heap(near_.begin(), near_.end(), std::greater<>());
  }

  std::vector<Event> near_;  // The heap of the present bin, earliest in front.
  std::vector<Waiting>
      waiting_;  // Linked lists: one per bin, one beyond all bins, one of free places.
  std::vector<uint32_t> bins_;
  uint32_t beyond_ = kNone, free_ = kNone;
  // An event belongs to bin (time - base) * per_second; events of the present bin are in near_.
  double base_ = 0, per_second_ = 0, present_ = -1;
  size_t size_ = 0;
};

}  // namespace motley
