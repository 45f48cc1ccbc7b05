// SPDX-License-Identifier: Apache-2.0
// One gradient, summed by several devices at a time: each takes pieces of the work as it becomes
// free and adds them into a vector of its own; those are added in the order of the devices. What a
// device with memory of its own sums is taken off it once, after its last piece: for that, one
// device alone may be all there is, which then adds to the gradient itself. Loop thread.
//
// A device's vector counts whole or not at all: what one that fails had taken goes back to the
// others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "devices/device.h"
#include "profiles/speed_estimator.h"
#include "training/shared_work.h"
#include "training/term_work.h"
#include "training/trainer.h"

namespace motley {

class SharedSum;

// A device of several and what is known of it.
struct CrewPart {
  Device* device = nullptr;
  std::shared_ptr<TermWorker> worker;
  std::shared_ptr<std::vector<float>> sum = std::make_shared<std::vector<float>>();
  SpeedEstimator speed = SpeedEstimator();
  bool measuring = false;  // Its speed, for the first time: others begin without it.
  bool lost = false;       // It failed, and gets no work any more.
  // Gradients since it had a part in one, being too slow, and after how many it is tried again.
  static constexpr uint32_t kPatience = 32;
  uint32_t idle = 0;
  uint32_t patience = kPatience;

  // Of the gradient at hand.
  bool busy = false;
  bool open = false;                     // What it summed is still on it.
  std::vector<SharedWork::Piece> taken;  // In its vector, or on their way into it.
  uint64_t samples = 0;                  // Of those that are done,
  Duration spent{};                      // and how long they took.
};

// What is borrowed outlives all work.
struct Crew {
  Loop& loop;
  Device& host;  // Adds the vectors.
  std::vector<CrewPart> parts;
  DeviceLost lost_device;
  Status failure;                 // Of the device that failed last.
  std::weak_ptr<SharedSum> last;  // Gradient that was asked for.

  size_t Live() const;  // Parts that are not lost.
  void Lose(CrewPart& part, const Status& why);
};

class SharedSum : public std::enable_shared_from_this<SharedSum> {
 public:
  // The work's terms, of the step's epoch; `done` keeps all that it refers to.
  SharedSum(std::shared_ptr<Crew> crew, const GradientWork& work, uint64_t epoch,
            std::vector<MergedTerm> terms, std::shared_ptr<std::atomic<bool>> cancel,
            Trainer::Done done);

  // Begins when those asked for before are done. Held by what is on the devices until then.
  static void Queue(const std::shared_ptr<SharedSum>& sum);

 private:
  void Start();
  void TryAgain(CrewPart& part);
  void Continue();
  void Deal();
  void Submit(CrewPart& part, const SharedWork::Piece& piece);
  // What a piece is, besides its terms.
  struct Moves {
    bool first = false;   // Its device's vector begins with it.
    bool opens = false;   // The sum on the device begins,
    bool closes = false;  // and ends.
  };
  Status Compute(TermWorker& worker, std::vector<float>& own, std::span<const MergedTerm> terms,
                 const Moves& moves) const;  // On the device's thread.
  void OnPiece(CrewPart& part, const SharedWork::Piece& piece, Time began, const Status& status);
  void AddAll();
  void End(const Status& status);
  void Learn();
  void Finish(Status status);

  const std::shared_ptr<Crew> crew_;
  const uint64_t epoch_;
  const VersionedParameters parameters_;
  const std::span<float> sum_;
  const std::function<void(uint64_t)> progress_;
  const std::shared_ptr<std::atomic<bool>> cancel_;
  // Not let go of before the last device has: one that hangs may be using what it keeps.
  const Trainer::Done done_;
  SharedWork work_;
  uint64_t summed_ = 0;  // Samples.
  Time started_{};
  bool finished_ = false;
  std::shared_ptr<SharedSum> next_;
};

}  // namespace motley
