// SPDX-License-Identifier: Apache-2.0
// One gradient that several devices sum at the same time. Each device takes pieces of the work as
// it becomes free and adds them into a vector of its own. These vectors are added in the order of
// the devices. A device with memory of its own copies its sum back once, after its last piece. A
// single device may add to the gradient directly. Loop thread.
//
// A device's vector counts whole or not at all. When a device fails, the pieces that it had taken
// go back to the others. The same happens when a device is far behind its usual speed while the
// others are done. It then gets no more work until its current piece ends, and that piece is not
// counted.
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

// A piece on a device, and its result. Only the device's thread knows whether its samples failed.
struct DealtPiece {
  DealtPiece(const SharedWork::Piece& the_piece, Time start) : piece(the_piece), began(start) {}
  const SharedWork::Piece piece;
  const Time began;
  std::atomic<bool> samples_failed = false;
  // The sum that can only continue when this piece ends. The piece holds it, so nothing is left
  // over when the device goes away.
  std::shared_ptr<SharedSum> waiting = {};
};

// A device's sum of a gradient.
struct PartSum {
  std::vector<float> values;
  Tally tally;
};

// One of the devices and its state.
struct CrewPart {
  Device* device = nullptr;
  std::shared_ptr<TermWorker> worker;
  std::shared_ptr<PartSum> sum = std::make_shared<PartSum>();
  SpeedEstimator speed = SpeedEstimator();
  // Its speed is being measured for the first time; others begin without it.
  bool measuring = false;
  bool lost = false;                     // It failed and gets no more work.
  bool late = false;                     // The others compute its pieces; one is still on it.
  std::weak_ptr<DealtPiece> dealt = {};  // The newest piece.
  // For a device that is too slow: gradients since it last took part, and after how many it is
  // tried again.
  static constexpr uint32_t kFirstRetryAfter = 32;
  uint32_t idle = 0;
  uint32_t retry_after = kFirstRetryAfter;
  // The longest recent time of a piece; it decays with every piece.
  Duration longest{};

  // The following describe the current gradient.
  bool busy = false;
  Time due{};                            // When its current piece is late.
  bool open = false;                     // Its sum is still on the device.
  std::vector<SharedWork::Piece> taken;  // Pieces in its vector, or on their way into it.
  uint64_t samples = 0;                  // Samples of finished pieces.
  Duration spent{};                      // Time that these took.
};

// The devices of a trainer. Borrowed objects outlive all work.
struct Crew {
  Loop& loop;
  Device& host;  // Adds the vectors.
  const Model& model;
  std::vector<CrewPart> parts;
  DeviceLost lost_device;
  Status failure;                         // Failure of the device that failed last.
  std::weak_ptr<SharedSum> last = {};     // The newest gradient.
  std::weak_ptr<SharedSum> running = {};  // The current gradient.
  const float* kept = nullptr;            // The sum that stays on the single device; null: none.

  size_t Live() const;  // Devices that are not lost.
  void Lose(CrewPart& part, const Status& why);
};

class SharedSum : public std::enable_shared_from_this<SharedSum> {
 public:
  // `terms` are those of the work; `done` keeps everything alive that the work refers to.
  SharedSum(std::shared_ptr<Crew> crew, GradientWork work, std::vector<MergedTerm> terms,
            std::shared_ptr<std::atomic<bool>> cancel, Trainer::Done done);

  ~SharedSum() { StopWatching(); }

  // Begins the sum when earlier ones are done. Work on the devices keeps it alive.
  static void Queue(const std::shared_ptr<SharedSum>& sum);

 private:
  void Start();
  void TryAgain(CrewPart& part);
  void Continue();
  void WaitForLate();
  void Deal();
  void Submit(CrewPart& part, const SharedWork::Piece& piece);
  // Position of a piece in its device's vector.
  struct Moves {
    bool first = false;   // The device's vector begins with it.
    bool opens = false;   // The sum on the device begins with it.
    bool closes = false;  // The sum on the device ends with it.
  };
  Status Compute(TermWorker& worker, PartSum& own, std::span<const MergedTerm> terms,
                 const Moves& moves);  // Runs on the device's thread.
  void OnPiece(CrewPart& part, const DealtPiece& end, const Status& status);
  // Time after which a piece is late.
  static Duration Limit(const CrewPart& part, const SharedWork::Piece& piece);
  // Ends a late piece that others have computed meanwhile, of this gradient or an earlier one.
  void OnLatePiece(CrewPart& part, const DealtPiece& end, const Status& status);
  // Discards the device's vector of this gradient.
  void Drop(CrewPart& part);
  // Checks devices that are still busy while others could do their work.
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
  const bool more_;       // The sum stays on the device afterwards.
  const bool continues_;  // The sum is on the device already.
  const Function<void(uint64_t)> progress_;
  const Function<void(size_t, size_t, const Tally&)> final_;
  const std::shared_ptr<std::atomic<bool>> cancel_;
  // Released after the last device ends: one that hangs may still use what it keeps alive.
  const Trainer::Done done_;
  SharedWork work_;
  Tally tally_;  // Tally of the gradient; not for the loop thread before everything is summed.
  uint64_t summed_ = 0;  // Samples summed.
  Time started_{};
  Status failure_;       // A failure that is not a device's.
  TimerId timer_ = 0;    // Timer of Watch.
  bool adding_ = false;  // All pieces are done and vectors are being added.
  bool finished_ = false;
  std::shared_ptr<SharedSum> next_;
};

}  // namespace motley
