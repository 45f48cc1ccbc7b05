// SPDX-License-Identifier: Apache-2.0
// Memory that passes large payloads between processes of one machine. Its owner writes each payload
// once; the peers map the memory and can only read it. It has no name, so nothing remains when the
// processes end, however they end. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/status.h"

namespace motley {

inline constexpr size_t kSharedPage = 4096;  // Bytes; places in header.h are counted in pages.

// The location of a payload. A place is reused once its reader has read it or is gone. A
// disconnected reader may still be reading: it detects the reuse by the number of the writing.
struct SharedPlace {
  uint32_t page = 0;     // The first page, counted from 1.
  uint64_t writing = 0;  // Unique for each writing.
};

// Copies the bytes, on the threads of `parallel` if it is not null and there are many bytes.
void CopyBytes(ParallelFor* parallel, BytesView from, std::byte* to);

// The memory that a transport sends from. A one-piece payload that waits for several peers at once,
// such as the parameters, is written for the first peer and read by all.
class SharedArena {
 public:
  static constexpr size_t kBytes = size_t{64} << 20;

  // Returns null if the system has no such memory or the process may not have that much. `parallel`
  // is used as in CopyBytes.
  static std::unique_ptr<SharedArena> Create(ParallelFor* parallel = nullptr);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  int fd() const { return fd_; }

  // A message with these pieces was accepted; until its Retire the pieces do not change.
  void Announce(std::span<const BytesView> pieces);
  // The message is done, whether it was sent or not.
  void Retire(std::span<const BytesView> pieces);
  // Writes an announced payload, unless it is in the arena already. It stays until one Release for
  // each Put. Returns nothing when there is no room in the arena or in the machine's memory.
  std::optional<SharedPlace> Put(std::span<const BytesView> pieces, size_t length);
  void Release(uint32_t page);

 private:
  using Key = std::pair<const std::byte*, size_t>;
  struct Announced {
    size_t senders = 0;
    uint32_t page = 0;  // First page of its copy; 0: none.
  };
  struct Block {
    size_t pages = 0;
    uint64_t writing = 0;
    size_t readers = 0;
    std::optional<Key> key;  // The payload in the block, as long as it is announced.
  };

  SharedArena(int fd, std::byte* data, ParallelFor* parallel)
      : fd_(fd), data_(data), parallel_(parallel) {}
  void Write(uint32_t page, const Block& block, std::span<const BytesView> pieces);
  std::optional<uint32_t> Take(size_t pages);
  std::optional<uint32_t> TakeFree(size_t pages);
  // Makes sure that the first `pages` can be written. Returns false when there is no memory for
  // them.
  bool PopulateTo(size_t pages);
  int fd_;
  std::byte* data_;
  ParallelFor* parallel_;
  size_t populated_ = 0;  // Pages.
  uint64_t writings_ = 0;
  std::map<uint32_t, Block> blocks_;    // Key: the first page, from 1.
  std::map<Key, Announced> announced_;  // Never iterated.
};

// Our view of the memory that a peer sends from.
class SharedView {
 public:
  // Takes over the descriptor. Returns null unless it is memory that cannot shrink while we read. A
  // process that may not map that much (RLIMIT_AS) reads it by system calls instead.
  static std::unique_ptr<SharedView> Map(int fd);
  ~SharedView();
  SharedView(const SharedView&) = delete;
  SharedView& operator=(const SharedView&) = delete;

  // The bytes at a place, which their owner may change at any time; empty unless the whole place is
  // inside the memory. Memory that could not be mapped is copied, and the copy is valid until the
  // next call. kResource when there is no memory for the copy.
  Result<BytesView> At(const SharedPlace& place, size_t length);
  // True if the place still holds the payload it was given for; to be called after the copy.
  // Checking the first page is enough: a writing takes the first gap that is large enough, so a
  // page of a place that was given back is never overwritten before that place's first page.
  bool Holds(const SharedPlace& place) const;

 private:
  SharedView(const std::byte* data, int fd) : data_(data), fd_(fd) {}
  bool Read(size_t begin, std::span<std::byte> to) const;

  const std::byte* data_;  // Null: not mapped.
  int fd_;                 // Read from when not mapped, else -1.
  Bytes copy_;
};

}  // namespace motley
