// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/copy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"
#include "runtime/memory_need.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

constexpr uint32_t kMostArrays = 8;
constexpr Duration kMostSilence = std::chrono::minutes(2);
constexpr Duration kClosed = std::chrono::seconds(30);  // Connections of lost nodes are closed.

// A piece delays a step by little, because a step sends whole shards: it has 1/256 of a shard's
// values, or 16 KiB, which is 1.3 ms at 100 Mbit/s.
size_t PieceLength(size_t shard, size_t slice_length) {
  constexpr size_t kLeast = size_t{1} << 12;
  return std::min(std::max(shard / 256, kLeast), slice_length);
}

}  // namespace

void CopyReader::Begin(uint64_t version, Done done) {
  MOTLEY_ASSERT(!reading());
  owners_.clear();  // If there was no memory for the last reading, it did not begin.
  uncopied_.clear();
  ++id_;
  read_.version = version;
  for (uint32_t shard = 0; shard < placement_.shards().size(); ++shard) {
    owners_.push_back(placement_.shards()[shard].owner);
    uncopied_.insert(shard);
    wire::ShardCopyT copy;
    copy.shard = shard;
    copy.version = version;
    copy.id = id_;
    placement_.Tell(owners_.back(), copy);
  }
  silence_.since = loop_.Now();
  Watch(kMostSilence);
  done_ = std::move(done);
}

void CopyReader::Stop() {
  wire::ShardForgetT forget;
  forget.id = id_;
  for (const WorkerId owner : std::set<WorkerId>(owners_.begin(), owners_.end())) {
    placement_.Tell(owner, forget);
  }
  loop_.Cancel(std::exchange(silence_.timer, 0));
  done_ = nullptr;
  owners_.clear();
  uncopied_.clear();
  read_ = {};
  asked_.reset();
}

void CopyReader::Finish(Result<ShardState> result) {
  const Done done = std::move(done_);
  Stop();
  done(std::move(result));
}

void CopyReader::Watch(Duration time) {
  silence_.timer = loop_.After(time, [this] {
    silence_.timer = 0;
    OnSilent();
  });
}

void CopyReader::OnSilent() {
  const Duration silent = loop_.Now() - silence_.since;
  if (silent < kMostSilence) return Watch(kMostSilence - silent);
  const WorkerId node = owners_[uncopied_.empty() ? asked_->shard : *uncopied_.begin()];
  Finish(Status::Unavailable(fmt::format("nothing of it came from {} for {:.0f} s",
                                         DescribeNode(node, workers_), ToSeconds(silent))));
}

void CopyReader::Lost(WorkerId node, const Status& why) {
  std::erase_if(left_, [this](const auto& each) { return each.first + kClosed < loop_.Now(); });
  if (const auto room = arriving_.find(node); room != arriving_.end()) {
    left_.emplace_back(loop_.Now(), std::move(room->second));
    arriving_.erase(room);
  }
  if (!reading() || std::count(owners_.begin(), owners_.end(), node) == 0) return;
  Finish(Status::Unavailable(fmt::format("{} was lost before its part of it had come ({})",
                                         DescribeNode(node, workers_), why.ToString())));
}

Status CopyReader::OnCopied(WorkerId node, const wire::ShardCopiedT& copied) {
  const bool expected = reading() && copied.id == id_ && uncopied_.contains(copied.shard) &&
                        owners_[copied.shard] == node;
  if (!expected) return Status::Ok();
  if (!copied.error.empty()) {
    Finish(Status::Unavailable(fmt::format("{} could not copy its part of it: {}",
                                           DescribeNode(node, workers_), copied.error)));
    return Status::Ok();
  }
  if (read_.values == nullptr) {
    read_.values = std::make_shared<std::vector<float>>();
    read_.state = std::make_shared<std::vector<float>>();
    read_.arrays = copied.arrays;
    read_.optimizer_steps = copied.optimizer_steps;
  }
  const bool fits = copied.arrays <= kMostArrays && copied.arrays == read_.arrays &&
                    copied.optimizer_steps == read_.optimizer_steps;
  if (!fits) {  // It is unknown which of them is wrong.
    Finish(Status::Unavailable(
        fmt::format("the part of {} does not fit the others", DescribeNode(node, workers_))));
    return Status::Ok();
  }
  silence_.since = loop_.Now();
  uncopied_.erase(copied.shard);
  if (uncopied_.empty()) Ask();
  return Status::Ok();
}

CopyReader::Piece CopyReader::NextPiece() const {
  const Route& route = placement_.route();
  const size_t array = read_.next / placement_.count();
  const size_t at = read_.next % placement_.count();
  uint32_t shard = 0;
  while (route.begin(shard) + route.parameters(shard) <= at) ++shard;
  const size_t size = route.parameters(shard);
  const size_t within = at - route.begin(shard);
  const size_t count = std::min(PieceLength(size, slice_length_), size - within);
  const bool of_values = array == 0;
  return {shard, array * size + within, count, of_values ? read_.values : read_.state,
          of_values ? read_.next : read_.next - placement_.count()};
}

// Memory is taken as pieces come: a large vector at once would hold up the loop. Its room is
// reserved at first, so that pieces stay in place.
void CopyReader::Ask() {
  const Piece piece = NextPiece();
  const Status room = OrNoMemory("the version that is saved", [&] {
    piece.into->reserve((piece.into == read_.values ? 1 : read_.arrays) * placement_.count());
    piece.into->resize(piece.begin + piece.count);
    return Status::Ok();
  });
  if (!room.ok()) return Finish(room);
  asked_ = piece;
  wire::ShardPieceT wanted;
  wanted.shard = piece.shard;
  wanted.id = id_;
  wanted.offset = piece.offset;
  wanted.count = static_cast<uint32_t>(piece.count);
  placement_.Tell(owners_[piece.shard], wanted);
}

bool CopyReader::Expects(WorkerId node, const Header& header) const {
  return asked_ && owners_[asked_->shard] == node && header.row_id == id_ &&
         header.version == read_.version && header.shard == asked_->shard &&
         header.offset == asked_->offset && header.length == asked_->count * sizeof(float);
}

Result<std::span<std::byte>> CopyReader::BeginPiece(WorkerId node, const Header& header) {
  if (!reading() || header.row_id != id_) return std::span<std::byte>();
  if (!Expects(node, header)) {
    return Status::DataError("a piece of a copy that nobody asked for");
  }
  return OrNoMemory("a piece of a copy", [&]() -> Result<std::span<std::byte>> {
    std::vector<float>& room = arriving_[node];
    if (room.empty()) room.resize(slice_length_);
    return std::as_writable_bytes(std::span(room).first(asked_->count));
  });
}

void CopyReader::FinishPiece(WorkerId node, const Header& header) {
  if (!Expects(node, header)) return;
  silence_.since = loop_.Now();
  std::copy_n(arriving_[node].begin(), asked_->count, asked_->into->begin() + asked_->begin);
  read_.next += asked_->count;
  asked_.reset();
  if (read_.next < (1 + read_.arrays) * placement_.count()) return Ask();
  Finish(ShardState{read_.version, read_.values, read_.optimizer_steps, read_.state});
}

}  // namespace motley
