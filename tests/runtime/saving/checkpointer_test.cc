// SPDX-License-Identifier: Apache-2.0
// Tests when a job's state is saved, what is reported about it, and how the job's end waits, with a
// disk that does nothing by itself.
#include "runtime/saving/checkpointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "sim/world/sim_store.h"
#include "tests/scheduler/notices.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HandDisk final : public Disk {
 public:
  void Submit(Work work, Done done) override {
    waiting.emplace_back(std::move(work), std::move(done));
  }
  // Does the oldest work on "the disk's thread", without its `done`.
  void Work1() {
    status = waiting.front().first(store);
    waiting.front().first = nullptr;
  }
  void Finish() {
    const Done done = std::move(waiting.front().second);
    waiting.pop_front();
    done(status);
  }
  void Write() {
    Work1();
    Finish();
  }

  SimStore store{1};
  std::deque<std::pair<Work, Done>> waiting;
  Status status;
};

JobOptions Options() {
  JobOptions options;
  options.checkpoint.every = 10;
  options.checkpoint.code = {2, 1, ErasureTechnique::kVandermonde};
  options.checkpoint.run = 77;
  return options;
}

JobDescription About() {
  JobDescription about;
  about.model = {"linear", 2, 0};
  about.parameters = 3;
  about.samples = 4;
  about.batch = 2;
  return about;
}

struct Rig {
  Rig()
      : saver(loop, disk, Options(), About(),
              {[this](const SnapshotDone& done) {
                 if (taken_later) taking = done;
                 if (!taken_later) done(Snapshot());
               },
               [this] {
                 JobHistory history;
                 history.batch_loss.resize(version + not_applied, 0.5);
                 return history;
               },
               [this](uint64_t steps) { safe.push_back(steps); },
               [this](const JobNotice& notice) { notices.push_back(notice); }, [this] { ++idle; },
               [this] { return std::exchange(taking, nullptr) != nullptr; }}) {}

  Result<ModelSnapshot> Snapshot() {
    if (!refused.ok()) return refused;
    return ModelSnapshot{parameters, version, state};
  }
  void Reach(uint64_t reached) {
    version = reached;
    saver.OnVersion(reached);
  }
  void Pass(Duration time) { loop.RunUntilTime(loop.Now() + time); }

  VirtualLoop loop;
  HandDisk disk;
  std::shared_ptr<std::vector<float>> parameters = std::make_shared<std::vector<float>>(3, 1.0F);
  std::shared_ptr<std::vector<float>> state = std::make_shared<std::vector<float>>(3, 2.0F);
  uint64_t version = 0;
  uint64_t not_applied = 0;  // Steps that were decoded but could not be applied.
  Status refused;
  bool taken_later = false;  // Snapshots come when the test calls `taking`.
  SnapshotDone taking;
  std::vector<uint64_t> safe;
  std::vector<JobNotice> notices;
  int idle = 0;
  Checkpointer saver;  // Declared after what its hooks use.
};

TEST(Checkpointer, SavesAsManyLossesAsSteps) {
  for (const uint64_t not_applied : {0, 1}) {
    Rig rig;
    rig.not_applied = not_applied;
    rig.Reach(10);
    rig.disk.Write();
    const auto read = LoadSavedJob(rig.disk.store);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->step, 10U);
    EXPECT_EQ(read->about.history.batch_loss.size(), 10U) << not_applied;
  }
}

TEST(Checkpointer, SavesWhatIsDueOneAfterTheOther) {
  Rig rig;
  for (uint64_t version = 1; version <= 9; ++version) rig.Reach(version);
  EXPECT_THAT(rig.disk.waiting, IsEmpty());
  rig.Reach(10);
  rig.Reach(20);  // The disk still writes the previous version.
  rig.Reach(30);
  EXPECT_THAT(rig.disk.waiting, SizeIs(1));
  ASSERT_THAT(rig.notices, SizeIs(1));
  EXPECT_EQ(Only<notice::CheckpointSkipped>(rig.notices).at(0).step, 20U);
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(10));
  rig.Reach(40);
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(10, 40));
  EXPECT_EQ(rig.saver.written(), 2U);
  const auto read = LoadSavedJob(rig.disk.store);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->step, 40U);
  EXPECT_EQ(read->optimizer_steps, 40U);
  EXPECT_EQ(*read->optimizer_state, *rig.state);
}

// Where workers hold the vector, a version is taken beside steps.
TEST(Checkpointer, LeavesOutWhatIsDueWhileAVersionIsTaken) {
  Rig rig;
  rig.taken_later = true;
  rig.Reach(10);
  rig.Reach(20);
  EXPECT_EQ(Only<notice::CheckpointSkipped>(rig.notices).at(0).step, 20U);
  std::exchange(rig.taking, nullptr)(rig.Snapshot());
  EXPECT_EQ(rig.taking, nullptr) << "step 20 is not tried again";
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(10));
  rig.Reach(30);
  EXPECT_NE(rig.taking, nullptr);
}

