// SPDX-License-Identifier: Apache-2.0
// Files read from front to back in bounded memory, and unpacked on the way. One thread at a time.
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
  // Fills the front of `to`, which is not empty, and returns how many bytes; 0 at the end. Errors
  // name the file.
  virtual Result<size_t> Read(std::span<char> to) = 0;
};

// Opens a file, and unpacks it if it is gzip; "-" is the standard input. Errors: kNotFound,
// kPermission, kInvalidArgument (a folder), kResource. Reads return kDataError for a truncated or
// damaged gzip file.
Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path);

// Unpacks a gzip file of one or more members; `path` is for messages.
std::unique_ptr<ByteStream> MakeGunzipStream(std::unique_ptr<ByteStream> packed, std::string path);

// A stream with lookahead.
class StreamReader {
 public:
  explicit StreamReader(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // The next `count` bytes, or fewer at the end. They are not consumed, and are valid until the
  // next call.
  Result<std::string_view> Peek(size_t count);
  // The next line without its end (LF or CRLF), valid until the next call. Returns false at the end
  // of the stream. kDataError: no line end within 64 MiB.
  Result<bool> NextLine(std::string_view& line);
  // After a failed NextLine: true if its line was too long. That error does not name the file.
  bool InLongLine() const;
  // Fills `to` as far as the stream reaches.
  Result<size_t> Read(std::span<char> to);
  // Skips `count` bytes and returns how many there were; fewer at the end of the stream.
  Result<uint64_t> Skip(uint64_t count);

 private:
  Result<bool> Fill();  // Reads more bytes into the buffer; false at the end of the stream.

  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  size_t begin_ = 0;  // Offset in buffer_ of the first unread byte.
};

}  // namespace motley
