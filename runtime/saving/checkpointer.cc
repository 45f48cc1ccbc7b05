// SPDX-License-Identifier: Apache-2.0
#include "runtime/saving/checkpointer.h"

#include <cmath>
#include <utility>

#include "coding/kernels/combine.h"
#include "runtime/memory_need.h"

namespace motley {

Checkpointer::Checkpointer(Loop& loop, Disk& disk, const JobOptions& options, JobDescription about,
                           Hooks hooks)
    : loop_(loop),
      disk_(disk),
      options_(options.checkpoint),
      seed_(options.seed),
      about_(std::move(about)),
      hooks_(std::move(hooks)),
      tried_(options.resume != nullptr ? options.resume->step : 0),
      safe_step_(tried_) {}

void Checkpointer::OnVersion(uint64_t version) {
  if (version % options_.every != 0) return;
  if (doing_ == Doing::kNothing) return Begin(version);
  if (std::exchange(told_skip_, true)) return;
  hooks_.notice(notice::CheckpointSkipped{version});
}

void Checkpointer::StopTaking() {
  if (doing_ != Doing::kTaking || !hooks_.stop_taking()) return;
  doing_ = Doing::kNothing;
  tried_ = safe_step_;
}

bool Checkpointer::ReadyForLast(uint64_t version) {
  ended_ = true;
  last_ = version;
  return Wait();
}

bool Checkpointer::SaveLast(uint64_t version) {
  ended_ = true;
  last_ = version;
  if (doing_ != Doing::kNothing || tried_ == version) return Wait();
  Begin(version);
  Wait();
  return false;  // `idle` has run already if the write ended at once.
}

bool Checkpointer::Settle() {
  ended_ = true;
  return Wait();
}

bool Checkpointer::Wait() {
  const bool busy = doing_ != Doing::kNothing;
  if (busy && patience_ == 0) patience_ = loop_.After(kPatience, [this] { OnImpatient(); });
  return !busy;
}

void Checkpointer::OnImpatient() {
  waited_ += kPatience;
  patience_ = 0;
  Wait();
  hooks_.notice(notice::CheckpointSlow{tried_, waited_, safe_step_});
}

void Checkpointer::Begin(uint64_t version) {
  doing_ = Doing::kTaking;
  tried_ = version;
  const Status begun = OrNoMemory("a checkpoint", [this, version] {
    JobHistory history = hooks_.history();
    // A last step that was decoded but could not be applied does not belong to this version.
    history.batch_loss.resize(version - history.first_loss);
    hooks_.take([this, version,
                 history = std::move(history)](const Result<ModelSnapshot>& snapshot) mutable {
      doing_ = Doing::kWriting;
      const Status going = !snapshot.ok() ? snapshot.status() : OrNoMemory("a checkpoint", [&] {
        Write(version, *snapshot, std::move(history));
        return Status::Ok();
      });
      if (!going.ok()) OnWritten(version, going, {});
    });
    return Status::Ok();
  });
  if (!begun.ok()) OnWritten(version, begun, {});
}

void Checkpointer::Write(uint64_t version, const ModelSnapshot& snapshot, JobHistory history) {
  CheckpointState state;
  state.job = options_.run;
  state.step = version;
  state.seed = seed_;
  state.parameters = snapshot.parameters;
  state.optimizer_steps = snapshot.optimizer_steps;
  state.optimizer_state = snapshot.optimizer_state;
  JobDescription about = about_;
  about.history = std::move(history);
  about.validation = snapshot.validation;
  const auto best = snapshot.validation.best;
  about.best_follows = best != nullptr;
  const auto written = std::make_shared<WrittenCheckpoint>();
  auto work = [state = std::move(state), about = std::move(about), code = options_.code, best,
               written](Store& store) {
    return OrNoMemory("a checkpoint", [&]() -> Status {
      if (!std::isfinite(SumOfSquares(*state.optimizer_state))) {
        return Status::DataError(
            "the optimizer's state is no longer finite, so nobody could go on from it: lower "
            "`learning_rate`");
      }
      CheckpointState whole = state;
      whole.description = ToJson(about);
      if (best != nullptr) {
        auto both = std::make_shared<std::vector<float>>(*state.optimizer_state);
        both->insert(both->end(), best->begin(), best->end());
        whole.optimizer_state = std::move(both);
      }
      return WriteCheckpoint(store, code, whole, {}, written.get());
    });
  };
  // The snapshot is released here, after the disk's thread released it, so nobody reads reused
  // memory.
  disk_.Submit(std::move(work),
               alive_.Guard([this, version, snapshot, written](const Status& status) {
                 for (const std::string& note : written->notes) {
                   hooks_.notice(notice::CheckpointNote{note});
                 }
                 TellUnlocked(written->unlocked);
                 OnWritten(version, status, *written);
               }));
}

void Checkpointer::TellUnlocked(const std::string& folder) {
  if (folder.empty() || std::exchange(told_unlocked_, true)) return;
  hooks_.notice(notice::CheckpointUnlocked{folder});
}

void Checkpointer::OnWritten(uint64_t version, const Status& status,
                             const WrittenCheckpoint& written) {
  doing_ = Doing::kNothing;
  loop_.Cancel(std::exchange(patience_, 0));
  if (status.ok()) {
    ++written_;
    last_failure_ = Status::Ok();
    safe_step_ = version;
    if (std::exchange(failing_, false)) {
      hooks_.notice(notice::CheckpointsAgain{version});
    }
    TellStrength(version, written);
    hooks_.safe(version);
  } else {
    OnFailed(version, status);
  }
  hooks_.idle();
}

void Checkpointer::TellStrength(uint64_t version, const WrittenCheckpoint& written) {
  std::vector<uint32_t> left_out;
  notice::CheckpointDegraded degraded{version, written.survives, {}};
  for (const LeftOutShard& each : written.left_out) {
    left_out.push_back(each.shard);
    degraded.left_out.push_back({each.folder, each.why});
  }
  weakness_.reset();
  if (!left_out.empty()) weakness_ = std::move(degraded);
  if (std::exchange(left_out_, left_out) == left_out) return;
  if (weakness_) return hooks_.notice(*weakness_);
  hooks_.notice(notice::CheckpointsWhole{version});
}

void Checkpointer::OnFailed(uint64_t version, const Status& why) {
  ++failures_;
  last_failure_ = why;
  const bool more = !ended_ || (last_ && *last_ != version);
  if (std::exchange(failing_, true) && more) return;
  using Next = notice::CheckpointFailed::Next;
  const Next next = !more ? Next::kNone : ended_ ? Next::kLast : Next::kLater;
  hooks_.notice(notice::CheckpointFailed{version, why, next, safe_step_});
}

}  // namespace motley