TEST(Checkpointer, GoesOnAfterAVersionThatCouldNotBeTaken) {
  Rig rig;
  rig.taken_later = true;
  rig.Reach(10);
  std::exchange(rig.taking, nullptr)(Status::Unavailable("worker 1 was lost"));
  const auto failed = Only<notice::CheckpointFailed>(rig.notices);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0].why.ToString(), HasSubstr("worker 1 was lost"));
  EXPECT_EQ(failed[0].next, notice::CheckpointFailed::Next::kLater);
  rig.taken_later = false;
  rig.Reach(20);
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(20));
  EXPECT_THAT(Only<notice::CheckpointsAgain>(rig.notices), SizeIs(1));
}

// The last version takes the place of one that is still taken, even if it is the same one.
TEST(Checkpointer, StopsTakingForTheLastVersion) {
  for (const uint64_t last : {10, 15}) {
    Rig rig;
    rig.taken_later = true;
    rig.Reach(10);
    rig.saver.StopTaking();
    EXPECT_EQ(rig.taking, nullptr);
    rig.taken_later = false;
    rig.version = last;
    EXPECT_FALSE(rig.saver.SaveLast(last));
    rig.saver.StopTaking();
    rig.disk.Write();
    EXPECT_TRUE(rig.saver.SaveLast(last));
    EXPECT_THAT(rig.safe, ElementsAre(last));
    EXPECT_EQ(rig.saver.failures(), 0U);
  }
}

// What fails before the last version was to be saved is not the end.
TEST(Checkpointer, WaitsForOthersBeforeTheLastVersionComes) {
  Rig rig;
  rig.Reach(10);
  EXPECT_FALSE(rig.saver.ReadyForLast(15));
  rig.disk.store.faults.unwritable = "node-";
  rig.disk.Write();
  const auto failed = Only<notice::CheckpointFailed>(rig.notices);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].next, notice::CheckpointFailed::Next::kLast);
  rig.disk.store.faults.unwritable = "";
  EXPECT_TRUE(rig.saver.ReadyForLast(15));
  rig.version = 15;
  EXPECT_FALSE(rig.saver.SaveLast(15));
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(15));
}

// The disk's thread may still have reads of the snapshot in flight, so only the loop frees it.
TEST(Checkpointer, LetsTheSnapshotGoOnTheLoopAlone) {
  Rig rig;
  rig.Reach(10);
  EXPECT_GT(rig.state.use_count(), 1);
  rig.disk.Work1();
  EXPECT_EQ(rig.parameters.use_count(), 2) << "the disk has let go, the loop must not have";
  EXPECT_EQ(rig.state.use_count(), 2);
  rig.disk.Finish();
  EXPECT_EQ(rig.parameters.use_count(), 1);
  EXPECT_EQ(rig.state.use_count(), 1);
}

TEST(Checkpointer, TellsAFailureOnceAndTriesAgain) {
  Rig rig;
  rig.disk.store.faults.capacity = 100;
  for (const uint64_t version : {10, 20}) {
    rig.Reach(version);
    rig.disk.Write();
  }
  EXPECT_EQ(rig.saver.failures(), 2U);
  ASSERT_THAT(rig.notices, SizeIs(1));
  const auto failed = Only<notice::CheckpointFailed>(rig.notices).at(0);
  EXPECT_EQ(failed.step, 10U);
  EXPECT_EQ(failed.next, notice::CheckpointFailed::Next::kLater);
  EXPECT_EQ(failed.safe_step, 0U);
  rig.disk.store.faults.capacity.reset();
  rig.Reach(30);
  rig.disk.Write();
  EXPECT_THAT(rig.notices, SizeIs(2));
  EXPECT_EQ(Only<notice::CheckpointsAgain>(rig.notices).at(0).step, 30U);
  EXPECT_THAT(rig.safe, ElementsAre(30));
}

TEST(Checkpointer, TellsOnceWhatIsLeftOutAndWhenItIsWholeAgain) {
  Rig rig;
  rig.disk.store.faults.unwritable = "node-01";
  for (const uint64_t version : {10, 20}) {
    rig.Reach(version);
    rig.disk.Write();
  }
  EXPECT_THAT(rig.safe, ElementsAre(10, 20));
  EXPECT_EQ(rig.saver.failures(), 0U);
  ASSERT_THAT(rig.notices, SizeIs(1));
  const auto degraded = Only<notice::CheckpointDegraded>(rig.notices).at(0);
  EXPECT_EQ(degraded.step, 10U);
  EXPECT_EQ(degraded.survives, 0U);
  ASSERT_THAT(degraded.left_out, SizeIs(1));
  EXPECT_EQ(degraded.left_out[0].folder, "disk:/node-01");
  EXPECT_THAT(degraded.left_out[0].why.ToString(), HasSubstr("simulated input/output error"));
  ASSERT_TRUE(rig.saver.weakness());
  EXPECT_EQ(rig.saver.weakness()->step, 20U);
  rig.disk.store.faults.unwritable = "";
  rig.Reach(30);
  rig.disk.Write();
  EXPECT_THAT(rig.notices, SizeIs(2));
  EXPECT_EQ(Only<notice::CheckpointsWhole>(rig.notices).at(0).step, 30U);
  EXPECT_FALSE(rig.saver.weakness());
}

