// SPDX-License-Identifier: Apache-2.0
// The contract of every PeerStream. To test a new one:
//   1. derive a StreamWorld that connects two of them;
//   2. add motley_stream_suite to the DEPS of the test program;
//   3. INSTANTIATE_TEST_SUITE_P(Mine, StreamSuite, testing::Values(StreamCase{
//          "Mine", [] { return std::make_unique<MyWorld>(); }}), StreamCaseName);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "transport/stream/peer_stream.h"

namespace motley {

// The environment of some streams. It outlives those it made.
class StreamWorld {
 public:
  virtual ~StreamWorld() = default;
  using Pair = std::pair<std::unique_ptr<PeerStream>, std::unique_ptr<PeerStream>>;
  // The two ends of a new connection.
  virtual Pair Connect() = 0;
  // Lets time pass until `done` holds, which is checked repeatedly. Returns false if it never will.
  // With real time this needs a generous limit that only failing tests reach.
  virtual bool RunUntil(const std::function<bool()>& done) = 0;
  // Bytes that are certainly more than the streams and the system take from a writer whose peer
  // does not read.
  virtual size_t MoreThanFits() const = 0;
};

struct StreamCase {
  std::string name;
  std::function<std::unique_ptr<StreamWorld>()> make_world;
};

inline std::string StreamCaseName(const testing::TestParamInfo<StreamCase>& info) {
  return info.param.name;
}
inline void PrintTo(const StreamCase& c, std::ostream* out) { *out << c.name; }

// One end of a stream, which records what happens. Events that the contract forbids fail the test.
class StreamEnd final : public PeerStream::Handler {
 public:
  explicit StreamEnd(std::unique_ptr<PeerStream> stream) : stream_(std::move(stream)) {
    stream_->SetHandler(this);
  }

  // Reads once, into room for `most` bytes.
  void Read(size_t most) {
    room_.assign(most, std::byte{0});
    const InCall in_call(*this);
    EXPECT_TRUE(stream_->ReadInto(room_).ok());
  }
  // Reads on and on, each time into room for `most()` bytes.
  void ReadAll(std::function<size_t()> most) {
    most_ = std::move(most);
    Read(most_());
  }
  void ReadAll() {
    ReadAll([] { return size_t{1} << 16; });
  }
  // Writes the pieces, the first one as the head.
  void Write(std::vector<Bytes> pieces, const PassableFile* file = nullptr) {
    const auto& kept =
        writes_.emplace_back(std::make_unique<std::vector<Bytes>>(std::move(pieces)));
    const std::vector<BytesView> views(kept->begin() + 1, kept->end());
    const InCall in_call(*this);
    EXPECT_TRUE(stream_->Write(kept->front(), views, file).ok());
  }
  void Destroy() { stream_.reset(); }
  PeerStream& stream() { return *stream_; }

  void OnRead(size_t count) override {
    ExpectAllowed();
    EXPECT_GT(count, 0u);
    ASSERT_LE(count, room_.size()) << "more bytes than room, or read without being asked";
    came.insert(came.end(), room_.begin(), room_.begin() + static_cast<ptrdiff_t>(count));
    room_.clear();
    ++reads;
    if (on_read) on_read();
    if (stream_ && most_) Read(most_());
  }
  void OnWritten() override {
    ExpectAllowed();
    ASSERT_LT(written, writes_.size()) << "more writes reported than made";
    // The memory may be reused from now on.
    for (Bytes& piece : *writes_[written]) std::fill(piece.begin(), piece.end(), std::byte{0xdd});
    ++written;
    if (on_written) on_written();
  }
  void OnEnd(const Status& why) override {
    ExpectAllowed();
    ended = why;
    if (on_end) on_end();
  }

  Bytes came;
  size_t reads = 0;
  size_t written = 0;
  std::optional<Status> ended;
  std::function<void()> on_read, on_written, on_end;

 private:
  struct InCall {
    explicit InCall(StreamEnd& of) : end(of) { ++end.calls_; }
    ~InCall() { --end.calls_; }
    StreamEnd& end;
  };
  void ExpectAllowed() {
    EXPECT_EQ(calls_, 0) << "called inside a function of the stream";
    EXPECT_NE(stream_, nullptr) << "called after the stream was destroyed";
    EXPECT_FALSE(ended) << "called after the end";
  }

  std::unique_ptr<PeerStream> stream_;
  Bytes room_;
  std::function<size_t()> most_;
  std::vector<std::unique_ptr<std::vector<Bytes>>> writes_;
  int calls_ = 0;
};

class StreamSuite : public testing::TestWithParam<StreamCase> {
 protected:
  StreamSuite() : world_(GetParam().make_world()) {
    auto [a, b] = world_->Connect();
    EXPECT_TRUE(a && b);
    a_.emplace(std::move(a));
    b_.emplace(std::move(b));
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_->RunUntil(done)) << "the condition never held";
  }
  // Lets everything happen that is going to happen without further calls.
  void Settle() {
    auto [a, b] = world_->Connect();
    StreamEnd from(std::move(a)), to(std::move(b));
    to.ReadAll();
    for (size_t i = 1; i <= 20; ++i) {
      from.Write({Bytes(1)});
      Run([&] { return to.came.size() == i; });
    }
  }

  std::unique_ptr<StreamWorld> world_;
  std::optional<StreamEnd> a_, b_;
};

}  // namespace motley
