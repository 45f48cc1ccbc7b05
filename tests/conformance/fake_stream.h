// SPDX-License-Identifier: Apache-2.0
// Streams inside the test, whose bytes move as a script says: one at a time, cut at random, with
// little room under way, or not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tests/conformance/stream_suite.h"

namespace motley {

struct FakeScript {
  size_t most = 1;       // Bytes that one turn writes or reads at most.
  bool random = false;   // Each turn draws its number of bytes from 1 to `most`.
  size_t room = 10'000;  // Bytes that can be under way.
  bool same_machine = false;
};

class FakeStream;

class FakeWorld final : public StreamWorld {
 public:
  explicit FakeWorld(FakeScript script) : script_(script), random_(11, Stream::kTest) {}

  Pair Connect() override;
  bool RunUntil(const std::function<bool()>& done) override;
  size_t MoreThanFits() const override { return 4 * script_.room; }
  // Moves some bytes of every stream.
  void Turn();
  // The most bytes that the next move may have.
  size_t Most();
  size_t room() const { return script_.room; }

 private:
  friend class FakeStream;
  const FakeScript script_;
  Random random_;
  std::vector<FakeStream*> streams_;  // All that live.
};

class FakeStream final : public PeerStream {
 public:
  // Bytes under way in one direction.
  struct Pipe {
    std::deque<std::byte> bytes;
    bool closed = false;  // By either end.
  };
  FakeStream(FakeWorld& world, PeerIdentity peer, std::shared_ptr<Pipe> in,
             std::shared_ptr<Pipe> out);
  ~FakeStream() override;

  Status ReadInto(std::span<std::byte> room) override;
  Status Write(BytesView head, std::span<const BytesView> pieces,
               const PassableFile* file) override;
  size_t Unsent() const override { return unsent_; }

  // From now on every Write fails with this Status.
  void FailWrites(Status why) { write_error_ = std::move(why); }
  // The connection breaks: OnEnd reports it in the next turn.
  void Break(Status why) { broken_ = std::move(why); }

  void Turn();

 private:
  struct Writing {
    std::vector<BytesView> pieces;  // The rest; no piece is empty.
  };
  void MoveOut(const std::shared_ptr<bool>& alive);
  void MoveIn();

  FakeWorld& world_;
  const std::shared_ptr<Pipe> in_, out_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::span<std::byte> room_;
  std::deque<Writing> writes_;
  size_t unsent_ = 0;
  Status write_error_;
  std::optional<Status> broken_;
  bool over_ = false;
};

}  // namespace motley
