// SPDX-License-Identifier: Apache-2.0
// One gradient, summed by several devices at a time: each takes pieces of the work as it becomes
// free and adds them into a vector of its own; those are added in the order of the devices. What a
// device with memory of its own sums is taken off it once, after its last piece: for that, one
// device alone may be all there is, which then adds to the gradient itself. Loop thread.
//
// A device's vector counts whole or not at all: what one that fails had taken goes back to the
// others; so does what one has that is far behind its usual speed when the others are done. It gets
// no more work until that piece is back, which then counts for nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/loop/loop.h"
#include "devices/device.h"
#include "profiles/speed_estimator.h"
#include "training/trainers/shared_work.h"
#include "training/trainers/term_work.h"
#include "training/trainers/trainer.h"

namespace motley {

class SharedSum;

// A piece that is on a device, and how it ended: whether it was its samples that failed is known on
// the device's thread.
struct DealtPiece {
  DealtPiece(const SharedWork::Piece& the_piece, Time start) : piece(the_piece), began(start) {}
  const SharedWork::Piece piece;
  const Time began;
  std::atomic<bool> samples_failed = false;
  // What can only go on when the piece is back. It is the piece that keeps it, which the device
  // has, so that nothing is left when the device goes.
  std::shared_ptr<SharedSum> waiting = {};
};

// What a device has summed of a gradient.
struct PartSum {
  std::vector<float> values;
  Tally tally;
};

// A device of several and what is known of it.
struct CrewPart {
  Device* device = nullptr;
  std::shared_ptr<TermWorker> worker;
  std::shared_ptr<PartSum> sum = std::make_shared<PartSum>();
  SpeedEstimator speed = SpeedEstimator();
  bool measuring = false;                // Its speed, for the first time: others begin without it.
  bool lost = false;                     // It failed, and gets no work any more.
  bool late = false;                     // The others do what it had; a piece is still on it.
  std::weak_ptr<DealtPiece> dealt = {};  // The newest.
  // Gradients since it had a part in one, being too slow, and after how many it is tried again.
  static constexpr uint32_t kPatience = 32;
  uint32_t idle = 0;
  uint32_t patience = kPatience;
  // That a piece took, and less with every one after it.
  Duration longest{};

  // Of the gradient at hand.
  bool busy = false;
  Time due{};                            // When what it is busy with is late.
  bool open = false;                     // What it summed is still on it.
  std::vector<SharedWork::Piece> taken;  // In its vector, or on their way into it.
  uint64_t samples = 0;                  // Of those that are done,
  Duration spent{};                      // and how long they took.
};

// What is borrowed outlives all work.
struct Crew {
  Loop& loop;
  Device& host;  // Adds the vectors.
  const Model& model;
  std::vector<CrewPart> parts;
  DeviceLost lost_device;
  Status failure;                         // Of the device that failed last.
  std::weak_ptr<SharedSum> last = {};     // Gradient that was asked for.
  std::weak_ptr<SharedSum> running = {};  // The one at hand.
  const float* kept = nullptr;            // The sum that stays on the one device; null: none.

  size_t Live() const;  // Parts that are not lost.
  void Lose(CrewPart& part, const Status& why);
};

class SharedSum : public std::enable_shared_from_this<SharedSum> {
 public:
  // The work's terms; `done` keeps all that it refers to.
  SharedSum(std::shared_ptr<Crew> crew, GradientWork work, std::vector<MergedTerm> terms,
            std::shared_ptr<std::atomic<bool>> cancel, Trainer::Done done);

  ~SharedSum() { StopWatching(); }

  // Begins when those asked for before are done. Held by what is on the devices until then.
  static void Queue(const std::shared_ptr<SharedSum>& sum);

 private:
  void Start();
  void TryAgain(CrewPart& part);
  void Continue();
  void WaitForLate();
  void Deal();
  void Submit(CrewPart& part, const SharedWork::Piece& piece);
  // What a piece is, besides its terms.
  struct Moves {
    bool first = false;   // Its device's vector begins with it.
    bool opens = false;   // The sum on the device begins,
    bool closes = false;  // and ends.
  };
  Status Compute(TermWorker& worker, PartSum& own, std::span<const MergedTerm> terms,
                 const Moves& moves);  // On the device's thread.
  void OnPiece(CrewPart& part, const DealtPiece& end, const Status& status);
  // After so long a piece is late.
  static Duration Limit(const CrewPart& part, const SharedWork::Piece& piece);
  // A piece that the others have done meanwhile, of this gradient or one before.
  void OnLatePiece(CrewPart& part, const DealtPiece& end, const Status& status);
  // What the device has of this gradient counts for nothing.
  void Drop(CrewPart& part);
  // Looks at those that are still busy when others could do their work.
  void Watch();
  void Look();
  void StopWatching();
  void AddAll();
  void OnAdded(const Status& status);
  void Learn();
  void Finish(Status status);

  const std::shared_ptr<Crew> crew_;
  const StepId step_;
  const VersionedParameters parameters_;
  const std::span<float> sum_;
  const bool more_;       // It stays on the device,
  const bool continues_;  // and is there already.
  const Function<void(uint64_t)> progress_;
  const Function<void(size_t, size_t, const Tally&)> final_;
  const std::shared_ptr<std::atomic<bool>> cancel_;
  // Not let go of before the last device has: one that hangs may be using what it keeps.
  const Trainer::Done done_;
  SharedWork work_;
  Tally tally_;          // Of the gradient; not the loop thread's before all is summed.
  uint64_t summed_ = 0;  // Samples.
  Time started_{};
  Status failure_;       // Of what is no device's.
  TimerId timer_ = 0;    // Of Watch.
  bool adding_ = false;  // The devices are done.
  bool finished_ = false;
  std::shared_ptr<SharedSum> next_;
};

}  // namespace motley
