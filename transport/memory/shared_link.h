// SPDX-License-Identifier: Apache-2.0
// The payloads in shared memory of one connection between processes of one machine: those sent that
// the peer has not read, and those read that it was not notified of. Loop thread only.
//
// Back-pressure: once kWindowBytes of payloads wait for the peer, nothing follows. The rest stays
// in the send queue, where control can overtake it and Cancel can reach it. When the arena is full
// because many peers do not read, payloads go through the socket, which has a window of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "transport/memory/shared_memory.h"
#include "transport/send_queue.h"

namespace motley {

class SharedLink {
 public:
  // Smaller payloads cost less through the socket.
  static constexpr size_t kLeastBytes = size_t{16} << 10;
  static constexpr size_t kWindowBytes = size_t{4} << 20;
  // After this many bytes read the peer is notified at once, otherwise with the next message. It is
  // less than the window, so that a sender never waits for a report that is held back.
  static constexpr size_t kReportBytes = size_t{2} << 20;

  // `arena` may be null: then everything is sent through the socket.
  explicit SharedLink(SharedArena* arena) : arena_(arena) {}
  ~SharedLink();
  SharedLink(const SharedLink&) = delete;
  SharedLink& operator=(const SharedLink&) = delete;

  // Sending. A message that Wants() accepts goes through Announce, possibly Put, and Retire.
  bool Wants(const Outgoing& message) const {
    return arena_ != nullptr && message.header.length >= kLeastBytes;
  }
  bool WindowOpen() const { return sent_bytes_ < kWindowBytes; }
  void Announce(Outgoing& message);
  void Retire(Outgoing& message);
  std::optional<SharedPlace> Put(const Outgoing& message);
  // True once: the peer needs the arena's descriptor with this message.
  bool TakeIntroduction() { return !std::exchange(introduced_, true); }
  // The peer has read `count` payloads in all. Returns false if fewer were sent, or more reported.
  bool OnRelease(uint64_t count);

  // Receiving.
  bool NeedsView() const { return view_ == nullptr; }
  void SetView(std::unique_ptr<SharedView> view) { view_ = std::move(view); }
  Result<BytesView> At(const SharedPlace& place, size_t length);
  bool OnRead(const SharedPlace& place, size_t length);
  bool MustReport() const { return unreported_bytes_ >= kReportBytes; }
  // The number of payloads read in all, if the peer does not know it yet; the caller reports it
  // now.
  std::optional<uint64_t> TakeReport();

 private:
  SharedArena* const arena_;
  std::deque<std::pair<uint32_t, size_t>> sent_;  // Page and bytes, in order.
  size_t sent_bytes_ = 0;
  uint64_t released_ = 0;
  bool introduced_ = false;
  std::unique_ptr<SharedView> view_;
  uint64_t read_ = 0;
  uint64_t reported_ = 0;
  size_t unreported_bytes_ = 0;
};

}  // namespace motley
