// SPDX-License-Identifier: Apache-2.0
// Timers by id. Ids grow and are never reused; places are, so that a busy loop allocates nothing.
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/loop/loop.h"

namespace motley {

template <typename T>  // T: a default-constructed item counts as empty.
class TimerSlots {
 public:
  TimerId Add(T&& item) {
    if (free_.empty()) {
      MOTLEY_ASSERT(slots_.size() < kSlots);
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const uint32_t place = free_.back();
    free_.pop_back();
    const TimerId id = next_++ << kSlotBits | place;
    Slot& slot = slots_[place];
    slot.id = id;
    slot.item = std::move(item);
    return id;
  }

  bool Has(TimerId id) const {
    const size_t place = id & (kSlots - 1);
    return id != 0 && place < slots_.size() && slots_[place].id == id;
  }

  // Precondition: Has(id).
  T& At(TimerId id) { return slots_[id & (kSlots - 1)].item; }

  // Takes out the item, or returns an empty one if the id is unknown. The caller destroys it.
  T Take(TimerId id) {
    if (!Has(id)) return T{};
    const auto place = static_cast<uint32_t>(id & (kSlots - 1));
    slots_[place].id = 0;
    free_.push_back(place);
    return std::move(slots_[place].item);
  }

  // The ids of all waiting timers, in the order they were added.
  std::vector<TimerId> Ids() const {
    std::vector<TimerId> ids;
    for (const Slot& slot : slots_) {
      if (slot.id != 0) ids.push_back(slot.id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  size_t size() const { return slots_.size() - free_.size(); }

 private:
  // An id is a growing number in the high bits and the timer's place in the low bits.
  static constexpr int kSlotBits = 24;
  static constexpr TimerId kSlots = TimerId{1} << kSlotBits;

  struct Slot {
    TimerId id = 0;  // 0: free.
    T item{};
  };
  TimerId next_ = 1;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace motley
