// SPDX-License-Identifier: Apache-2.0
// A queue in one ring of memory that grows as needed and never shrinks. Unlike a std::deque it does
// not allocate while items come and go. One thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace motley {

template <typename T>  // T: a default-constructed item counts as empty.
class Fifo {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Precondition: index < size(). front() and pop_front() need a queue that is not empty.
  T& operator[](size_t index) { return ring_[(first_ + index) & (room_ - 1)]; }
  const T& operator[](size_t index) const { return ring_[(first_ + index) & (room_ - 1)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }

  void push_back(T item) {
    if (size_ == room_) Grow();
    ++size_;
    (*this)[size_ - 1] = std::move(item);
  }
  // Adds an item at the end and returns it, to be filled in place. It is default-constructed or
  // still holds an item that was dropped earlier. This saves moving large items; items move only
  // when the ring grows.
  T& push() {
    if (size_ == room_) Grow();
    ++size_;
    return (*this)[size_ - 1];
  }
  // Frees the first item's place without destroying the item. The caller has already taken out what
  // must not stay in memory.
  void drop_front() {
    MOTLEY_ASSERT(size_ > 0);
    Advance();
  }
  // Takes out the first item. The caller destroys it.
  T pop_front() {
    MOTLEY_ASSERT(size_ > 0);
    T item = std::exchange(ring_[first_], T());
    Advance();
    return item;
  }
  // Takes out the item at `index`; the order of the others stays.
  T Take(size_t index) {
    T item = std::move((*this)[index]);
    for (size_t i = index; i > 0; --i) (*this)[i] = std::move((*this)[i - 1]);
    ring_[first_] = T();
    Advance();
    return item;
  }
  void clear() {
    while (!empty()) const T gone = pop_front();
  }

 private:
  // An empty queue starts again at the first place, which is still in the cache.
  void Advance() { first_ = --size_ == 0 ? 0 : (first_ + 1) & (room_ - 1); }
  void Grow() {
    std::vector<T> larger(ring_.empty() ? 4 : 2 * ring_.size());  // A power of two.
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    ring_ = std::move(larger);
    room_ = ring_.size();
    first_ = 0;
  }

  std::vector<T> ring_;
  size_t room_ = 0;  // ring_.size(), stored because computing it costs a division.
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace motley
