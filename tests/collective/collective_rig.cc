// SPDX-License-Identifier: Apache-2.0
#include "tests/collective/collective_rig.h"

#include <signal.h>
#include <unistd.h>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "sim/world/node_loop.h"
#include "sim/world/sim_network.h"
#include "transport/channel/stream_transport.h"
#include "transport/inproc_transport.h"

namespace motley {
namespace {

class VirtualWorld final : public CollectiveWorld {
 public:
  Loop& loop() override { return loop_; }
  std::unique_ptr<Transport> MakeTransport() override { return network_.MakeTransport(); }
  std::string NewAddress() override { return "inproc:" + std::to_string(next_++); }
  bool RunUntil(const std::function<bool()>& done) override { return loop_.RunUntil(done); }

 private:
  VirtualLoop loop_;
  InprocNetwork network_{loop_};
  int next_ = 0;
};

// Messages of each connection are delayed at random under the seed.
class SimulatedWorld final : public CollectiveWorld {
 public:
  explicit SimulatedWorld(uint64_t seed) : network_(seed) {}
  Loop& loop() override { return loop_; }
  std::unique_ptr<Transport> MakeTransport() override {
    return network_.MakeTransport(node_, {.latency = std::chrono::milliseconds(1),
                                          .bytes_per_second = 1e8,
                                          .jitter = std::chrono::milliseconds(5)});
  }
  std::string NewAddress() override { return "member:" + std::to_string(++next_); }
  bool RunUntil(const std::function<bool()>& done) override { return loop_.RunUntil(done); }

 private:
  VirtualLoop loop_;
  NodeLoop node_{loop_};
  SimNetwork network_;
  int next_ = 0;
};

class TcpWorld final : public CollectiveWorld {
 public:
  TcpWorld() {
    signal(SIGPIPE, SIG_IGN);  // Every program with sockets must do this.
  }
  ~TcpWorld() override {
    RunUntil([this, turns = 3]() mutable { return --turns == 0; });  // Handles go.
  }
  Loop& loop() override { return *loop_; }
  std::unique_ptr<Transport> MakeTransport() override {
    return MakeStreamTransport(loop_->handle());
  }
  // On a loopback address of this process alone, and no port twice. Of 127.0.0.1 the system gives a
  // free port to anybody, and now and then the same one to two members that ask before they listen.
  std::string NewAddress() override {
    static uint32_t count = 0;
    const auto process = static_cast<uint32_t>(getpid());
    return fmt::format("tcp://127.{}.{}.{}:{}", 1 + (process >> 16) % 254, (process >> 8) % 256,
                       process % 256, 20'000 + count++ % 40'000);
  }
  bool RunUntil(const std::function<bool()>& done) override {
    const Time end = loop_->Now() + std::chrono::seconds(30);
    std::function<void()> look = [&] {
      if (done() || loop_->Now() > end) return loop_->Stop();
      loop_->After(std::chrono::milliseconds(1), [&look] { look(); });
    };
    look();
    loop_->Run();
    return done();
  }

