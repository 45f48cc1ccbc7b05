// SPDX-License-Identifier: Apache-2.0
// Runs the suite of streams on every stream, and tests what only local sockets do.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "tests/transport/stream/stream_worlds.h"
#include "tests/transport/uv_test_loop.h"
#include "transport/stream/unix_stream.h"
#include "transport/stream/uv_stream.h"

namespace motley {
namespace {

INSTANTIATE_TEST_SUITE_P(All, StreamSuite, testing::ValuesIn(AllStreams()), StreamCaseName);

class LocalStreams : public testing::Test, private Listener::Handler {
 protected:
  LocalStreams() {
    const std::string name = "local streams " + std::to_string(getpid());
    const StreamOptions options{loop_.get(), [this](Task task) { later_ = std::move(task); }};
    auto listener = ListenUnix(options, name, *this);
    EXPECT_TRUE(listener.ok()) << listener.status().ToString();
    listener_ = std::move(*listener);
    dialing_ = DialUnix(options, name, [this](auto stream) { from_.emplace(std::move(*stream)); });
    later_();
    Run([&] { return from_ && to_; });
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(loop_.RunUntil(done)) << "the condition never held";
  }
  void OnIncoming(Listener& listener) override { to_.emplace(std::move(*listener.Accept())); }

  UvTestLoop loop_;
  Task later_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Dialing> dialing_;
  std::optional<StreamEnd> from_, to_;
};

TEST_F(LocalStreams, TheKernelNamesUserAndProcess) {
  for (StreamEnd* end : {&*from_, &*to_}) {
    const PeerIdentity& peer = end->stream().peer();
    EXPECT_EQ(peer.user, geteuid());
    EXPECT_EQ(peer.process, getpid());
    EXPECT_EQ(peer.host, kThisMachine);
    EXPECT_TRUE(peer.same_machine);
  }
  EXPECT_EQ(to_->stream().peer().address, "process " + std::to_string(getpid()));
}

TEST_F(LocalStreams, FilesGoAlongWithBytes) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "hello", 5), 5);
  const auto passable = PassableFile::Create(loop_.get(), file);
  ASSERT_NE(passable, nullptr);
  ASSERT_TRUE(from_->stream().PassesFiles());
  from_->Write({Bytes(10)}, passable.get());
  to_->ReadAll();
  Run([&] { return to_->came.size() == 10; });
  EXPECT_EQ(to_->stream().PendingFiles(), 1u);
  const int taken = to_->stream().TakeFile();
  ASSERT_GE(taken, 0);
  std::array<char, 5> text{};
  EXPECT_EQ(pread(taken, text.data(), text.size(), 0), 5);
  EXPECT_EQ(std::string(text.begin(), text.end()), "hello");
  EXPECT_EQ(to_->stream().PendingFiles(), 0u);
  from_->Destroy();
  close(taken);
  close(file);
}

}  // namespace
}  // namespace motley
