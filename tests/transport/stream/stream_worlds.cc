// SPDX-License-Identifier: Apache-2.0
#include "tests/transport/stream/stream_worlds.h"

#include <fmt/format.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <utility>

#include "tests/conformance/fake_stream.h"
#include "tests/transport/uv_test_loop.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

// Where to listen for each scheme of the list.
const std::map<std::string_view, std::string> kListenAt{
    {"", "127.0.0.1:0"},
    {"tcp", "127.0.0.1:0"},
    {"unix", fmt::format("suite of streams {}", getpid())},
};

class SchemeWorld final : public StreamWorld, private Listener::Handler {
 public:
  explicit SchemeWorld(const StreamScheme& scheme) : scheme_(scheme) {
    const auto at = kListenAt.find(scheme.name);
    EXPECT_NE(at, kListenAt.end()) << "no test listens at an address like " << scheme.form;
    if (at == kListenAt.end()) return;
    auto listeners = scheme.listen(options_, at->second, *this);
    EXPECT_TRUE(listeners.ok()) << listeners.status().ToString();
    if (listeners.ok()) listeners_ = std::move(*listeners);
  }

  Pair Connect() override {
    if (listeners_.empty()) return {};
    const auto where = ParseAddress(listeners_.front()->address());
    EXPECT_TRUE(where.ok()) << where.status().ToString();
    std::unique_ptr<PeerStream> dialed;
    const auto dialing = scheme_.dial(options_, where->rest, [&](auto stream) {
      EXPECT_TRUE(stream.ok()) << stream.status().ToString();
      if (stream.ok()) dialed = std::move(*stream);
    });
    EXPECT_TRUE(RunUntil([&] { return dialed && accepted_; }));
    return {std::move(dialed), std::move(accepted_)};
  }
  bool RunUntil(const std::function<bool()>& done) override {
    return loop_.RunUntil([&] {
      while (!later_.empty()) {
        const Task task = std::move(later_.front());
        later_.pop_front();
        task();
      }
      return done();
    });
  }
  size_t MoreThanFits() const override { return size_t{32} << 20; }

 private:
  void OnIncoming(Listener& listener) override {
    auto stream = listener.Accept();
    EXPECT_TRUE(stream.ok()) << stream.status().ToString();
    if (stream.ok()) accepted_ = std::move(*stream);
  }

  UvTestLoop loop_;
  const StreamScheme& scheme_;
  std::deque<Task> later_;
  const StreamOptions options_{loop_.get(),
                               [this](Task task) { later_.push_back(std::move(task)); }};
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<PeerStream> accepted_;
};

}  // namespace

std::vector<StreamCase> AllStreams() {
  const auto fake = [](FakeScript script) {
    return [script] { return std::make_unique<FakeWorld>(script); };
  };
  std::vector<StreamCase> all{
      {"ByteByByte", fake({.most = 1})},
      {"CutAtRandom", fake({.most = 700, .random = true})},
      {"LittleRoom", fake({.most = 50, .random = true, .room = 130})},
  };
  for (const StreamScheme& scheme : StreamSchemes()) {
    const std::string name = scheme.name.empty() ? "plain" : std::string(scheme.name);
    all.push_back({name, [&scheme] { return std::make_unique<SchemeWorld>(scheme); }});
  }
  return all;
}

}  // namespace motley
