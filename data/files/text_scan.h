// SPDX-License-Identifier: Apache-2.0
// What the text formats share: lines with their numbers, and numbers that must be finite.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "data/files/byte_stream.h"

namespace motley {

// Walks over the lines of a text: skips a byte order mark, takes LF and CRLF.
class LineScanner {
 public:
  explicit LineScanner(std::string_view text);
  // The next line without its end; false at the end of the text.
  bool Next(std::string_view& line);
  uint32_t number() const { return number_; }  // Of the last line, from 1.

 private:
  std::string_view rest_;
  uint32_t number_ = 0;
};

// The same for the lines of a stream.
class LineReader {
 public:
  // `path` is for messages.
  LineReader(StreamReader& stream, const std::string& path) : stream_(stream), path_(path) {}
  // Valid until the next call; false at the end. kDataError: an endless line.
  Result<bool> Next(std::string_view& line);
  uint32_t number() const { return number_; }

 private:
  StreamReader& stream_;
  const std::string& path_;
  uint32_t number_ = 0;
};

// Without blanks and tabs at both ends.
std::string_view Trim(std::string_view text);

// Reads all of `text` as a number that a float can hold. kDataError says what is wrong with it, to
// be completed with the place: "'abc' is not a number".
Result<double> ParseNumber(std::string_view text);
// For messages: in quotes, shortened, without control characters.
std::string Quoted(std::string_view text);

}  // namespace motley