TEST(Checkpointer, TellsOnceThatItsFolderCannotBeLocked) {
  Rig rig;
  rig.disk.store.faults.locks_nothing = true;
  for (const uint64_t version : {10, 20}) {
    rig.Reach(version);
    rig.disk.Write();
    ASSERT_THAT(rig.notices, SizeIs(1)) << version;
    EXPECT_EQ(Only<notice::CheckpointUnlocked>(rig.notices).at(0).folder, "disk:/");
  }
  EXPECT_THAT(rig.safe, ElementsAre(10, 20));
}

TEST(Checkpointer, TheEndWaitsAsLongAsTheDiskTakesAndSaysSo) {
  Rig rig;
  rig.Reach(10);
  rig.disk.Write();
  rig.version = 15;
  EXPECT_FALSE(rig.saver.SaveLast(15));
  rig.Pass(std::chrono::seconds(29));
  EXPECT_THAT(rig.notices, IsEmpty());
  rig.Pass(std::chrono::seconds(62));
  EXPECT_THAT(rig.notices, SizeIs(3)) << "at 30, 60 and 90 s";
  const auto slow = Only<notice::CheckpointSlow>(rig.notices).at(2);
  EXPECT_EQ(slow.step, 15U);
  EXPECT_EQ(slow.waited, std::chrono::seconds(90));
  EXPECT_EQ(slow.safe_step, 10U);
  EXPECT_FALSE(rig.saver.SaveLast(15));
  rig.disk.Write();
  EXPECT_TRUE(rig.saver.SaveLast(15));
  EXPECT_THAT(rig.safe, ElementsAre(10, 15));
  EXPECT_EQ(rig.saver.safe_step(), 15U);
  EXPECT_EQ(rig.saver.failures(), 0U);
  rig.Pass(std::chrono::minutes(5));
  EXPECT_THAT(rig.notices, SizeIs(3)) << "nothing is waited for any more";
}

TEST(Checkpointer, TheLastOneThatFailsSaysThatTheJobEndsWithoutIt) {
  Rig rig;
  rig.disk.store.faults.capacity = 100;
  rig.Reach(10);
  EXPECT_FALSE(rig.saver.SaveLast(15)) << "the one of step 10 is being written";
  rig.disk.Write();
  using Next = notice::CheckpointFailed::Next;
  ASSERT_THAT(rig.notices, SizeIs(1));
  EXPECT_EQ(Only<notice::CheckpointFailed>(rig.notices).at(0).next, Next::kLast);
  rig.version = 15;
  EXPECT_FALSE(rig.saver.SaveLast(15));
  rig.disk.Write();
  EXPECT_TRUE(rig.saver.SaveLast(15));
  ASSERT_THAT(rig.notices, SizeIs(2)) << "told again: nothing follows";
  EXPECT_EQ(Only<notice::CheckpointFailed>(rig.notices).at(1).next, Next::kNone);
  EXPECT_THAT(rig.safe, IsEmpty());
}

TEST(Checkpointer, WhoseSnapshotIsRefusedAtTheEndIsIdleAtOnce) {
  Rig rig;
  rig.refused = Status::Resource("no memory");
  rig.version = 5;
  EXPECT_FALSE(rig.saver.SaveLast(5));
  EXPECT_EQ(rig.idle, 1);
  EXPECT_TRUE(rig.saver.SaveLast(5));
  EXPECT_EQ(rig.saver.failures(), 1U);
}

TEST(Checkpointer, SettlesWithoutSavingAnything) {
  Rig rig;
  EXPECT_TRUE(rig.saver.Settle());
  rig.Reach(10);
  EXPECT_FALSE(rig.saver.Settle());
  rig.disk.Write();
  EXPECT_TRUE(rig.saver.Settle());
  EXPECT_THAT(rig.safe, ElementsAre(10));
  EXPECT_THAT(rig.disk.waiting, IsEmpty());
}

// Adam's second moment may overflow long before a parameter does.
TEST(Checkpointer, StateThatIsNotFiniteIsNeverCalledSafe) {
  Rig rig;
  rig.Reach(10);
  rig.disk.Write();
  (*rig.state)[1] = std::numeric_limits<float>::infinity();
  rig.Reach(20);
  rig.disk.Write();
  EXPECT_THAT(rig.safe, ElementsAre(10));
  ASSERT_THAT(rig.notices, SizeIs(1));
  EXPECT_THAT(Only<notice::CheckpointFailed>(rig.notices).at(0).why.ToString(),
              HasSubstr("no longer finite"));
  EXPECT_EQ(LoadSavedJob(rig.disk.store)->step, 10U);
}

TEST(Checkpointer, MayGoWhileTheDiskIsAtWork) {
  auto rig = std::make_unique<Rig>();
  rig->Reach(10);
  auto [work, done] = std::move(rig->disk.waiting.front());
  SimStore store(2);
  rig.reset();
  const Status written = work(store);
  EXPECT_TRUE(written.ok()) << written.ToString();
  done(written);
  EXPECT_EQ(LoadSavedJob(store)->step, 10U);
}

}  // namespace
}  // namespace motley
