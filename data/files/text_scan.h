// SPDX-License-Identifier: Apache-2.0
// Shared code of the text formats: lines with their numbers, and finite numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "data/files/byte_stream.h"

namespace motley {

// Iterates over the lines of a text. Skips a byte order mark; accepts LF and CRLF.
class LineScanner {
 public:
  explicit LineScanner(std::string_view text);
  // The next line without its end; false at the end of the text.
  bool Next(std::string_view& line);
  uint32_t number() const { return number_; }  // Number of the last line, from 1.

 private:
  std::string_view rest_;
  uint32_t number_ = 0;
};

// Iterates over the lines of a stream, like LineScanner.
class LineReader {
 public:
  // `path` is for messages.
  LineReader(StreamReader& stream, const std::string& path) : stream_(stream), path_(path) {}
  // The line is valid until the next call; false at the end. kDataError: a line is too long.
  Result<bool> Next(std::string_view& line);
  uint32_t number() const { return number_; }

 private:
  StreamReader& stream_;
  const std::string& path_;
  uint32_t number_ = 0;
};

// `text` without blanks and tabs at both ends.
std::string_view Trim(std::string_view text);

// Parses all of `text` as a number that a float can hold. The kDataError, like "'abc' is not a
// number", lacks the place, which the caller adds.
Result<double> ParseNumber(std::string_view text);
// `text` for messages: in quotes, shortened, without control characters.
std::string Quoted(std::string_view text);

}  // namespace motley
