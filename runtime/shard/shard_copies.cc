// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/shard_copies.h"

#include <fmt/format.h>

#include <chrono>
#include <span>
#include <utility>

#include "runtime/links/messages.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(5);
constexpr Duration kMostWait = std::chrono::seconds(1);
constexpr Duration kMostInAll = std::chrono::seconds(10);  // For all pieces of a reading.

}  // namespace

void ShardCopies::Keep(const wire::ShardCopyT& wanted, const Shard& shard) {
  copies_.erase(wanted.shard);
  if (shard.values == nullptr || shard.version != wanted.version) {
    return Report(wanted.shard, wanted.id,
                  Status::Unavailable(fmt::format("the node does not have version {} of shard {}",
                                                  wanted.version, wanted.shard)));
  }
  const auto state = std::make_shared<std::vector<float>>();
  copies_[wanted.shard] = {wanted.id, wanted.version, shard.optimizer->steps(), shard.values,
                           state};
  const auto made = [this, number = wanted.shard, id = wanted.id](const Status& status) {
    const auto found = copies_.find(number);
    if (found == copies_.end() || found->second.id != id) return;
    found->second.made = status.ok();
    Report(number, id, status);
    if (!status.ok()) copies_.erase(number);
  };
  if (shard.optimizer->state().empty()) return made(Status::Ok());
  auto work = [state, optimizer = shard.optimizer] {
    return OrNoMemory("a copy of the optimizer's state", [&] {
      const std::span<const float> from = optimizer->state();
      state->assign(from.begin(), from.end());
      return Status::Ok();
    });
  };
  parts_.device.Submit(0, std::move(work), alive_.Guard(made));
}

void ShardCopies::Report(uint32_t shard, uint32_t id, const Status& made) {
  wire::ShardCopiedT copied;
  copied.shard = shard;
  copied.id = id;
  if (const Copy* copy = Find(shard, id); copy != nullptr && made.ok()) {
    copied.arrays = static_cast<uint32_t>(copy->state->size() / copy->values->size());
    copied.optimizer_steps = copy->optimizer_steps;
  } else {
    copied.error = made.ToString();
  }
  SendControl(parts_.transport, parts_.coordinator, parts_.header, copied);
}

const ShardCopies::Copy* ShardCopies::Find(uint32_t shard, uint32_t id) const {
  const auto found = copies_.find(shard);
  const bool there = found != copies_.end() && found->second.id == id && found->second.made;
  return there ? &found->second : nullptr;
}

Status ShardCopies::Send(const wire::ShardPieceT& piece) {
  const Copy* copy = Find(piece.shard, piece.id);
  if (copy == nullptr) return Status::Ok();
  const size_t count = copy->values->size();
  const size_t all = count + copy->state->size();
  // No piece has the end of one array and the begin of the next.
  const bool fits = piece.count > 0 && piece.offset < all && piece.count <= all - piece.offset &&
                    piece.offset % count + piece.count <= count;
  if (!fits) {
    return Status::DataError(fmt::format("{} floats at {} of a copy of shard {}, which has {}",
                                         piece.count, piece.offset, piece.shard, all));
  }
  waiting_ = piece;
  waits_since_ = parts_.loop.Now();
  SendWaiting();
  return Status::Ok();
}

void ShardCopies::SendWaiting() {
  if (!waiting_ || sending_ || timer_ != 0) return;
  const Copy* copy = Find(waiting_->shard, waiting_->id);
  if (copy == nullptr) return waiting_.reset();
  const Duration waits = parts_.loop.Now() - waits_since_;
  if (waits < kMostWait && waited_ + waits < kMostInAll && parts_.stepping()) {
    timer_ = parts_.loop.After(kLook, [this] {
      timer_ = 0;
      SendWaiting();
    });
    return;
  }
  waited_ += waits;
  SendNow(*std::exchange(waiting_, std::nullopt), *copy);
}

void ShardCopies::SendNow(const wire::ShardPieceT& piece, const Copy& copy) {
  Header header = parts_.header;
  header.kind = FrameKind::kShardCopy;
  header.shard = piece.shard;
  header.row_id = piece.id;
  header.version = copy.version;
  header.offset = piece.offset;
  header.total = copy.values->size() + copy.state->size();
  const bool of_values = piece.offset < copy.values->size();
  const std::shared_ptr<const std::vector<float>> keep = of_values ? copy.values : copy.state;
  const BytesView bytes = AsBytes(std::span(*keep).subspan(
      of_values ? piece.offset : piece.offset - copy.values->size(), piece.count));
  sending_ = true;
  const auto sent = alive_.Guard([this](const Status&) {
    sending_ = false;
    SendWaiting();
  });
  parts_.transport.Send(parts_.coordinator, header, {&bytes, 1}, Priority::kBulk,
                        [keep, sent](const Status& status) { sent(status); });
}

void ShardCopies::Forget(uint32_t id) {
  waited_ = {};
  std::erase_if(copies_, [id](const auto& each) { return each.second.id == id; });
}

}  // namespace motley
