// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "data/files/byte_stream.h"

namespace motley {
namespace {

// An inflate stream that ends itself (RAII).
class Inflater {
 public:
  // +16 selects gzip instead of zlib.
  Inflater() { ok_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ok_) inflateEnd(&stream_);
  }
  bool ok() const { return ok_; }
  // Restarts for the next member; unread input stays.
  bool Restart() { return inflateReset(&stream_) == Z_OK; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ok_;
};

class GunzipStream final : public ByteStream {
 public:
  GunzipStream(std::unique_ptr<ByteStream> packed, std::string path)
      : packed_(std::move(packed)), path_(std::move(path)), input_(kStep) {}

  Result<size_t> Read(std::span<char> to) override {
    if (!inflater_.ok()) return Status::Resource(path_ + ": zlib could not start");
    if (done_) return size_t{0};
    z_stream& stream = inflater_.stream();
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(std::min(to.size(), kStep));
    const uInt room = stream.avail_out;
    while (stream.avail_out == room && !done_) MOTLEY_RETURN_IF_ERROR(Inflate());
    return size_t{room - stream.avail_out};
  }

 private:
  static constexpr size_t kStep = size_t{1} << 18;

  Status Inflate() {
    z_stream& stream = inflater_.stream();
    if (stream.avail_in == 0) MOTLEY_RETURN_IF_ERROR(Refill());
    if (between_) {
      MOTLEY_RETURN_IF_ERROR(StartMember());
      if (done_ || stream.avail_in == 0) return Status::Ok();
    }
    if (stream.avail_in == 0) {
      return Status::DataError(
          fmt::format("{}: gzip data truncated: it ends at byte {} in the middle", path_, read_));
    }
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_ = true;
      return Status::Ok();
    }
    if (result == Z_MEM_ERROR) return Status::Resource(path_ + ": not enough memory to unpack it");
    if (result == Z_OK || result == Z_BUF_ERROR) return Status::Ok();
    return Status::DataError(fmt::format("{}: gzip data damaged near byte {}{}{}", path_,
                                         read_ - stream.avail_in, stream.msg != nullptr ? ": " : "",
                                         stream.msg != nullptr ? stream.msg : ""));
  }

  // Starts another member, or accepts zeros up to the end, which tapes and some tools add as
  // padding.
  Status StartMember() {
    z_stream& stream = inflater_.stream();
    while (stream.avail_in > 0 && *stream.next_in == 0) {
      ++stream.next_in;
      --stream.avail_in;
      padded_ = true;
    }
    if (stream.avail_in == 0) {
      done_ = at_end_;
      return Status::Ok();
    }
    if (padded_ || !inflater_.Restart()) {
      return Status::DataError(fmt::format("{}: gzip data damaged near byte {}: not padding", path_,
                                           read_ - stream.avail_in));
    }
    between_ = false;
    return Status::Ok();
  }

  Status Refill() {
    MOTLEY_ASSIGN_OR_RETURN(const size_t got, packed_->Read(input_));
    at_end_ = got == 0;
    read_ += got;
    inflater_.stream().next_in = reinterpret_cast<Bytef*>(input_.data());
    inflater_.stream().avail_in = static_cast<uInt>(got);
    return Status::Ok();
  }

  Inflater inflater_;
  std::unique_ptr<ByteStream> packed_;
  std::string path_;
  std::vector<char> input_;
  uint64_t read_ = 0;  // Packed bytes read, up to the end of input_.
  bool at_end_ = false;
  bool between_ = false;  // The last member has ended and no other has begun.
  bool padded_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> MakeGunzipStream(std::unique_ptr<ByteStream> packed, std::string path) {
  return std::make_unique<GunzipStream>(std::move(packed), std::move(path));
}

}  // namespace motley
