// SPDX-License-Identifier: Apache-2.0
// What any thread may ask of a running server (motley_job_allow_steps, _finish, _set_rate,
// _copy_parameters). The mutex guards the wishes, and that the loop is there while a task is posted
// to it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/shard/newest_version.h"

namespace motley {

// kInvalidArgument unless there is room for exactly all parameters.
Status CheckRoom(size_t room, size_t parameters);

class JobControl {
 public:
  JobControl() = default;
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // Before the job starts: it pauses after so many steps.
  void SetGate(uint64_t steps);

  // Before the job starts: it has so many groups of parameters.
  void SetGroups(size_t groups);

  // --- Any thread ---
  // The number never goes down. kConflict: no gate was set.
  Status AllowSteps(uint64_t steps);
  // Both return kInvalidArgument for numbers that are no rates, and kConflict if the job has groups
  // or, for their rates, has none.
  Status SetRate(double learning_rate);
  // `rates` has those of `updates` updates from number `first` on.
  Status SetGroupRates(StepId first, const double* rates, uint64_t updates);
  void Finish();
  Guidance guidance() const;
  // Copies the newest version, and returns its number. kUnavailable: there is none here.
  // kInvalidArgument: it has another number of parameters.
  Result<uint64_t> CopyNewest(std::span<float> parameters);
  // Where the server keeps its newest version.
  const std::shared_ptr<NewestVersion>& newest() const { return newest_; }

  // --- Loop thread ---
  // Until Leave, `changed` runs on the loop after each change.
  void Attach(Loop& loop, std::function<void()> changed);
  void Leave();

 private:
  size_t groups() const;
  void Change(const std::function<void(Guidance&)>& change);

  mutable std::mutex mutex_;
  Guidance guidance_;
  size_t groups_ = 0;
  Loop* loop_ = nullptr;           // Null: no server is running.
  std::function<void()> changed_;  // Loop thread only.
  const std::shared_ptr<NewestVersion> newest_ = std::make_shared<NewestVersion>();
};

}  // namespace motley
