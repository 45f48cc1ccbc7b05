// SPDX-License-Identifier: Apache-2.0
// Memory through which processes of one machine hand each other large payloads: written once by
// its owner, mapped by the peers, who can only read it. It has no name, so that nothing stays when
// the processes are gone, however they went. Loop thread only.
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

inline constexpr size_t kSharedPage = 4096;  // Bytes; what header.h counts places in.

// Where a payload lies. A place is used again when its reader has read it, or is gone; one that
// only seems gone (it was disconnected, and still reads) tells by the writing's number.
struct SharedPlace {
  uint32_t page = 0;     // The first, counted from 1.
  uint64_t writing = 0;  // Never the same twice.
};

// Copies, on the threads of `parallel` where it is not null and the bytes are many.
void CopyBytes(ParallelFor* parallel, BytesView from, std::byte* to);

// What a transport sends from. Payloads that are one piece and wait for several peers at once (the
// parameters) are written for the first and read by all.
class SharedArena {
 public:
  static constexpr size_t kBytes = size_t{64} << 20;

  // Null where the system has no such memory, or the process may not have so much. `parallel` as
  // for CopyBytes.
  static std::unique_ptr<SharedArena> Create(ParallelFor* parallel = nullptr);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  int fd() const { return fd_; }

  // A message of these pieces was taken to be sent; until its Retire the pieces do not change.
  void Announce(std::span<const BytesView> pieces);
  // It is done: sent, or never.
  void Retire(std::span<const BytesView> pieces);
  // Writes an announced payload, unless it lies there already. It stays until a Release of its own;
  // nothing when there is no room, here or in the machine's memory.
  std::optional<SharedPlace> Put(std::span<const BytesView> pieces, size_t length);
  void Release(uint32_t page);

 private:
  using Key = std::pair<const std::byte*, size_t>;
  struct Announced {
    size_t senders = 0;
    uint32_t page = 0;  // Where it lies; 0: nowhere.
  };
  struct Block {
    size_t pages = 0;
    uint64_t writing = 0;
    size_t readers = 0;
    std::optional<Key> key;  // Of what it holds, as long as that is announced.
  };

  SharedArena(int fd, std::byte* data, ParallelFor* parallel)
      : fd_(fd), data_(data), parallel_(parallel) {}
  void Write(uint32_t page, const Block& block, std::span<const BytesView> pieces);
  std::optional<uint32_t> Take(size_t pages);
  std::optional<uint32_t> TakeFree(size_t pages);
  // Whether the first `pages` are there to be written to.
  bool PopulateTo(size_t pages);
  int fd_;
  std::byte* data_;
  ParallelFor* parallel_;
  size_t populated_ = 0;  // Pages.
  uint64_t writings_ = 0;
  std::map<uint32_t, Block> blocks_;    // By first page, from 1.
  std::map<Key, Announced> announced_;  // Only looked up.
};

// What a peer sends from, as we see it.
class SharedView {
 public:
  // Takes the descriptor over. Null unless it is memory that cannot shrink under our reads. A
  // process that may not map so much (RLIMIT_AS) reads it by system calls.
  static std::unique_ptr<SharedView> Map(int fd);
  ~SharedView();
  SharedView(const SharedView&) = delete;
  SharedView& operator=(const SharedView&) = delete;

  // What its owner may change at any time; empty when the place is not all inside.
  // What could not be mapped is copied, and valid until the next call; kResource when there is no
  // memory for that.
  Result<BytesView> At(const SharedPlace& place, size_t length);
  // After it was copied: whether that was what the place was given for. The first page tells for
  // all of them: a writing begins at the start of the first gap that is large enough, so none has
  // gone over a later page of a place that was given back and not, then or before, over its first.
  bool Holds(const SharedPlace& place) const;

 private:
  SharedView(const std::byte* data, int fd) : data_(data), fd_(fd) {}
  bool Read(size_t begin, std::span<std::byte> to) const;

  const std::byte* data_;  // Null: not mapped, and
  int fd_;                 // what it is read from; else -1.
  Bytes copy_;
};

}  // namespace motley
