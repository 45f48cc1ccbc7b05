// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/raw_pair.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <uv.h>

#include <array>
#include <cstring>

namespace motley {
namespace {

constexpr size_t kAhead = 2;  // Writes in flight.

class UvPair final : public RawPair {
 public:
  explicit UvPair(uv_loop_t* loop) : loop_(loop) {}
  ~UvPair() override {
    for (uv_tcp_t* handle : {&listener_, &ends_[0], &ends_[1]}) {
      uv_close(reinterpret_cast<uv_handle_t*>(handle), nullptr);
    }
    uv_run(loop_, UV_RUN_NOWAIT);
  }

  Status Open();
  void Stream(BytesView payload, size_t messages) override;
  void PingPong(BytesView payload, size_t rounds) override;
  const Bytes& received() const override { return buffer_; }

 private:
  uv_stream_t* end(int index) { return reinterpret_cast<uv_stream_t*>(&ends_[index]); }
  static UvPair* Self(uv_handle_t* handle) { return static_cast<UvPair*>(handle->data); }
  static void Tune(uv_tcp_t* handle);
  void Write(int from);
  void ReadAt(int index);
  void OnRead(int index, size_t count);

  uv_loop_t* loop_;
  uv_tcp_t listener_{};
  std::array<uv_tcp_t, 2> ends_{};
  std::array<uv_write_t, kAhead> writes_{};
  size_t next_write_ = 0;
  bool accepted_ = false;
  bool connected_ = false;
  bool echo_ = false;
  Bytes buffer_;
  uv_buf_t message_{};
  size_t to_write_ = 0;
  size_t to_read_ = 0;  // Bytes.
  size_t rounds_ = 0;
  std::array<size_t, 2> partial_{};
};

void UvPair::Tune(uv_tcp_t* handle) {
  uv_tcp_nodelay(handle, 1);
  uv_os_fd_t fd = -1;
  uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

Status UvPair::Open() {
  sockaddr_storage address{};
  int length = sizeof(address);
  uv_tcp_init(loop_, &listener_);
  for (uv_tcp_t& each : ends_) uv_tcp_init(loop_, &each);
  listener_.data = ends_[0].data = ends_[1].data = this;
  uv_ip4_addr("127.0.0.1", 0, reinterpret_cast<sockaddr_in*>(&address));
  auto* where = reinterpret_cast<sockaddr*>(&address);
  int error = uv_tcp_bind(&listener_, where, 0);
  if (error == 0) {
    error = uv_listen(reinterpret_cast<uv_stream_t*>(&listener_), 1, [](uv_stream_t* stream, int) {
      UvPair* self = Self(reinterpret_cast<uv_handle_t*>(stream));
      self->accepted_ = uv_accept(stream, self->end(1)) == 0;
    });
  }
  if (error == 0) error = uv_tcp_getsockname(&listener_, where, &length);
  uv_connect_t connect;
  if (error == 0) {
    error = uv_tcp_connect(&connect, &ends_[0], where, [](uv_connect_t* request, int status) {
      Self(reinterpret_cast<uv_handle_t*>(request->handle))->connected_ = status == 0;
    });
  }
  if (error != 0) return Status::Unavailable(uv_strerror(error));
  while (!accepted_ || !connected_) uv_run(loop_, UV_RUN_ONCE);
  for (int index : {0, 1}) {
    Tune(&ends_[index]);
    ReadAt(index);
  }
  return Status::Ok();
}

void UvPair::ReadAt(int index) {
  uv_read_start(
      end(index),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        Bytes& room = Self(handle)->buffer_;
        *buffer =
            uv_buf_init(reinterpret_cast<char*>(room.data()), static_cast<unsigned>(room.size()));
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
        UvPair* self = Self(reinterpret_cast<uv_handle_t*>(stream));
        if (count > 0) self->OnRead(stream == self->end(0) ? 0 : 1, static_cast<size_t>(count));
      });
}

void UvPair::Write(int from) {
  uv_write_t* request = &writes_[next_write_++ % kAhead];
  uv_write(request, end(from), &message_, 1, [](uv_write_t* written, int) {
    UvPair* self = Self(reinterpret_cast<uv_handle_t*>(written->handle));
    if (self->echo_ || self->to_write_ == 0) return;
    --self->to_write_;
    self->Write(0);
  });
}

void UvPair::OnRead(int index, size_t count) {
  if (!echo_) {
    to_read_ -= count;
    return;
  }
  partial_[index] += count;
  if (partial_[index] < message_.len) return;
  partial_[index] = 0;
  if (index == 0 && --rounds_ == 0) return;
  Write(index);
}

void UvPair::Stream(BytesView payload, size_t messages) {
  buffer_.resize(payload.size());
  message_ = uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(payload.data())),
                         static_cast<unsigned>(payload.size()));
  echo_ = false;
  to_read_ = messages * payload.size();
  to_write_ = messages > kAhead ? messages - kAhead : 0;
  for (size_t i = 0; i < std::min(messages, kAhead); ++i) Write(0);
  while (to_read_ > 0) uv_run(loop_, UV_RUN_ONCE);
}

void UvPair::PingPong(BytesView payload, size_t rounds) {
  buffer_.resize(payload.size());
  message_ = uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(payload.data())),
                         static_cast<unsigned>(payload.size()));
  echo_ = true;
  rounds_ = rounds;
  Write(0);
  while (rounds_ > 0) uv_run(loop_, UV_RUN_ONCE);
}

}  // namespace

Result<std::unique_ptr<RawPair>> RawPair::Connect(uv_loop_s* loop) {
  auto pair = std::make_unique<UvPair>(loop);
  MOTLEY_RETURN_IF_ERROR(pair->Open());
  return std::unique_ptr<RawPair>(std::move(pair));
}

}  // namespace motley
