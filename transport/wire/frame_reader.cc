// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/frame_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace motley {

FrameReader::FrameReader(Sink& sink) : sink_(sink), staging_(kStagingBytes) {}

std::span<std::byte> FrameReader::Room() {
  // Inside a payload staging is empty: Advance used all of it.
  if (in_payload_ && !room_.empty()) return room_.subspan(received_);
  if (begin_ > 0) {
    std::copy(staging_.begin() + static_cast<std::ptrdiff_t>(begin_),
              staging_.begin() + static_cast<std::ptrdiff_t>(end_), staging_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  return std::span(staging_).subspan(end_);
}

Status FrameReader::Advance(size_t count) {
  if (in_payload_ && !room_.empty()) {
    MOTLEY_ASSERT(count <= room_.size() - received_);
    return AddPayload(room_.subspan(received_, count));
  }
  MOTLEY_ASSERT(count <= staging_.size() - end_);
  end_ += count;
  return Consume();
}

Status FrameReader::Consume() {
  while (!stopped_) {
    const size_t available = end_ - begin_;
    if (!in_payload_) {
      if (available < kHeaderSize) return Status::Ok();
      MOTLEY_RETURN_IF_ERROR(StartFrame());
      continue;
    }
    if (available == 0) return Status::Ok();
    const size_t count = std::min<size_t>(available, frame_.header.length - received_);
    const BytesView bytes = BytesView(staging_).subspan(begin_, count);
    if (!room_.empty()) std::memcpy(room_.data() + received_, bytes.data(), count);
    begin_ += count;
    MOTLEY_RETURN_IF_ERROR(AddPayload(bytes));
  }
  return Status::Ok();
}

Status FrameReader::StartFrame() {
  const BytesView bytes = BytesView(staging_).subspan(begin_);
  MOTLEY_ASSIGN_OR_RETURN(frame_, DecodeHeader(bytes.first<kHeaderSize>()));
  begin_ += kHeaderSize;
  in_payload_ = true;
  received_ = 0;
  room_ = {};
  const uint32_t length = frame_.header.length;
  if (frame_.header.kind == FrameKind::kRelease) {
    in_payload_ = false;
    if (sink_.OnRelease(frame_.header.offset)) return Status::Ok();
    return Status::DataError("it acknowledged payloads that it was never sent");
  }
  if (length == 0) return FinishFrame();
  if (frame_.checked) checksum_.Reset();
  const std::span<std::byte> room = sink_.OnPayload(frame_.header);
  MOTLEY_ASSERT(room.empty() || room.size() >= length);
  if (stopped_) return Status::Ok();
  if (!room.empty()) room_ = room.first(length);
  return frame_.shared_page != 0 ? TakeShared() : Status::Ok();
}

// Copies the payload before anything checks it, so that the checked bytes cannot change.
Status FrameReader::TakeShared() {
  const uint32_t length = frame_.header.length;
  const SharedPlace place{frame_.shared_page, frame_.payload_checksum};
  MOTLEY_ASSIGN_OR_RETURN(const BytesView bytes, sink_.OnShared(place, length));
  if (bytes.size() != length) {
    return Status::DataError(fmt::format(
        "{} bytes at page {}, which is outside of its shared memory", length, frame_.shared_page));
  }
  if (!room_.empty()) sink_.CopyShared(bytes, room_.data());
  if (!sink_.OnSharedRead(place, length)) {
    return Status::Unavailable("it closed the connection and reused the memory of its message");
  }
  return AddPayload(room_.empty() ? bytes : BytesView(room_));
}

Status FrameReader::AddPayload(BytesView bytes) {
  if (frame_.checked) checksum_.Add(bytes);
  received_ += bytes.size();
  return received_ == frame_.header.length ? FinishFrame() : Status::Ok();
}

Status FrameReader::FinishFrame() {
  const Header& header = frame_.header;
  if (frame_.checked && header.length > 0 && checksum_.Value() != frame_.payload_checksum) {
    return Status::DataError(
        fmt::format("the {} bytes of a message's payload were damaged on the "
                    "way: the checksum is wrong",
                    header.length));
  }
  in_payload_ = false;
  const bool discarded = header.length > 0 && room_.empty();
  room_ = {};
  sink_.OnPayloadDone(header, discarded);
  return Status::Ok();
}

}  // namespace motley
