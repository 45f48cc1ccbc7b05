// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose workers hold the vector and send checkpoints while steps go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/saving/saved_job.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_store.h"
#include "tests/runtime/forwarding_transport.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The pieces of copies that workers send. The test may hold them.
struct Pieces {
  bool held = false;
  int sent = 0;
  std::vector<std::function<void()>> waiting;

  void LetGo() {
    held = false;
    for (const auto& send : std::exchange(waiting, {})) send();
  }
};

class PieceTransport final : public ForwardingTransport {
 public:
  PieceTransport(std::unique_ptr<Transport> real, Pieces& pieces)
      : ForwardingTransport(std::move(real)), pieces_(pieces) {}

  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override {
    if (header.kind != FrameKind::kShardCopy || closed_) {
      return ForwardingTransport::Send(peer, header, pieces, priority, std::move(done));
    }
    ++pieces_.sent;
    if (!pieces_.held) {
      return ForwardingTransport::Send(peer, header, pieces, priority, std::move(done));
    }
    const auto kept = std::make_shared<Done>(std::move(done));
    const BytesView bytes = pieces.front();
    pieces_.waiting.push_back([=, this] {
      if (closed_) return;
      ForwardingTransport::Send(peer, header, {&bytes, 1}, priority,
                                [kept](const Status& status) { (*kept)(status); });
    });
    return ~SendId{0};
  }
  void Close() override {
    closed_ = true;
    ForwardingTransport::Close();
  }

 private:
  Pieces& pieces_;
  bool closed_ = false;
};

struct SavedState {
  std::vector<float> parameters, state;
};

// A job with three workers and four shards, and a checkpoint every four steps.
class BesideSteps : public testing::Test {
 protected:
  BesideSteps() : world_(Options()) {
    disk_ = MakeSimDisk(world_.loop, store_, {.per_piece = Duration(1)});
    world_.disk = disk_.get();
    world_.wrap = [this](std::unique_ptr<Transport> real) {
      return std::make_unique<PieceTransport>(std::move(real), pieces_);
    };
    world_.watcher.on_event = [this](const JobEvent& event) {
      if (const auto* safe = std::get_if<event::CheckpointSafe>(&event)) {
        safe_.push_back(safe->steps);
        if (auto saved = LoadSavedJob(store_, safe->steps); saved.ok()) {
          saved_[safe->steps] = {*saved->parameters, *saved->optimizer_state};
        }
      }
    };
  }

  static JobOptions Options() {
    JobOptions options = JobWorld::Options(3, "none");
    options.shards = 4;
    options.holders = JobOptions::Holders::kWorkers;
    options.optimizer.name = "adam";
    options.optimizer.learning_rate = 0.01;
    options.checkpoint = {.every = 4, .code = {2, 1}, .run = 77};
    options.steps = 22;
    return options;
  }
  void Start() {
    world_.StartServer();
    world_.StartWorkers();
  }
  std::vector<notice::CheckpointFailed> Failed() const {
    return Only<notice::CheckpointFailed>(world_.watcher.notices);
  }

  SimStore store_{1};
  Pieces pieces_;
  std::vector<uint64_t> safe_;
  std::map<uint64_t, SavedState> saved_;
  JobWorld world_;
  std::unique_ptr<Disk> disk_;
};

TEST_F(BesideSteps, NoStepWaitsForACheckpoint) {
  pieces_.held = true;
  int next_opened = 0;
  world_.watcher.on_step = [&](StepId step) {
    if (step == 4) next_opened = pieces_.sent == 0 ? 1 : 2;
    if (step == 7) pieces_.LetGo();
  };
  Start();
  ExpectSerialParameters(world_, world_.Run());
  EXPECT_EQ(next_opened, 1) << "the next step opens before the first piece leaves";
  EXPECT_GT(pieces_.sent, 4 * 3) << "each shard, and its arrays";
  EXPECT_EQ(safe_, (std::vector<uint64_t>{4, 8, 12, 16, 20, 22}));
  EXPECT_TRUE(Failed().empty());
}

