// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/shard_loss_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {

void ShardLossChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void ShardLossChecker::Leaves() {
  ++left_;
  if (open_) ++open_->causes;
}

void ShardLossChecker::On(const event::Noticed& event) {
  if (std::holds_alternative<notice::ShardServerLost>(event.notice)) Leaves();
  if (std::holds_alternative<notice::ShardsMoved>(event.notice) && open_) open_->moved = true;
  const auto* said = std::get_if<Notice>(&event.notice);
  if (said == nullptr) return;
  const auto* starting = std::get_if<notice::Starting>(said);
  if (starting != nullptr && !began_) ready_ = starting->ready;
  const bool again = std::holds_alternative<notice::Refused>(*said) ||
                     std::holds_alternative<notice::SentAway>(*said) ||
                     std::holds_alternative<notice::NotDecodable>(*said);
  if (again && open_) ++open_->causes;
}

void ShardLossChecker::On(const event::StepOpened& event) {
  const bool first = !std::exchange(began_, true);
  const bool keeps = event.code.kept_parts > 0;
  if (!open_ || open_->step != event.step) {
    // The first opening waits until links are measured, and all workers may be lost meanwhile.
    open_ = Open{.step = event.step, .causes = first ? left_ : 0, .keeps = keeps};
    return;
  }
  const bool for_answers = open_->keeps && !keeps && !open_->taken_back;
  if (!for_answers) OpenAgain();
  open_->keeps = keeps;
  open_->moved = open_->taken_back = false;
}

void ShardLossChecker::OpenAgain() {
  if (open_->moved) reached_.Count("step repeated after an owner left");
  ++open_->repeats;
  // Rounds of local steps also begin again without the workers that are late.
  if (job_.sync.answers_differ() || open_->repeats <= open_->causes) return;
  violations_.Add(fmt::format("I15: step {} was repeated {} times, after {} losses", open_->step,
                              open_->repeats, open_->causes));
}

void ShardLossChecker::On(const event::StepApplied& event) {
  if (open_ && open_->taken_back) {
    violations_.Add(fmt::format("I15: step {} was applied after step {} was taken back", event.step,
                                open_->step));
  }
  open_.reset();
}

void ShardLossChecker::On(const event::UpdateTakenBack& event) {
  if (!open_ || open_->step != event.step || open_->taken_back) {
    violations_.Add(fmt::format("I15: step {} was taken back while it was not open", event.step));
    return;
  }
  open_->taken_back = true;
  if (open_->moved) {
    reached_.Count("update taken back after its owner left");
  } else {
    violations_.Add(fmt::format("I15: step {} was taken back, and no owner had left", event.step));
  }
}

bool ShardLossChecker::IsOfLostShard(const Status& status) {
  return status.code() == StatusCode::kUnavailable &&
         status.ToString().find("is lost with") != std::string::npos;
}

// The least number of nodes that held each shard before the first step: its owner and its
// followers. If shard servers own the vector, one of them at least was there.
uint64_t ShardLossChecker::FirstHolders() const {
  const bool served = job_.holders == JobOptions::Holders::kShardServers;
  const uint64_t nodes = uint64_t{ready_} + (served ? 1 : 0);
  return std::min<uint64_t>(nodes, uint64_t{job_.followers} + 1);
}

// A shard gives up a follower only if it has one too many. So at least as many nodes left as held
// it at first.
void ShardLossChecker::CheckEnd(const JobResult& result) {
  // Losses after the last step, and before the first one, are not all reported.
  if (!IsOfLostShard(result.status) || !began_ || result.steps >= job_.steps) return;
  if (left_ >= FirstHolders()) return;
  violations_.Add(fmt::format("I15: {} nodes left, of at least {} that held the lost shard: {}",
                              left_, FirstHolders(), result.status.ToString()));
}

}  // namespace motley
