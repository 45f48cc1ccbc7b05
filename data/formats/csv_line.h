// SPDX-License-Identifier: Apache-2.0
// Lines of CSV and their fields (RFC 4180). A quote is special only at the start of a field. Within
// quotes, "" is one quote, and delimiters and line ends are text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/files/text_scan.h"

namespace motley {

// Views of the fields of a line, which must outlive them. Example: `a, "b, ""c""" ,` has the fields
// `a`, `b, "c"` and an empty one.
class CsvFields {
 public:
  // Splits `line` and strips blanks and quotes around fields. Returns false if a quote is not
  // closed.
  bool Split(std::string_view line, char delimiter);
  const std::vector<std::string_view>& all() const { return fields_; }

 private:
  bool SplitQuoted(std::string_view line, char delimiter);
  std::string_view Unquoted(std::string_view field);

  std::vector<std::string_view> fields_;
  std::string room_;  // Unescaped text of fields that had a quote within quotes.
};

// Reads lines, and joins the lines of a quoted field with line feeds.
class CsvLines {
 public:
  // `path` is for messages.
  CsvLines(LineReader& lines, const std::string& path) : lines_(lines), path_(path) {}
  // The next line, valid until the next call; false at the end. `delimiters` lists the candidates
  // for the delimiter. kDataError: a quote does not close within 1 MiB, or text follows the closing
  // quote of a field of several lines, which shows that another quote is missing.
  Result<bool> Next(std::string_view delimiters, std::string_view& line);
  uint32_t number() const { return number_; }  // Number of the first line of the record, from 1.

 private:
  Status NotClosed() const;

  LineReader& lines_;
  const std::string& path_;
  std::string joined_;
  uint32_t number_ = 0;
};

}  // namespace motley
