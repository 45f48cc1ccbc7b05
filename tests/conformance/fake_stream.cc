// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fake_stream.h"

#include <algorithm>

namespace motley {

StreamWorld::Pair FakeWorld::Connect() {
  const auto there = std::make_shared<FakeStream::Pipe>();
  const auto back = std::make_shared<FakeStream::Pipe>();
  const auto make = [&](const char* address, const auto& in, const auto& out) {
    return std::make_unique<FakeStream>(
        *this,
        PeerIdentity{.address = address, .host = "fake", .same_machine = script_.same_machine}, in,
        out);
  };
  auto one = make("fake:2", back, there);
  auto other = make("fake:1", there, back);
  return {std::move(one), std::move(other)};
}

bool FakeWorld::RunUntil(const std::function<bool()>& done) {
  constexpr int kMostTurns = 1'000'000;  // Only failing tests reach it.
  for (int turn = 0; turn < kMostTurns && !done(); ++turn) Turn();
  return done();
}

void FakeWorld::Turn() {
  for (FakeStream* stream : std::vector(streams_)) {
    // Another stream's handler may have destroyed it.
    if (std::ranges::find(streams_, stream) != streams_.end()) stream->Turn();
  }
}

size_t FakeWorld::Most() { return script_.random ? 1 + random_.Below(script_.most) : script_.most; }

FakeStream::FakeStream(FakeWorld& world, PeerIdentity peer, std::shared_ptr<Pipe> in,
                       std::shared_ptr<Pipe> out)
    : PeerStream(std::move(peer)), world_(world), in_(std::move(in)), out_(std::move(out)) {
  world_.streams_.push_back(this);
}

FakeStream::~FakeStream() {
  *alive_ = false;
  in_->closed = out_->closed = true;
  std::erase(world_.streams_, this);
}

Status FakeStream::ReadInto(std::span<std::byte> room) {
  EXPECT_FALSE(room.empty());
  EXPECT_TRUE(room_.empty()) << "room was given twice";
  room_ = room;
  return Status::Ok();
}

Status FakeStream::Write(BytesView head, std::span<const BytesView> pieces,
                         const PassableFile* file) {
  EXPECT_EQ(file, nullptr) << "this stream passes no files";
  if (!write_error_.ok()) return write_error_;
  Writing& write = writes_.emplace_back();
  write.pieces.push_back(head);
  for (BytesView piece : pieces) {
    if (!piece.empty()) write.pieces.push_back(piece);
  }
  for (BytesView piece : write.pieces) unsent_ += piece.size();
  return Status::Ok();
}

void FakeStream::Turn() {
  if (over_) return;
  if (broken_) {
    over_ = true;
    return handler()->OnEnd(*broken_);
  }
  const auto alive = alive_;
  MoveOut(alive);
  if (*alive) MoveIn();
}

void FakeStream::MoveOut(const std::shared_ptr<bool>& alive) {
  if (writes_.empty() || out_->closed) return;
  size_t left = std::min(world_.Most(), world_.room() - out_->bytes.size());
  while (*alive && left > 0 && !writes_.empty()) {
    BytesView& piece = writes_.front().pieces.front();
    const size_t count = std::min(left, piece.size());
    out_->bytes.insert(out_->bytes.end(), piece.begin(), piece.begin() + count);
    left -= count;
    unsent_ -= count;
    piece = piece.subspan(count);
    if (!piece.empty()) continue;
    auto& pieces = writes_.front().pieces;
    pieces.erase(pieces.begin());
    if (!pieces.empty()) continue;
    writes_.pop_front();
    handler()->OnWritten();
  }
}

void FakeStream::MoveIn() {
  if (room_.empty()) return;
  const size_t count = std::min({world_.Most(), room_.size(), in_->bytes.size()});
  if (count == 0) {
    over_ = in_->closed;
    if (over_) handler()->OnEnd(Status::Ok());
    return;
  }
  const auto end = in_->bytes.begin() + static_cast<ptrdiff_t>(count);
  std::copy(in_->bytes.begin(), end, room_.begin());
  in_->bytes.erase(in_->bytes.begin(), end);
  room_ = {};
  handler()->OnRead(count);
}

}  // namespace motley
