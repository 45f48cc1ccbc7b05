// SPDX-License-Identifier: Apache-2.0
#include "collective/collective.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "collective/groups.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kLongestReason = 4096;

MemberMessage MessageOf(Verb verb) {
  return verb == Verb::kCopy ? MemberMessage::kCopy : MemberMessage::kAdd;
}

Verb VerbOf(const Header& header) {
  return header.row_id == static_cast<uint32_t>(MemberMessage::kCopy) ? Verb::kCopy : Verb::kAdd;
}

bool Is(const Header& header, MemberMessage message) {
  return header.row_id == static_cast<uint32_t>(message);
}

}  // namespace

Result<std::unique_ptr<Collective>> Collective::Create(Loop& loop, Transport& transport,
                                                       const CollectiveAlgorithm& algorithm,
                                                       Members members, CollectiveOptions options) {
  if (algorithm.uses_groups) {
    MOTLEY_RETURN_IF_ERROR(CheckGroups(options.groups, members.count()));
  }
  return std::unique_ptr<Collective>(
      new Collective(loop, transport, algorithm, std::move(members), std::move(options)));
}

Collective::Collective(Loop& loop, Transport& transport, const CollectiveAlgorithm& algorithm,
                       Members members, CollectiveOptions options)
    : loop_(loop),
      transport_(transport),
      algorithm_(algorithm),
      members_(std::move(members)),
      options_(std::move(options)),
      incoming_(members_.count()) {}

Collective::~Collective() { loop_.Cancel(timer_); }

Status Collective::SetGroups(Groups groups) {
  MOTLEY_ASSERT(!update_.has_value());
  MOTLEY_RETURN_IF_ERROR(CheckGroups(groups, members_.count()));
  options_.groups = std::move(groups);
  return Status::Ok();
}

void Collective::Contribute(uint64_t update, std::shared_ptr<Contribution> contribution,
                            Done done) {
  MOTLEY_ASSERT(!update_.has_value() && update > last_);
  last_ = update;
  update_.emplace();
  update_->id = update;
  update_->contribution = std::move(contribution);
  update_->done = std::move(done);
  const Contribution& own = *update_->contribution;
  Place place{members_.rank, members_.count(), 0, 0, &options_.groups};
  for (const Chunk& chunk :
       CutContribution(own.vector.size(), own.beside.size(), members_.count(), options_.chunk)) {
    place.segment = chunk.segment;
    place.chunk = update_->chunks.size();
    update_->chunks.push_back({chunk, algorithm_.steps(place)});
    if (!update_->chunks.back().done()) ++update_->left;
  }
  moved_ = loop_.Now();
  if (!broken_.ok()) {
    update_->chunks.clear();
    timer_ = loop_.After(Duration::zero(), [this] { GiveUp(broken_); });
    return;
  }
  if (update_->left == 0) {
    timer_ = loop_.After(Duration::zero(), [this] { Finish(Status::Ok()); });
    return;
  }
  for (const auto& [from, header] : early_.HeadersOf(update)) {
    if (const Status fits = CheckFits(from, header); !fits.ok()) {
      // Not inside this call.
      timer_ = loop_.After(Duration::zero(), [this, fits] { GiveUp(fits); });
      return;
    }
  }
  if (options_.silence > Duration::zero()) {
    timer_ = loop_.After(options_.silence, [this] { CheckProgress(); });
  }
  for (size_t number = 0; number < update_->chunks.size(); ++number) {
    if (!update_->chunks[number].done()) Advance(number);
  }
}

void Collective::Advance(size_t number) {
  OpenChunk& chunk = update_->chunks[number];
  while (chunk.next < chunk.steps.size()) {
    const Step step = chunk.steps[chunk.next];
    if (step.verb == Verb::kSend) {
      Send(number, step.peer);
    } else if (chunk.sending > 0 || !TakeArrived(number, step)) {
      return;
    }
    ++chunk.next;
  }
  if (chunk.done()) --update_->left;
}

