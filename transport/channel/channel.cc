// SPDX-License-Identifier: Apache-2.0
#include "transport/channel/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/wire/checksum.h"

namespace motley {
namespace {

// The stream gets messages until this much payload is on its way. The rest stays in the send queue,
// where control can overtake it and Cancel can reach it. A larger window gains nothing: the kernel
// has buffers of its own.
constexpr size_t kWindowBytes = 1u << 20;

DecodedHeader ReportOf(uint64_t read) {
  return {.header = {.kind = FrameKind::kRelease, .offset = read}, .checked = false};
}

}  // namespace

void Channel::InFlight::Add(const DecodedHeader& frame) {
  const auto bytes = EncodeHeader(frame);
  std::copy(bytes.begin(), bytes.end(), headers.begin() + header_bytes);
  header_bytes += kHeaderSize;
}

void Channel::Start(std::unique_ptr<PeerStream> stream) {
  stream_ = std::move(stream);
  stream_->SetHandler(this);
  if (stream_->PassesFiles()) shared_ = std::make_unique<SharedLink>(owner_->arena());
  ReadNext();
  const PeerIdentity identity = stream_->peer();  // The receiver may close the stream.
  if (Receiver* receiver = owner_->receiver()) receiver->OnConnected(peer_, identity);
  Pump();
}

void Channel::ReadNext() {
  if (owner_ == nullptr) return;
  const Status status = stream_->ReadInto(reader_.Room());
  if (!status.ok()) FailLater(status);
}

void Channel::OnRead(size_t count) {
  const auto keep = shared_from_this();
  // The channel reads on even when an exception leaves this function: the job may survive it.
  struct ReadOn {
    Channel& channel;
    ~ReadOn() { channel.ReadNext(); }
  } read_on{*this};
  received_bytes_ += count;
  const Status status = reader_.Advance(count);
  if (owner_ == nullptr) return;
  if (status.ok() && shared_ && stream_->PendingFiles() > 0) {
    return Fail(Status::DataError(fmt::format("{} sent unexpected file descriptors", name())));
  }
  if (status.code() == StatusCode::kConflict) {
    // A peer of another release understands the version in this header, and reports it.
    Write({0, Header(), {}, Priority::kControl, [](const Status&) {}});
  }
  if (!status.ok()) Fail(status.WithContext(fmt::format("dropped the connection to {}", name())));
}

void Channel::OnEnd(const Status& why) {
  const auto keep = shared_from_this();
  if (!why.ok()) {
    return Fail(
        Status::Unavailable(fmt::format("the connection to {} broke: {}", name(), why.message())));
  }
  Fail(Status::Unavailable(fmt::format("{} closed the connection{}", name(),
                                       reader_.AtBoundary() ? "" : " inside a message")));
}

std::span<std::byte> Channel::OnPayload(const Header& header) {
  Receiver* receiver = owner_->receiver();
  return receiver != nullptr ? receiver->OnPayload(peer_, header) : std::span<std::byte>();
}

void Channel::OnPayloadDone(const Header& header, bool discarded) {
  if (Receiver* receiver = owner_->receiver()) receiver->OnPayloadDone(peer_, header, discarded);
}

Result<BytesView> Channel::OnShared(const SharedPlace& place, size_t length) {
  if (!shared_) return BytesView();
  if (shared_->NeedsView()) TakeView();
  // The kernel drops a descriptor when this process has no free one; the next may arrive.
  if (shared_->NeedsView()) {
    return Status::DataError(
        "its shared memory did not arrive. If this process is out of file descriptors, raise the "
        "limit (ulimit -n), or connect by tcp://");
  }
  return shared_->At(place, length);
}

// The file came with the first header that needs it.
void Channel::TakeView() {
  const int fd = stream_->TakeFile();
  if (fd >= 0) shared_->SetView(SharedView::Map(fd));
}

void Channel::CopyShared(BytesView from, std::byte* to) { CopyBytes(owner_->parallel(), from, to); }

bool Channel::OnSharedRead(const SharedPlace& place, size_t length) {
  const bool held = shared_->OnRead(place, length);
  if (shared_->MustReport()) ReportRead();
  return held;
}

void Channel::ReportRead() {
  const std::optional<uint64_t> read = shared_->TakeReport();
  if (!read) return;
  in_flight_.emplace_back().Add(ReportOf(*read));
  Submit({}, false);
}

Traffic Channel::traffic() const {
  if (stream_ == nullptr) return {};
  return {received_bytes_, submitted_bytes_ - stream_->Unsent()};
}

bool Channel::OnRelease(uint64_t count) {
  if (!shared_ || !shared_->OnRelease(count)) return false;
  Pump();
  return true;
}

void Channel::Send(Outgoing message) {
  if (shared_ && shared_->Wants(message)) shared_->Announce(message);
  if (queue_.empty() && MayStart(message)) return Write(std::move(message));
  owner_->OnWaiting(message.id, peer_, true);
  queue_.Push(std::move(message));
  Pump();
}

std::optional<Outgoing> Channel::Remove(SendId id) {
  auto message = queue_.Remove(id);
  if (message && shared_) shared_->Retire(*message);
  return message;
}

bool Channel::MayStart(const Outgoing& message) const {
  if (stream_ == nullptr || socket_payload_ >= kWindowBytes) return false;
  return !shared_ || !shared_->Wants(message) || shared_->WindowOpen();
}

void Channel::Pump() {
  for (const Outgoing* next = queue_.Front(); next != nullptr && MayStart(*next);
       next = queue_.Front()) {
    Outgoing message = *queue_.Pop();
    owner_->OnWaiting(message.id, peer_, false);
    Write(std::move(message));
  }
}

void Channel::Write(Outgoing message) {
  InFlight& write = in_flight_.emplace_back();
  DecodedHeader frame{message.header, 0, !stream_->peer().same_machine, 0};
  std::optional<SharedPlace> place;
  if (shared_) {
    if (const auto read = shared_->TakeReport()) write.Add(ReportOf(*read));
    if (shared_->Wants(message)) {
      shared_->Announce(message);
      place = shared_->Put(message);
    }
  }
  if (place) {
    frame.shared_page = place->page;
    frame.payload_checksum = place->writing;
  } else if (frame.checked) {
    Checksum checksum;
    for (BytesView piece : message.pieces) checksum.Add(piece);
    frame.payload_checksum = checksum.Value();
  }
  write.Add(frame);
  message.shared = place.has_value();
  in_flight_payload_ += message.header.length;
  if (!message.shared) socket_payload_ += message.header.length;
  write.message = std::move(message);
  Submit(place ? std::span<const BytesView>() : write.message->pieces,
         place && shared_->TakeIntroduction());
}

// Hands the last element of in_flight_ to the stream.
void Channel::Submit(std::span<const BytesView> pieces, bool introduce) {
  const InFlight& write = in_flight_.back();
  const BytesView head = BytesView(write.headers).first(write.header_bytes);
  submitted_bytes_ += head.size();
  for (BytesView piece : pieces) submitted_bytes_ += piece.size();
  const Status status = stream_->Write(head, pieces, introduce ? owner_->arena_file() : nullptr);
  if (status.ok()) return;
  FailLater(
      Status::Unavailable(fmt::format("the connection to {} broke: {}", name(), status.message())));
}

void Channel::OnWritten() {
  const auto keep = shared_from_this();
  std::optional<Outgoing> message = std::move(in_flight_.front().message);
  in_flight_.pop_front();
  if (!message) return;
  in_flight_payload_ -= message->header.length;
  if (!message->shared) socket_payload_ -= message->header.length;
  if (shared_) shared_->Retire(*message);
  Pump();
  message->done(Status::Ok());
}

void Channel::FailLater(Status why) {
  owner_->RunLater([weak = weak_from_this(), why = std::move(why)] {
    if (const auto self = weak.lock()) self->Fail(why);
  });
}

void Channel::Fail(const Status& why) {
  if (owner_ != nullptr) owner_->OnConnectionLost(*this, why);
}

std::vector<Outgoing> Channel::Close() {
  Owner* const owner = std::exchange(owner_, nullptr);
  reader_.Stop();
  stream_.reset();
  std::vector<Outgoing> pending;
  for (InFlight& write : in_flight_) {
    if (write.message) pending.push_back(std::move(*write.message));
  }
  in_flight_.clear();
  in_flight_payload_ = socket_payload_ = 0;
  for (Outgoing& message : queue_.TakeAll()) {
    owner->OnWaiting(message.id, peer_, false);
    pending.push_back(std::move(message));
  }
  if (shared_) {
    for (Outgoing& message : pending) shared_->Retire(message);
  }
  shared_.reset();
  return pending;
}

}  // namespace motley