 private:
  std::unique_ptr<UvLoop> loop_ = *UvLoop::Create();
};

}  // namespace

std::unique_ptr<CollectiveWorld> MakeVirtualWorld() { return std::make_unique<VirtualWorld>(); }
std::unique_ptr<CollectiveWorld> MakeSimulatedWorld(uint64_t seed) {
  return std::make_unique<SimulatedWorld>(seed);
}
std::unique_ptr<CollectiveWorld> MakeTcpWorld() { return std::make_unique<TcpWorld>(); }

Contribution RandomContribution(uint64_t seed, size_t length, size_t beside, bool whole) {
  Random random(seed, Stream::kTest);
  const auto draw = [&] {
    return whole ? static_cast<double>(random.Below(2001)) - 1000
                 : 1e6 * (random.NextDouble() - 0.5);
  };
  Contribution contribution;
  for (size_t i = 0; i < length; ++i) {
    contribution.vector.push_back(static_cast<float>(draw()));
  }
  for (size_t i = 0; i < beside; ++i) contribution.beside.push_back(draw());
  return contribution;
}

Contribution DirectSumOf(uint64_t seed, uint32_t members, size_t length, bool whole) {
  Contribution sum = RandomContribution(seed, length, 2, whole);
  for (uint32_t rank = 1; rank < members; ++rank) {
    const Contribution term = RandomContribution(seed + rank, length, 2, whole);
    for (size_t i = 0; i < length; ++i) sum.vector[i] += term.vector[i];
    for (size_t i = 0; i < 2; ++i) sum.beside[i] += term.beside[i];
  }
  return sum;
}

Groups TwoGroups(uint32_t members) {
  Groups groups(members > 1 ? 2 : 1);
  for (Rank rank = 0; rank < members; ++rank) {
    std::vector<Rank>& group = groups[rank < (members + 1) / 2 ? 0 : 1];
    group.insert(rank < (members + 1) / 2 ? group.end() : group.begin(), rank);
  }
  return groups;
}

Group::Group(CollectiveWorld& world, const std::string& algorithm, uint32_t members,
             CollectiveOptions options)
    : world_(world), members_(members) {
  const auto found = FindCollective(algorithm);
  EXPECT_TRUE(found.ok());
  if (options.groups.empty()) options.groups = TwoGroups(members);
  std::vector<std::string> addresses;
  for (uint32_t i = 0; i < members; ++i) addresses.push_back(world.NewAddress());
  for (Rank rank = 0; rank < members; ++rank) {
    Member& member = members_[rank];
    member.transport = world.MakeTransport();
    const auto use = [this, rank, options, entry = *found](const Result<Members>& connected) {
      ASSERT_TRUE(connected.ok()) << connected.status().ToString();
      Member& self = members_[rank];
      self.peers = connected->peers;
      auto made = Collective::Create(world_.loop(), *self.transport, *entry, *connected, options);
      ASSERT_TRUE(made.ok()) << made.status().ToString();
      self.collective = *std::move(made);
      self.mesh->Use(*self.collective);
    };
    member.mesh = std::make_unique<Mesh>(world.loop(), *member.transport,
                                         MeshOptions{.rank = rank, .addresses = addresses}, use);
    EXPECT_TRUE(member.mesh->Start().ok());
  }
}

Group::~Group() {
  for (Member& member : members_) member.transport.reset();
}

bool Group::Connect() {
  return world_.RunUntil([this] {
    return std::all_of(members_.begin(), members_.end(),
                       [](const Member& member) { return member.collective != nullptr; });
  });
}

void Group::Contribute(Rank rank, uint64_t update, Contribution contribution) {
  Member& member = members_[rank];
  member.end.reset();
  member.contribution = std::make_shared<Contribution>(std::move(contribution));
  member.collective->Contribute(update, member.contribution,
                                [&member](const Status& status) { member.end = status; });
  EXPECT_FALSE(member.end.has_value()) << "done inside Contribute";
}

void Group::Repeat(Rank rank, uint64_t updates,
                   std::function<Contribution(uint64_t)> contribution) {
  Member& member = members_[rank];
  auto next = std::make_shared<std::function<void(uint64_t)>>();
  *next = [&member, updates, contribution, weak = std::weak_ptr(next)](uint64_t update) {
    member.contribution = std::make_shared<Contribution>(contribution(update));
    member.collective->Contribute(update, member.contribution,
                                  [&member, updates, update, next = weak.lock()](Status status) {
                                    if (status.ok() && update < updates) {
                                      (*next)(update + 1);
                                    } else {
                                      member.end = status;
                                    }
                                  });
  };
  (*next)(1);
}

void Group::Kill(Rank rank) {
  members_[rank].transport.reset();
  members_[rank].collective.reset();
  members_[rank].mesh.reset();
}

bool Group::RunUntilEnded(const std::vector<Rank>& ranks) {
  return world_.RunUntil([&] {
    return std::all_of(ranks.begin(), ranks.end(),
                       [this](Rank rank) { return members_[rank].end.has_value(); });
  });
}

}  // namespace motley
