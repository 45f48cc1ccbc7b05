// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpointer.h"

#include <fmt/format.h>

#include <utility>

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
  if (!writing_) return Begin(version);
  if (std::exchange(told_skip_, true)) return;
  hooks_.notice(fmt::format(
      "the checkpoint of step {} is left out: the one before it is still being written. Steps are "
      "faster than the disk; a larger `checkpoint_every` would skip none",
      version));
}

bool Checkpointer::SaveLast(uint64_t version) {
  if (gave_up_) return true;
  if (!writing_ && tried_ == version) return true;
  if (patience_ == 0) {
    patience_ = loop_.After(kLastWithin, [this] {
      gave_up_ = true;
      ++failures_;
      hooks_.notice(
          fmt::format("the last checkpoint was not written within {:.0f} s; the newest "
                      "safe one has {} steps",
                      ToSeconds(kLastWithin), safe_step_));
      hooks_.idle();
    });
  }
  if (!writing_) Begin(version);
  return false;
}

void Checkpointer::Begin(uint64_t version) {
  writing_ = true;
  tried_ = version;
  JobHistory history = hooks_.history();
  // A last step that was decoded but could not be applied is none of this version's.
  history.batch_loss.resize(version - history.first_loss);
  hooks_.take(
      [this, version, history = std::move(history)](const Result<ModelSnapshot>& snapshot) mutable {
        if (!snapshot.ok()) return OnWritten(version, snapshot.status());
        Write(version, *snapshot, std::move(history));
      });
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
  auto work = [state = std::move(state), about = std::move(about),
               code = options_.code](Store& store) {
    return OrNoMemory("a checkpoint", [&]() -> Status {
      CheckpointState whole = state;
      whole.description = ToJson(about);
      return WriteCheckpoint(store, code, whole);
    });
  };
  disk_.Submit(std::move(work),
               alive_.Guard([this, version](const Status& status) { OnWritten(version, status); }));
}

void Checkpointer::OnWritten(uint64_t version, const Status& status) {
  writing_ = false;
  if (status.ok()) {
    ++written_;
    safe_step_ = version;
    if (std::exchange(failing_, false)) {
      hooks_.notice(
          fmt::format("checkpoints can be written again: that of step {} is safe", version));
    }
    hooks_.safe(version);
  } else {
    ++failures_;
    if (!std::exchange(failing_, true)) {
      hooks_.notice(fmt::format(
          "the checkpoint of step {} was not written: {}. Training goes on, the newest safe "
          "checkpoint has {} steps, and the next is tried in its turn",
          version, status.ToString(), safe_step_));
    }
  }
  hooks_.idle();
}

}  // namespace motley
