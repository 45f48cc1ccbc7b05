// SPDX-License-Identifier: Apache-2.0
#include "data/files/byte_stream.h"

#include <algorithm>
#include <cstring>

namespace motley {
namespace {

constexpr size_t kStep = size_t{1} << 18;
constexpr size_t kLongestLine = size_t{64} << 20;

}  // namespace

Result<bool> StreamReader::Fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const size_t size = buffer_.size();
  buffer_.resize(size + kStep);  // Capacity doubles, and only new bytes are cleared.
  const auto got = stream_->Read(std::span<char>(buffer_).subspan(size));
  buffer_.resize(size + (got.ok() ? *got : 0));
  if (!got.ok()) return got.status();
  return *got > 0;
}

Result<std::string_view> StreamReader::Peek(size_t count) {
  while (buffer_.size() - begin_ < count) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
  }
  return std::string_view(buffer_).substr(begin_, count);
}

bool StreamReader::InLongLine() const { return buffer_.size() - begin_ > kLongestLine; }

Result<bool> StreamReader::NextLine(std::string_view& line) {
  size_t searched = 0;
  bool more = true;
  size_t end = std::string::npos;
  while (more) {
    end = buffer_.find('\n', begin_ + searched);
    if (end != std::string::npos) break;
    searched = buffer_.size() - begin_;
    if (InLongLine()) return Status::DataError("the line has no end within 64 MiB");
    MOTLEY_ASSIGN_OR_RETURN(more, Fill());
  }
  if (end == std::string::npos && begin_ == buffer_.size()) return false;
  const size_t stop = std::min(end, buffer_.size());
  line = std::string_view(buffer_).substr(begin_, stop - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = std::min(stop + 1, buffer_.size());
  return true;
}

Result<size_t> StreamReader::Read(std::span<char> to) {
  size_t done = std::min(to.size(), buffer_.size() - begin_);
  std::memcpy(to.data(), buffer_.data() + begin_, done);
  begin_ += done;
  while (done < to.size()) {
    MOTLEY_ASSIGN_OR_RETURN(const size_t got, stream_->Read(to.subspan(done)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

Result<uint64_t> StreamReader::Skip(uint64_t count) {
  uint64_t done = 0;
  while (done < count) {
    if (begin_ == buffer_.size()) {
      MOTLEY_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
    }
    const auto step =
        static_cast<size_t>(std::min<uint64_t>(count - done, buffer_.size() - begin_));
    begin_ += step;
    done += step;
  }
  return done;
}

}  // namespace motley