void Collective::Send(size_t number, Rank to) {
  // Before the sum comes back as a copy, this is a part of it. Afterwards it is the sum.
  OpenChunk& chunk = update_->chunks[number];
  const bool whole =
      std::none_of(chunk.steps.begin() + static_cast<ptrdiff_t>(chunk.next), chunk.steps.end(),
                   [](const Step& step) { return step.verb == Verb::kCopy; });
  Header header;
  header.kind = FrameKind::kCollective;
  header.job = members_.job;
  header.incarnation = members_.incarnation;
  header.step = update_->id;
  header.row_id = static_cast<uint32_t>(MessageOf(whole ? Verb::kCopy : Verb::kAdd));
  header.offset = number;
  header.total = update_->contribution->vector.size();
  ++chunk.sending;
  const BytesView bytes = BytesOf(*update_->contribution, chunk.chunk);
  auto sent = [this, number, id = update_->id, keep = update_->contribution](const Status& status) {
    if (!update_.has_value() || update_->id != id) return;
    if (status.ok()) return OnSent(number);
    update_->undelivered = true;  // OnLost follows.
  };
  transport_.Send(members_.peers[to], header, {&bytes, 1}, Priority::kBulk, std::move(sent));
}

void Collective::OnSent(size_t number) {
  moved_ = loop_.Now();
  OpenChunk& chunk = update_->chunks[number];
  --chunk.sending;
  if (chunk.next < chunk.steps.size()) {
    Advance(number);
  } else if (chunk.done()) {
    --update_->left;
  }
  FinishIfDone();
}

bool Collective::TakeArrived(size_t number, const Step& step) {
  auto found = early_.Extract({update_->id, number, step.peer, step.verb});
  if (!found) return false;
  const Chunk& chunk = update_->chunks[number].chunk;
  if (step.verb == Verb::kAdd) {
    AddTo(*update_->contribution, chunk, found->bytes.get());
  } else {
    const std::span<std::byte> room = BytesOf(*update_->contribution, chunk);
    std::copy_n(found->bytes.get(), room.size(), room.begin());
  }
  early_.GiveBack(std::move(*found));
  return true;
}

bool Collective::Listens(const Header& header) const {
  if (broken_.ok()) return true;
  return update_.has_value() && update_->id == header.step && !update_->chunks.empty();
}

bool Collective::IsNextCopy(Rank from, const Header& header) const {
  if (!update_.has_value() || header.step != update_->id || !CheckFits(from, header).ok()) {
    return false;
  }
  const OpenChunk& chunk = update_->chunks[header.offset];
  return VerbOf(header) == Verb::kCopy && chunk.sending == 0 &&
         chunk.steps[chunk.next] == Step{Verb::kCopy, from};
}

Status Collective::CheckFits(Rank from, const Header& header) const {
  const size_t own = update_->contribution->vector.size();
  if (header.total != own) {
    return Status::DataError(
        fmt::format("member {} contributed {} values to update {}, and member {} contributed {}",
                    from, header.total, header.step, members_.rank, own));
  }
  const bool known = header.offset < update_->chunks.size();
  if (known) {
    const OpenChunk& chunk = update_->chunks[header.offset];
    const auto next = chunk.steps.begin() + static_cast<ptrdiff_t>(chunk.next);
    const bool awaited =
        std::find(next, chunk.steps.end(), Step{VerbOf(header), from}) != chunk.steps.end();
    if (awaited && header.length == chunk.chunk.bytes()) return Status::Ok();
  }
  return Status::DataError(fmt::format(
      "member {} sent part {} of update {}, which is not expected from it here. Do all members "
      "use the same algorithm, groups and chunks, and as many values beside the vector?",
      from, header.offset, header.step));
}

std::span<std::byte> Collective::OnPayload(PeerId peer, const Header& header) {
  const std::optional<Rank> from = members_.RankOf(peer);
  if (!from || header.incarnation != members_.incarnation) return {};
  if (!Listens(header)) return {};
  if (Is(header, MemberMessage::kGivesUp) && header.length > kLongestReason) return {};
  Incoming& incoming = incoming_[*from];
  if (IsNextCopy(*from, header)) {
    incoming.direct = update_->contribution;
    return BytesOf(*incoming.direct, update_->chunks[header.offset].chunk);
  }
  incoming.buffer = early_.Take(header.length);
  return {incoming.buffer.bytes.get(), header.length};
}

void Collective::OnPayloadDone(PeerId peer, const Header& header) {
  const std::optional<Rank> from = members_.RankOf(peer);
  if (!from) return;
  Incoming arrived = std::move(incoming_[*from]);
  incoming_[*from] = {};
  const bool discarded = arrived.direct == nullptr && arrived.buffer.bytes == nullptr;
  if (discarded || !Listens(header)) return;
  moved_ = loop_.Now();
  if (Is(header, MemberMessage::kGivesUp)) return OnGivenUp(*from, header, arrived);
  OnChunk(*from, header, std::move(arrived));
}

