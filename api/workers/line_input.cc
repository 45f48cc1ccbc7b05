// SPDX-License-Identifier: Apache-2.0
#include "api/workers/line_input.h"

#include <uv.h>

#include <array>
#include <utility>

#include "fmt/core.h"

namespace motley {

struct LineInput::Impl {
  uv_pipe_t pipe{};
  std::array<char, 4096> buffer{};
  std::string text;
  std::function<void(const std::string&)> line;
  std::function<void()> closed;

  void Add(size_t size) {
    constexpr size_t kLongest = 65536;  // Longer lines do not come from the job. They are dropped.
    text.append(buffer.data(), size);
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      line(text.substr(begin, end - begin));
    }
    text.erase(0, begin);
    if (text.size() > kLongest) text.clear();
  }
};

LineInput::LineInput(UvLoop& loop, std::function<void(const std::string&)> line,
                     std::function<void()> closed)
    : impl_(new Impl) {
  impl_->line = std::move(line);
  impl_->closed = std::move(closed);
  uv_pipe_init(loop.handle(), &impl_->pipe, 0);
  impl_->pipe.data = impl_;
}

LineInput::~LineInput() {
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->pipe),
           [](uv_handle_t* handle) { delete static_cast<Impl*>(handle->data); });
}

Status LineInput::Open() {
  // libuv aborts if it cannot poll a handle, like that of a file.
  const uv_handle_type kind = uv_guess_handle(0);
  int error = kind == UV_NAMED_PIPE ? uv_pipe_open(&impl_->pipe, 0) : UV_EINVAL;
  if (error == 0) {
    error = uv_read_start(
        reinterpret_cast<uv_stream_t*>(&impl_->pipe),
        [](uv_handle_t* handle, size_t, uv_buf_t* out) {
          auto& buffer = static_cast<Impl*>(handle->data)->buffer;
          *out = uv_buf_init(buffer.data(), static_cast<unsigned>(buffer.size()));
        },
        [](uv_stream_t* stream, ssize_t size, const uv_buf_t*) {
          auto* impl = static_cast<Impl*>(stream->data);
          if (size > 0) return impl->Add(static_cast<size_t>(size));
          if (size == 0) return;
          uv_read_stop(stream);
          impl->closed();
        });
  }
  if (error == 0) return Status::Ok();
  return Status::Resource(
      fmt::format("standard input is not a pipe ({}). This command is started by `motley train`",
                  uv_strerror(error)));
}

}  // namespace motley
