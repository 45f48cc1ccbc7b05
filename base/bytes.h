// SPDX-License-Identifier: Apache-2.0
// A growable byte buffer, and a reader that never looks past the end of its bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace motley {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

template <typename T>
BytesView AsBytes(std::span<const T> values) {
  return std::as_bytes(values);
}

inline BytesView AsBytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// Appends fixed-size little-endian values and raw runs.
class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  void Append(BytesView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Reads what ByteWriter wrote. After the first read that does not fit, every later read fails too,
// so a caller may check ok() once at the end.
class ByteReader {
 public:
  explicit ByteReader(BytesView bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (BytesView raw = View(sizeof(T)); ok_) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  // The next `size_bytes` bytes, or an empty view if there are not that many.
  BytesView View(size_t size_bytes) {
    if (!ok_ || size_bytes > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const BytesView view = bytes_.first(size_bytes);
    bytes_ = bytes_.subspan(size_bytes);
    return view;
  }
  bool ok() const { return ok_; }
  size_t remaining() const { return bytes_.size(); }

 private:
  BytesView bytes_;
  bool ok_ = true;
};

static_assert(std::endian::native == std::endian::little, "The wire format is little-endian.");

}  // namespace motley
