// SPDX-License-Identifier: Apache-2.0
// Lines of CSV and their fields (RFC 4180). A quote counts at the start of a field alone; within
// quotes, "" is one quote, and delimiters and line ends are text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/files/text_scan.h"

namespace motley {

// The fields of a line, which must outlive them. Example: `a, "b, ""c""" ,` has a, b, "c" and an
// empty one.
class CsvFields {
 public:
  // Cuts `line`; blanks and quotes around fields are taken off. False: a quote is not closed.
  bool Split(std::string_view line, char delimiter);
  const std::vector<std::string_view>& all() const { return fields_; }

 private:
  bool SplitQuoted(std::string_view line, char delimiter);
  std::string_view Unquoted(std::string_view field);

  std::vector<std::string_view> fields_;
  std::string room_;  // Of fields that had a quote within quotes.
};

// Reads lines, and joins those that a field within quotes goes over, by line feeds.
class CsvLines {
 public:
  // `path` is for messages.
  CsvLines(LineReader& lines, const std::string& path) : lines_(lines), path_(path) {}
  // The next, valid until the call after; false at the end. `delimiters`: those that the file may
  // have. kDataError: a quote that does not close within 1 MiB, or closes within a field, which is
  // then another's.
  Result<bool> Next(std::string_view delimiters, std::string_view& line);
  uint32_t number() const { return number_; }  // Where it begins, from 1.

 private:
  Status NotClosed() const;

  LineReader& lines_;
  const std::string& path_;
  std::string joined_;
  uint32_t number_ = 0;
};

}  // namespace motley
