// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/uv_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/loop/loop_guard.h"

namespace motley {
namespace {

// While the server reads its data, new connections wait in the kernel's queue.
constexpr int kBacklog = 1024;

uv_buf_t BufferOf(BytesView bytes) {
  auto* data = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
  return uv_buf_init(data, static_cast<unsigned>(bytes.size()));
}

UvHandlePtr Own(std::unique_ptr<UvHandle> handle) {
  handle->any.data = nullptr;
  return UvHandlePtr(handle.release());
}

}  // namespace

void CloseUvHandle::operator()(UvHandle* handle) const {
  handle->any.data = nullptr;
  uv_close(&handle->any, [](uv_handle_t* closed) { delete reinterpret_cast<UvHandle*>(closed); });
}

Result<UvHandlePtr> MakeTcpHandle(uv_loop_t* loop) {
  auto handle = std::make_unique<UvHandle>();
  if (const int error = uv_tcp_init(loop, &handle->tcp)) {
    return Status::Unavailable(uv_strerror(error));
  }
  return Own(std::move(handle));
}

Result<UvHandlePtr> MakePipeHandle(uv_loop_t* loop, bool passes_files) {
  auto handle = std::make_unique<UvHandle>();
  if (const int error = uv_pipe_init(loop, &handle->pipe, passes_files ? 1 : 0)) {
    return Status::Unavailable(uv_strerror(error));
  }
  return Own(std::move(handle));
}

Result<UvHandlePtr> MakePipeHandle(uv_loop_t* loop, bool passes_files, int descriptor) {
  MOTLEY_ASSIGN_OR_RETURN(UvHandlePtr handle, MakePipeHandle(loop, passes_files));
  if (const int error = uv_pipe_open(&handle->pipe, descriptor)) {
    return Status::Unavailable(uv_strerror(error));
  }
  return handle;
}

int DescriptorOf(const UvHandle& handle) {
  uv_os_fd_t fd = -1;
  return uv_fileno(&handle.any, &fd) == 0 ? fd : -1;
}

std::unique_ptr<PassableFile> PassableFile::Create(uv_loop_t* loop, int descriptor) {
  const int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  auto handle = MakePipeHandle(loop, false, fd);
  if (handle.ok()) return std::unique_ptr<PassableFile>(new PassableFile(std::move(*handle)));
  close(fd);
  return nullptr;
}

UvStream::UvStream(UvHandlePtr handle, PeerIdentity peer)
    : PeerStream(std::move(peer)), handle_(std::move(handle)) {
  handle_->any.data = this;
}

Status UvStream::ReadInto(std::span<std::byte> room) {
  MOTLEY_ASSERT(!room.empty() && room_.empty());
  room_ = room;
  if (reading_) return Status::Ok();
  const int error = uv_read_start(
      &handle_->stream,
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        const auto* self = static_cast<UvStream*>(handle->data);
        *buffer = BufferOf(self != nullptr ? self->room_ : BytesView());
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
        auto* self = static_cast<UvStream*>(stream->data);
        if (self != nullptr && count != 0) self->OnRead(count);
      });
  if (error != 0) return Status::Unavailable(uv_strerror(error));
  reading_ = true;
  return Status::Ok();
}

void UvStream::OnRead(ptrdiff_t count) {
  room_ = {};
  if (count == UV_EOF) return End(Status::Ok());
  if (count < 0) return End(Status::Unavailable(uv_strerror(static_cast<int>(count))));
  UvHandle* const handle = handle_.get();  // Outlives this stream.
  RunGuarded(handle->any.loop->data, [&] { handler()->OnRead(static_cast<size_t>(count)); });
  if (handle->any.data == nullptr || !room_.empty()) return;
  uv_read_stop(&handle->stream);
  reading_ = false;
}

void UvStream::End(const Status& why) {
  broken_ = true;
  uv_read_stop(&handle_->stream);
  RunGuarded(handle_->any.loop->data, [&] { handler()->OnEnd(why); });
}

Status UvStream::Write(BytesView head, std::span<const BytesView> pieces,
                       const PassableFile* file) {
  if (broken_) return Status::Ok();
  constexpr size_t kFewBuffers = 8;
  std::array<uv_buf_t, kFewBuffers> few;
  std::vector<uv_buf_t> many;
  uv_buf_t* buffers = few.data();
  if (pieces.size() >= kFewBuffers) {
    many.resize(pieces.size() + 1);
    buffers = many.data();
  }
  unsigned count = 0;
  buffers[count++] = BufferOf(head);
  for (BytesView piece : pieces) {
    if (!piece.empty()) buffers[count++] = BufferOf(piece);
  }
  auto* request = new uv_write_t;
  const auto on_written = [](uv_write_t* raw, int status) {
    const std::unique_ptr<uv_write_t> owned(raw);
    auto* self = static_cast<UvStream*>(owned->handle->data);
    if (self != nullptr) self->OnWritten(status);
  };
  const int error = uv_write2(request, &handle_->stream, buffers, count,
                              file != nullptr ? file->handle() : nullptr, on_written);
  if (error == 0) return Status::Ok();
  delete request;
  broken_ = true;
  return Status::Unavailable(uv_strerror(error));
}

void UvStream::OnWritten(int status) {
  if (broken_) return;
  if (status == 0) {
    return RunGuarded(handle_->any.loop->data, [&] { handler()->OnWritten(); });
  }
  broken_ = true;
  // The last bytes of a peer that is gone may still wait to be read.
  if (status != UV_EPIPE && status != UV_ECONNRESET) {
    End(Status::Unavailable(uv_strerror(status)));
  }
}

size_t UvStream::PendingFiles() const {
  if (!PassesFiles()) return 0;
  return static_cast<size_t>(uv_pipe_pending_count(&handle_->pipe));
}

int UvStream::TakeFile() {
  if (PendingFiles() == 0) return -1;
  const auto received = MakePipeHandle(handle_->any.loop, false);
  if (!received.ok() || uv_accept(&handle_->stream, &(*received)->stream) != 0) return -1;
  return fcntl(DescriptorOf(**received), F_DUPFD_CLOEXEC, 0);
}

UvListener::UvListener(UvHandlePtr handle, std::string address, Handler& handler,
                       AcceptFunction accept)
    : handle_(std::move(handle)), address_(std::move(address)), handler_(handler), accept_(accept) {
  handle_->any.data = this;
}

int UvListener::Start() {
  return uv_listen(&handle_->stream, kBacklog, [](uv_stream_t* stream, int status) {
    auto* self = static_cast<UvListener*>(stream->data);
    if (status != 0 || self == nullptr) return;
    RunGuarded(stream->loop->data, [&] { self->handler_.OnIncoming(*self); });
  });
}

}  // namespace motley