// What each checkpoint must have is what a job that reads every version sees.
TEST_F(BesideSteps, CheckpointsAreOfOneVersion) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    for (const uint32_t shards : {1, 4, 7}) {
      SCOPED_TRACE(testing::Message() << optimizer << ", " << shards << " shards");
      JobOptions options = Options();
      options.optimizer.name = optimizer;
      options.shards = shards;
      options.read_every_version = true;
      JobWorld world(options);
      SimStore store(1);
      const auto disk = MakeSimDisk(world.loop, store, {.per_piece = Duration(1)});
      world.disk = disk.get();
      Pieces pieces;
      world.wrap = [&](std::unique_ptr<Transport> real) {
        return std::make_unique<PieceTransport>(std::move(real), pieces);
      };
      std::map<uint64_t, SavedState> read;
      int compared = 0;
      world.watcher.on_event = [&](const JobEvent& event) {
        if (const auto* applied = std::get_if<event::StepApplied>(&event)) {
          read[applied->step + 1] = {{applied->parameters.begin(), applied->parameters.end()},
                                     {applied->state.begin(), applied->state.end()}};
        }
        const auto* safe = std::get_if<event::CheckpointSafe>(&event);
        if (safe == nullptr || safe->steps % 4 != 0) return;
        const auto saved = LoadSavedJob(store, safe->steps);
        ASSERT_TRUE(saved.ok()) << saved.status().ToString();
        EXPECT_EQ(*saved->parameters, read[safe->steps].parameters) << safe->steps;
        EXPECT_EQ(*saved->optimizer_state, read[safe->steps].state) << safe->steps;
        EXPECT_EQ(saved->optimizer_steps, safe->steps);
        ++compared;
      };
      world.watcher.on_step = [&](StepId step) {
        // Held for three steps, so that values and states of other versions are made.
        if (step % 4 == 0) pieces.held = true;
        if (step % 4 == 3) pieces.LetGo();
      };
      world.StartServer();
      world.StartWorkers();
      ExpectSerialParameters(world, world.Run());
      EXPECT_EQ(compared, 4) << "the end of the job gives up the reading of step 20";
    }
  }
}

TEST_F(BesideSteps, ACheckpointIsGivenUpWithItsOwner) {
  pieces_.held = true;
  world_.watcher.on_step = [&](StepId step) {
    if (step != 6 || !pieces_.held) return;
    world_.Kill(*world_.workers[1]);
    pieces_.LetGo();
  };
  Start();
  ExpectSerialParameters(world_, world_.Run());
  const auto failed = Failed();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].step, 4u);
  EXPECT_THAT(failed[0].why.ToString(), HasSubstr("worker 1 was lost before its part of it"));
  EXPECT_EQ(failed[0].next, notice::CheckpointFailed::Next::kLater);
  EXPECT_EQ(safe_, (std::vector<uint64_t>{8, 12, 16, 20, 22}));
}