void Collective::OnGivenUp(Rank from, const Header& header, const Incoming& reason) {
  const auto* text = reinterpret_cast<const char*>(reason.buffer.bytes.get());
  const Status why = Status::Unavailable(
      fmt::format("member {} gave up: {}", from, std::string(text, header.length)));
  if (broken_.ok()) broken_ = why;
  if (update_.has_value() && update_->id >= header.step) Finish(why);
}

void Collective::OnChunk(Rank from, const Header& header, Incoming arrived) {
  const bool now = update_.has_value() && header.step == update_->id;
  if (arrived.direct == nullptr) {
    // A member cannot be two updates ahead, because the sum needs this one's values.
    const bool ahead = header.step > last_ &&
                       (early_.last_update() <= last_ || early_.last_update() == header.step);
    Status fits = now ? CheckFits(from, header) : Status::Ok();
    const EarlyChunks::Key key{header.step, header.offset, from, VerbOf(header)};
    if (fits.ok() && ((!now && !ahead) || !early_.Keep(key, header, std::move(arrived.buffer)))) {
      fits = Status::DataError(fmt::format("member {} sent part {} of update {} twice or too late",
                                           from, header.offset, header.step));
    }
    if (!fits.ok()) return GiveUp(fits);
  } else {
    ++update_->chunks[header.offset].next;
  }
  if (!now) return;
  Advance(header.offset);
  FinishIfDone();
}

void Collective::OnLost(PeerId peer, const Status& why) {
  const std::optional<Rank> from = members_.RankOf(peer);
  if (!from) return;
  incoming_[*from] = {};
  const Status lost = Status::Unavailable(
      fmt::format("member {} was lost ({}); a collective needs every member, so start it again "
                  "without this one",
                  *from, why.ToString()));
  if (broken_.ok()) broken_ = lost;
  if (Needs(*from)) GiveUp(lost);
}

bool Collective::Needs(Rank rank) const {
  if (!update_.has_value()) return false;
  const auto is_peer = [rank](const Step& step) { return step.peer == rank; };
  return update_->undelivered ||
         std::any_of(update_->chunks.begin(), update_->chunks.end(), [&](const OpenChunk& chunk) {
           const auto next = chunk.steps.begin() + static_cast<ptrdiff_t>(chunk.next);
           return std::any_of(next, chunk.steps.end(), is_peer);
         });
}

void Collective::FinishIfDone() {
  if (update_->left == 0) Finish(Status::Ok());
}

void Collective::Finish(const Status& status) {
  loop_.Cancel(timer_);
  const Done done = std::move(update_->done);
  update_.reset();
  done(status);
}

void Collective::CheckProgress() {
  const Duration quiet = loop_.Now() - moved_;
  if (quiet >= options_.silence) return GiveUp(SilenceOf(*update_));
  timer_ = loop_.After(options_.silence - quiet, [this] { CheckProgress(); });
}

Status Collective::SilenceOf(const OpenUpdate& update) const {
  const auto waiting = std::find_if(update.chunks.begin(), update.chunks.end(),
                                    [](const OpenChunk& chunk) { return !chunk.done(); });
  const bool sending = waiting->sending > 0;
  return Status::Unavailable(fmt::format(
      "in update {}, nothing has {} for {:.0f} s; a collective needs every member, so start it "
      "again without those that do not answer",
      update.id,
      sending ? "left" : fmt::format("come from member {}", waiting->steps[waiting->next].peer),
      ToSeconds(options_.silence)));
}

void Collective::GiveUp(const Status& why) {
  const auto reason = std::make_shared<const std::string>(why.ToString().substr(0, kLongestReason));
  Header header;
  header.kind = FrameKind::kCollective;
  header.job = members_.job;
  header.incarnation = members_.incarnation;
  header.step = update_.has_value() ? update_->id : last_ + 1;
  header.row_id = static_cast<uint32_t>(MemberMessage::kGivesUp);
  const BytesView bytes = AsBytes(*reason);
  for (Rank rank = 0; rank < members_.count(); ++rank) {
    if (rank == members_.rank) continue;
    transport_.Send(members_.peers[rank], header, {&bytes, 1}, Priority::kControl,
                    [reason](const Status&) {});
  }
  if (broken_.ok()) broken_ = why;
  if (update_.has_value()) Finish(why);
}

}  // namespace motley
