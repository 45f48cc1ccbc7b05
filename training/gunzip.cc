// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "training/file_io.h"
#include "training/readers.h"

namespace motley {
namespace {

// One inflate stream that ends itself.
class Inflater {
 public:
  Inflater() { ok_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }  // 16: gzip, not zlib.
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ok_) inflateEnd(&stream_);
  }
  bool ok() const { return ok_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ok_;
};

// Unpacks the member that starts at `at` onto `to`, and moves `at` behind it.
Status GunzipMember(const std::string& packed, size_t& at, std::string& to) {
  constexpr size_t kStep = size_t{1} << 18;
  Inflater inflater;
  if (!inflater.ok()) return Status::Resource("zlib could not start");
  z_stream& stream = inflater.stream();
  while (true) {
    const size_t input = std::min(packed.size() - at, kStep);
    const size_t before = to.size();
    to.resize(before + kStep);
    // zlib does not write to its input; its interface predates const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + at));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(to.data() + before);
    stream.avail_out = static_cast<uInt>(kStep);
    const int result = inflate(&stream, Z_NO_FLUSH);
    at += input - stream.avail_in;
    to.resize(before + kStep - stream.avail_out);
    if (result == Z_STREAM_END) return Status::Ok();
    if (result == Z_MEM_ERROR) return Status::Resource("not enough memory to unpack it");
    if (result != Z_OK && result != Z_BUF_ERROR) {
      return Status::DataError(fmt::format("gzip data damaged near byte {}{}{}", at,
                                           stream.msg != nullptr ? ": " : "",
                                           stream.msg != nullptr ? stream.msg : ""));
    }
    if (at == packed.size() && stream.avail_out != 0) {
      return Status::DataError(
          fmt::format("gzip data truncated: it ends at byte {} in the middle", at));
    }
  }
}

}  // namespace

bool IsGzip(const std::string& content) { return content.starts_with("\x1f\x8b"); }

Result<std::string> Gunzip(const std::string& packed, const std::string& path) {
  return WithinMemory(path, [&]() -> Result<std::string> {
    std::string content;
    size_t at = 0;
    while (at < packed.size()) {
      const Status status = GunzipMember(packed, at, content);
      if (!status.ok()) return status.WithContext(path);
      // Tapes and some tools pad with zeros.
      if (packed.find_first_not_of('\0', at) == std::string::npos) break;
    }
    return content;
  });
}

Result<std::string> ReadFile(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::string content, ReadRawFile(path));
  if (!IsGzip(content)) return content;
  return Gunzip(content, path);
}

}  // namespace motley