// Owners are lost at all moments of a reading.
TEST_F(BesideSteps, NoCheckpointIsTornByLosses) {
  int given_up = 0;
  for (int turns = 0; turns < 60; ++turns) {
    SCOPED_TRACE(turns);
    JobOptions options = Options();
    options.workers = 4;
    options.read_every_version = true;
    JobWorld world(options);
    SimStore store(1);
    const auto disk = MakeSimDisk(world.loop, store, {.per_piece = Duration(1)});
    world.disk = disk.get();
    std::map<uint64_t, SavedState> read;
    std::vector<uint64_t> safe;
    world.watcher.on_event = [&](const JobEvent& event) {
      if (const auto* applied = std::get_if<event::StepApplied>(&event)) {
        read[applied->step + 1] = {{applied->parameters.begin(), applied->parameters.end()},
                                   {applied->state.begin(), applied->state.end()}};
      }
      const auto* written = std::get_if<event::CheckpointSafe>(&event);
      if (written == nullptr) return;
      safe.push_back(written->steps);
      const auto saved = LoadSavedJob(store, written->steps);
      ASSERT_TRUE(saved.ok()) << saved.status().ToString();
      EXPECT_EQ(*saved->parameters, read[written->steps].parameters) << written->steps;
      if (written->steps % 4 == 0) {
        EXPECT_EQ(*saved->optimizer_state, read[written->steps].state) << written->steps;
      }
    };
    bool killed = false;
    std::function<void(int)> kill_after = [&](int left) {
      if (left == 0) return world.Kill(*world.workers[1]);
      world.loop.Post([&, left] { kill_after(left - 1); });
    };
    world.watcher.on_step = [&](StepId step) {
      if (step == 4 && !std::exchange(killed, true)) kill_after(turns);
    };
    world.StartServer();
    world.StartWorkers();
    ExpectSerialParameters(world, world.Run());
    EXPECT_EQ(safe.back(), 22u);
    given_up += static_cast<int>(Only<notice::CheckpointFailed>(world.watcher.notices).size());
  }
  EXPECT_GT(given_up, 0);
}

TEST_F(BesideSteps, OneThatIsDueMeanwhileIsLeftOut) {
  pieces_.held = true;
  world_.watcher.on_step = [&](StepId step) {
    if (step == 10) pieces_.LetGo();
  };
  Start();
  ExpectSerialParameters(world_, world_.Run());
  EXPECT_EQ(safe_, (std::vector<uint64_t>{4, 12, 16, 20, 22}));
  const auto skipped = Only<notice::CheckpointSkipped>(world_.watcher.notices);
  ASSERT_THAT(skipped, SizeIs(1));
  EXPECT_EQ(skipped[0].step, 8u);
}

// The last version is saved, also if it is the one that is being read.
TEST_F(BesideSteps, AJobThatIsStoppedSavesItsLastVersion) {
  pieces_.held = true;
  world_.watcher.on_step = [&](StepId step) {
    if (step == 6) world_.server->Stop("enough");
  };
  Start();
  const JobResult& end = world_.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(end.checkpoint_step, end.steps);
  EXPECT_EQ(end.checkpoint_failures, 0u);
  EXPECT_EQ(safe_, (std::vector<uint64_t>{end.steps}));
  EXPECT_EQ(saved_[end.steps].parameters, *end.parameters);
}

TEST_F(BesideSteps, AVersionThatIsReadMayBeTheLast) {
  pieces_.held = true;
  world_.watcher.on_event = [&](const JobEvent& event) {
    if (const auto* safe = std::get_if<event::CheckpointSafe>(&event)) safe_.push_back(safe->steps);
  };
  world_.watcher.on_step = [&](StepId step) {
    if (step == 4) world_.server->Stop("enough");
  };
  Start();
  const JobResult& end = world_.Run();
  EXPECT_EQ(end.steps, 4u);
  EXPECT_EQ(end.checkpoint_step, 4u);
  EXPECT_EQ(safe_, (std::vector<uint64_t>{4}));
}

// Nobody can go on from the last version, so the one that is being read is saved.
TEST_F(BesideSteps, AJobThatDivergedSavesWhatWasBeingRead) {
  pieces_.held = true;
  world_.options.optimizer.name = "momentum";
  world_.watcher.on_update = [&](StepId step) {
    if (step == 5) world_.server->Follow({.learning_rate = 1e300});
  };
  Start();
  ASSERT_TRUE(world_.RunUntil([&] {
    return !Only<notice::CheckpointSlow>(world_.watcher.notices).empty();
  })) << "the end waits for it";
  EXPECT_TRUE(safe_.empty());
  pieces_.LetGo();
  const JobResult& end = world_.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kDataError) << end.status.ToString();
  EXPECT_EQ(safe_, (std::vector<uint64_t>{4}));
}

}  // namespace
}  // namespace motley
