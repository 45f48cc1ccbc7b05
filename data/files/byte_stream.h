// SPDX-License-Identifier: Apache-2.0
// Files read from front to back, unpacked on the way, in bounded memory. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the front of `to`, which is not empty; 0 at the end. Errors name the file.
  virtual Result<size_t> Read(std::span<char> to) = 0;
};

// The file as it is, or unpacked if it is gzip; "-" is the standard input. kNotFound, kPermission,
// kInvalidArgument (a folder), kResource; kDataError when it turns out to be truncated or damaged.
Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path);

// The bytes of a gzip file of one or more members; `path` is for messages.
std::unique_ptr<ByteStream> MakeGunzipStream(std::unique_ptr<ByteStream> packed, std::string path);

// A stream with a look ahead.
class StreamReader {
 public:
  explicit StreamReader(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // The next `count` bytes, or fewer at the end; valid until the next call. They stay to be read.
  Result<std::string_view> Peek(size_t count);
  // The next line without its end (LF or CRLF), valid until the next call; false at the end of the
  // stream. kDataError: no end within 64 MiB.
  Result<bool> NextLine(std::string_view& line);
  // After an error of NextLine: it was that one, which does not name the file.
  bool InLongLine() const;
  // Fills `to` as far as the stream goes.
  Result<size_t> Read(std::span<char> to);
  // Leaves out `count` bytes; fewer were there when the result is less.
  Result<uint64_t> Skip(uint64_t count);

 private:
  Result<bool> Fill();  // More bytes at the end of the buffer; false at the end of the stream.

  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  size_t begin_ = 0;  // Of what has not been read, in buffer_.
};

}  // namespace motley
