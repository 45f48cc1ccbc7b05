// SPDX-License-Identifier: Apache-2.0
#include "data/formats/csv_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace motley {
namespace {

constexpr char kQuote = '"';
// Texts may be long. Beyond this length a closing quote was probably forgotten.
constexpr size_t kLongestText = size_t{1} << 20;

bool HasQuote(std::string_view line) {
  return !line.empty() && std::memchr(line.data(), kQuote, line.size()) != nullptr;
}

// Tracks quotes through a line, and the ones after it, character by character.
class QuoteTracker {
 public:
  explicit QuoteTracker(std::string_view delimiters) : delimiters_(delimiters) {}

  void Follow(std::string_view text) {
    for (const char c : text) {
      if (state_ == State::kQuoted) {
        if (c == kQuote) state_ = State::kClosed;
      } else if (delimiters_.find(c) != std::string_view::npos) {
        state_ = State::kStart;
      } else if (c == kQuote && (state_ == State::kStart || state_ == State::kClosed)) {
        state_ = State::kQuoted;
      } else if (state_ == State::kClosed || state_ == State::kBehind) {
        state_ = State::kBehind;
        odd_ = odd_ || (c != ' ' && c != '\t');
      } else if (state_ == State::kStart && c != ' ' && c != '\t') {
        state_ = State::kPlain;
      }
    }
  }
  bool open() const { return state_ == State::kQuoted; }
  // True if text followed a closing quote.
  bool odd() const { return odd_; }

 private:
  enum class State {
    kStart,   // At the start of a field, before any character but blanks.
    kQuoted,  // Within quotes.
    kClosed,  // Just after a quote that closes, unless it is doubled.
    kBehind,
    kPlain  // Within an unquoted field.
  };
  std::string_view delimiters_;
  State state_ = State::kStart;
  bool odd_ = false;
};

// The end of the field that begins at `begin`: its delimiter or the line's end. npos: the line ends
// within quotes.
size_t EndOfField(std::string_view line, size_t begin, char delimiter) {
  size_t at = line.find_first_not_of(delimiter == '\t' ? " " : " \t", begin);
  if (at == std::string_view::npos || line[at] != kQuote) at = begin;
  if (at < line.size() && line[at] == kQuote) {
    for (++at;; at += 2) {
      at = line.find(kQuote, at);
      if (at == std::string_view::npos) return at;
      if (at + 1 == line.size() || line[at + 1] != kQuote) break;
    }
  }
  return std::min(line.find(delimiter, at), line.size());
}

}  // namespace

bool CsvFields::Split(std::string_view line, char delimiter) {
  fields_.clear();
  if (HasQuote(line)) return SplitQuoted(line, delimiter);
  for (size_t begin = 0;;) {
    const size_t end = line.find(delimiter, begin);
    fields_.push_back(Trim(line.substr(begin, end - begin)));
    if (end == std::string_view::npos) return true;
    begin = end + 1;
  }
}

bool CsvFields::SplitQuoted(std::string_view line, char delimiter) {
  room_.clear();
  room_.reserve(line.size());  // Fields point into it, so it must not grow.
  for (size_t begin = 0;;) {
    const size_t end = EndOfField(line, begin, delimiter);
    if (end == std::string_view::npos) return false;
    fields_.push_back(Unquoted(Trim(line.substr(begin, end - begin))));
    if (end == line.size()) return true;
    begin = end + 1;
  }
}

// Text after a closing quote does not invalidate the line: the field stays as written.
std::string_view CsvFields::Unquoted(std::string_view field) {
  if (field.size() < 2 || field.front() != kQuote || field.back() != kQuote) return field;
  field = field.substr(1, field.size() - 2);
  if (!HasQuote(field)) return Trim(field);
  const size_t begin = room_.size();
  for (size_t at = 0; at < field.size(); ++at) {
    room_ += field[at];
    if (field[at] == kQuote && at + 1 < field.size() && field[at + 1] == kQuote) ++at;
  }
  return Trim(std::string_view(room_).substr(begin));
}

Result<bool> CsvLines::Next(std::string_view delimiters, std::string_view& line) {
  MOTLEY_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
  number_ = lines_.number();
  if (!more || !HasQuote(line)) return more;
  QuoteTracker tracker(delimiters);
  tracker.Follow(line);
  if (!tracker.open()) return true;
  joined_ = line;
  while (tracker.open()) {
    MOTLEY_ASSIGN_OR_RETURN(const bool next, lines_.Next(line));
    if (!next || joined_.size() + line.size() > kLongestText) return NotClosed();
    tracker.Follow("\n");
    tracker.Follow(line);
    (joined_ += '\n') += line;
  }
  if (tracker.odd()) return NotClosed();
  line = joined_;
  return true;
}

Status CsvLines::NotClosed() const {
  return Status::DataError(fmt::format("{}:{}: a quote is not closed", path_, number_));
}

}  // namespace motley
