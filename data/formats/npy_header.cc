// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "data/files/text_scan.h"

namespace motley {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeaderBytes = size_t{1} << 16;
constexpr size_t kMostDimensions = 64;  // The limit of NumPy.

// The type of a name like "<f4", or the reason why it cannot be used.
Result<ElementType> ParseType(const std::string& name) {
  using Kind = ElementType::Kind;
  const auto refuse = [&](std::string_view what) {
    return Status::DataError(fmt::format("its dtype is {}: {}", Quoted(name), what));
  };
  if (name.size() < 2) return refuse("not a type of NumPy");
  const char order = name[0];
  const std::string_view rest = std::string_view(name).substr(
      order == '<' || order == '>' || order == '|' || order == '=' ? 1 : 0);
  uint32_t size = 0;
  const char* end = rest.data() + rest.size();
  const bool sized = rest.size() > 1 && std::from_chars(rest.data() + 1, end, size).ptr == end;
  switch (rest.empty() ? '\0' : rest[0]) {
    case 'O': return refuse("Python objects; save numbers, with array.astype('float32')");
    case 'c':
      return refuse("complex numbers; save array.real and array.imag as columns of their own");
    case 'S':
    case 'U': return refuse("text; save numbers, one per word or class");
    case 'M':
    case 'm': return refuse("dates or times; save numbers, with array.astype('int64')");
    case 'V': return refuse("records; save plain columns of numbers");
    default: break;
  }
  if (!sized) return refuse("not a type that is understood; save array.astype('float32')");
  const ElementType type{.size_bytes = size, .big_endian = order == '>'};
  const auto make = [&](Kind kind, std::initializer_list<uint32_t> sizes) -> Result<ElementType> {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      return refuse("not of a size that is understood; save array.astype('float32')");
    }
    return ElementType{.kind = kind, .size_bytes = size, .big_endian = type.big_endian};
  };
  switch (rest[0]) {
    case 'f': return make(Kind::kFloat, {2, 4, 8});
    case 'i': return make(Kind::kSigned, {1, 2, 4, 8});
    case 'u': return make(Kind::kUnsigned, {1, 2, 4, 8});
    case 'b': return make(Kind::kBool, {1});
    default: return refuse("not a type that is understood; save array.astype('float32')");
  }
}

// Parses the header's text: a Python dict literal with exactly the keys descr, fortran_order,
// shape.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : rest_(text) {}

  Result<NpyHeader> Run() {
    if (!Take('{')) return Broken("does not start with {");
    while (!Take('}')) {
      std::string key;
      if (!TakeString(key) || !Take(':')) return Broken("needs keys in quotes, each with a value");
      MOTLEY_RETURN_IF_ERROR(TakeValue(key));
      if (!Take(',') && Peek() != '}') return Broken("needs commas between its keys");
    }
    if (Peek() != '\0') return Broken("continues after its end");
    if (!type_ || !fortran_ || !shape_) return Broken("lacks descr, fortran_order or shape");
    const auto several =
        std::count_if(shape_->begin(), shape_->end(), [](uint64_t extent) { return extent != 1; });
    return NpyHeader{
        .type = *type_, .shape = *std::move(shape_), .column_major = *fortran_ && several > 1};
  }

 private:
  static Status Broken(std::string_view what) {
    return Status::DataError(fmt::format("its header {}", what));
  }

  char Peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool Take(char c) {
    if (Peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (Peek() == '\0' || !rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool TakeString(std::string& to) {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    to = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return to.find('\\') == std::string::npos;
  }

  Status TakeValue(const std::string& key) {
    if (key == "descr" && !type_) {
      if (Peek() == '[') {
        return Status::DataError(
            "it holds records (a structured dtype); save plain columns of "
            "numbers");
      }
      std::string name;
      if (!TakeString(name)) return Broken("has a descr that is not a text");
      MOTLEY_ASSIGN_OR_RETURN(type_, ParseType(name));
      return Status::Ok();
    }
    if (key == "fortran_order" && !fortran_) {
      if (TakeWord("False")) fortran_ = false;
      if (!fortran_ && TakeWord("True")) fortran_ = true;
      return fortran_ ? Status::Ok() : Broken("has a fortran_order that is neither True nor False");
    }
    if (key == "shape" && !shape_) return TakeShape();
    return Broken(fmt::format("has the key {} twice or without use", Quoted(key)));
  }

  Status TakeShape() {
    shape_.emplace();
    bool comma = true;
    if (!Take('(')) return Broken("has a shape that is not a tuple");
    while (!Take(')')) {
      uint64_t extent = 0;
      Peek();
      const char* end = rest_.data() + rest_.size();
      const auto [stop, error] = std::from_chars(rest_.data(), end, extent);
      if (error != std::errc() || !comma || shape_->size() == kMostDimensions) {
        return Broken("has a shape that is not a tuple of counts");
      }
      rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
      shape_->push_back(extent);
      comma = Take(',');
    }
    if (shape_->size() == 1 && !comma) return Broken("has a shape that is not a tuple");
    return Status::Ok();
  }

  std::string_view rest_;
  std::optional<ElementType> type_;
  std::optional<bool> fortran_;
  std::optional<std::vector<uint64_t>> shape_;
};

}  // namespace

bool IsNpy(std::string_view head) { return head.starts_with(kMagic); }

Result<NpyHeader> ReadNpyHeader(StreamReader& stream) {
  std::string start(10, '\0');
  MOTLEY_ASSIGN_OR_RETURN(size_t got, stream.Read(start));
  if (got < start.size() || !IsNpy(start)) {
    return Status::DataError("is not an NPY file: it does not start with \\x93NUMPY and a header");
  }
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(start[at]); };
  const uint8_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    return Status::DataError(
        fmt::format("is of version {}.{} of NPY; 1.0 to 3.0 are understood", version, byte(7)));
  }
  size_t size = byte(8) | size_t{byte(9)} << 8;
  if (version > 1) {
    std::string high(2, '\0');
    MOTLEY_ASSIGN_OR_RETURN(got, stream.Read(high));
    size |= size_t{static_cast<uint8_t>(high[0])} << 16 | size_t{static_cast<uint8_t>(high[1])}
                                                              << 24;
  }
  if (size > kMostHeaderBytes) {
    return Status::DataError(
        fmt::format("its header would have {} bytes; the limit is {}", size, kMostHeaderBytes));
  }
  std::string text(size, '\0');
  MOTLEY_ASSIGN_OR_RETURN(got, stream.Read(text));
  if (got < size) return Status::DataError("is truncated inside its header");
  return DictParser(text).Run();
}

}  // namespace motley
