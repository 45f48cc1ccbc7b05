// SPDX-License-Identifier: Apache-2.0
// Streams and listeners over the sockets of libuv. Loop thread only.
#pragma once

#include <uv.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "transport/stream/connecting.h"

namespace motley {

union UvHandle {
  uv_handle_t any;
  uv_stream_t stream;
  uv_tcp_t tcp;
  uv_pipe_t pipe;
};

// Closes a handle. Its memory goes in a later turn of the loop, so the callback of a handle may
// close it, and finds `data` null afterwards.
struct CloseUvHandle {
  void operator()(UvHandle* handle) const;
};
using UvHandlePtr = std::unique_ptr<UvHandle, CloseUvHandle>;

Result<UvHandlePtr> MakeTcpHandle(uv_loop_t* loop);
// `passes_files`: this end of a connection can send and receive open files.
Result<UvHandlePtr> MakePipeHandle(uv_loop_t* loop, bool passes_files);
// The same around a socket or file, which the handle owns. On an error, the caller keeps it.
Result<UvHandlePtr> MakePipeHandle(uv_loop_t* loop, bool passes_files, int descriptor);
int DescriptorOf(const UvHandle& handle);  // -1: none.

// An open file in the form in which libuv hands it to another process.
class PassableFile {
 public:
  // Duplicates the descriptor. Returns null if this process has none left.
  static std::unique_ptr<PassableFile> Create(uv_loop_t* loop, int descriptor);
  uv_stream_t* handle() const { return &handle_->stream; }

 private:
  explicit PassableFile(UvHandlePtr handle) : handle_(std::move(handle)) {}
  UvHandlePtr handle_;
};

class UvStream final : public PeerStream {
 public:
  // `handle` is connected.
  UvStream(UvHandlePtr handle, PeerIdentity peer);

  Status ReadInto(std::span<std::byte> room) override;
  Status Write(BytesView head, std::span<const BytesView> pieces,
               const PassableFile* file) override;
  size_t Unsent() const override { return uv_stream_get_write_queue_size(&handle_->stream); }
  int descriptor() const override { return DescriptorOf(*handle_); }
  bool PassesFiles() const override { return handle_->any.type == UV_NAMED_PIPE; }
  size_t PendingFiles() const override;
  int TakeFile() override;

 private:
  void OnRead(ptrdiff_t count);
  void OnWritten(int status);
  void End(const Status& why);

  const UvHandlePtr handle_;
  std::span<std::byte> room_;  // Empty: none was asked for.
  bool reading_ = false;
  bool broken_ = false;  // Nothing is sent any more. If a Write failed, reading finds the end.
};

class UvListener final : public Listener {
 public:
  using AcceptFunction = Result<std::unique_ptr<PeerStream>> (*)(UvHandle& listener);
  // `handle` is bound to `address`. `accept` makes a stream of the connection that waits.
  UvListener(UvHandlePtr handle, std::string address, Handler& handler, AcceptFunction accept);
  // Starts to listen. Returns an error of libuv, or 0.
  int Start();

  const std::string& address() const override { return address_; }
  Result<std::unique_ptr<PeerStream>> Accept() override { return accept_(*handle_); }

 private:
  const UvHandlePtr handle_;
  const std::string address_;
  Handler& handler_;
  const AcceptFunction accept_;
};

}  // namespace motley
