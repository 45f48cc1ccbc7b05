// SPDX-License-Identifier: Apache-2.0
#include "api/loop/job_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "training/optimizers/optimizer_rule.h"

namespace motley {

Status CheckRoom(size_t room, size_t parameters) {
  if (room == parameters) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("room for {} parameters, of which there are {}", room, parameters));
}

void JobControl::Change(const std::function<void(Guidance&)>& change) {
  const std::lock_guard lock(mutex_);
  change(guidance_);
  if (loop_ == nullptr) return;
  loop_->Post([this] {
    if (changed_) changed_();
  });
}

void JobControl::SetGate(uint64_t steps) {
  Change([steps](Guidance& guidance) { guidance.allowed_steps = steps; });
}

Status JobControl::AllowSteps(uint64_t steps) {
  if (guidance().allowed_steps == Guidance().allowed_steps) {
    return Status::Conflict("the job has no gate: create it with the option `allowed_steps`");
  }
  Change([steps](Guidance& guidance) {
    // One less than no gate at all.
    guidance.allowed_steps = std::max(guidance.allowed_steps, std::min(steps, UINT64_MAX - 1));
  });
  return Status::Ok();
}

void JobControl::SetGroups(size_t groups) {
  const std::lock_guard lock(mutex_);
  groups_ = groups;
}

Status JobControl::SetRate(double learning_rate) {
  MOTLEY_RETURN_IF_ERROR(Optimizer::Create({.learning_rate = learning_rate}, 0).status());
  if (groups() > 0) {
    return Status::Conflict(
        "the job has groups with rates of their own: use motley_job_set_group_rates");
  }
  Change([learning_rate](Guidance& guidance) { guidance.learning_rate = learning_rate; });
  return Status::Ok();
}

Status JobControl::SetGroupRates(StepId first, const double* rates, uint64_t updates) {
  const size_t groups = this->groups();
  if (groups == 0) {
    return Status::Conflict(
        "the job has no groups: call motley_job_set_groups before. A job that resumes knows the "
        "groups of its checkpoint when it has read it");
  }
  if (updates == 0) {
    return Status::InvalidArgument("`updates` is 0: give the rates of one update at least");
  }
  if (updates > SIZE_MAX / sizeof(double) / groups) {
    return Status::InvalidArgument(
        fmt::format("the rates of {} updates for {} groups: no array is so long", updates, groups));
  }
  const std::span all(rates, updates * groups);
  for (const double rate : all) {
    if (rate >= 0 && rate <= kLargestOption) continue;
    return Status::InvalidArgument(
        fmt::format("a learning rate of {}: at least 0 and at most {}", rate, kLargestOption));
  }
  const auto table = std::make_shared<const GroupRates>(
      GroupRates{first, groups, std::vector<double>(all.begin(), all.end())});
  Change([&table](Guidance& guidance) { guidance.group_rates = table; });
  return Status::Ok();
}

size_t JobControl::groups() const {
  const std::lock_guard lock(mutex_);
  return groups_;
}

void JobControl::Finish() {
  Change([](Guidance& guidance) { guidance.finish = true; });
}

Guidance JobControl::guidance() const {
  const std::lock_guard lock(mutex_);
  return guidance_;
}

Result<uint64_t> JobControl::CopyNewest(std::span<float> parameters) {
  NewestVersion::Copy newest = newest_->Get();
  const size_t count = newest.values->size();
  if (count == 0) {
    return Status::Unavailable(
        "there is no version of the parameters here: training has not begun, or workers hold the "
        "newest one. Let the job pause (`allowed_steps`): it has the version where it pauses. With "
        "`reduce` star it has all versions");
  }
  MOTLEY_RETURN_IF_ERROR(CheckRoom(parameters.size(), count));
  std::copy(newest.values->begin(), newest.values->end(), parameters.begin());
  const uint64_t number = newest.number;
  // The memory is reused once the server finds that it alone holds the version. So the loop's
  // thread releases it.
  const std::lock_guard lock(mutex_);
  if (loop_ != nullptr) loop_->Post([values = std::move(newest.values)] {});
  return number;
}

void JobControl::Attach(Loop& loop, std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
  loop_ = &loop;
}

void JobControl::Leave() {
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
  changed_ = nullptr;
}

}  // namespace motley
