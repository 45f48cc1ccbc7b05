// SPDX-License-Identifier: Apache-2.0
#include "sim/reached_states.h"

#include <algorithm>
#include <utility>

#include "coding/schemes.h"
#include "sim/faults/random_fault.h"
#include "sim/faults/stranger.h"

namespace motley {
namespace {

// Two plans with the same rows are the same work.
bool SameRows(const CodeForm& a, const CodeForm& b) {
  if (a.name != b.name || a.rows.size() != b.rows.size()) return false;
  for (size_t row = 0; row < a.rows.size(); ++row) {
    const bool same = std::equal(
        a.rows[row].begin(), a.rows[row].end(), b.rows[row].begin(), b.rows[row].end(),
        [](const CodeEntry& x, const CodeEntry& y) { return x.partition == y.partition; });
    if (!same) return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& ReachedStates::All() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> states = {
        "all workers gone for a while",
        "answer held and not needed",
        "answer held by choice",
        "answer held and sent",
        "answer late",
        "answers for what was kept",
        "answers for what nobody kept",
        "approximate step",
        "answer refused",
        "checkpoint not written, training went on",
        "checkpoint given up with its owner",
        "checkpoint passed over",
        "came back, and its data took several steps",
        "code compromised",
        "code refused",
        "computed again when its data had come",
        "decoded with exactly s missing",
        "decoded with nobody missing",
        "power cut",
        "power cut inside a checkpoint",
        "resumed from a checkpoint",
        "resumed with shards lost",
        "equal to the bit",
        "lease given back",
        "link measured",
        "late node lost its shards",
        "leases after rows",
        "lost again while its data were under way",
        "one worker left",
        "replanned after a loss",
        "replanned for speed",
        "row begun ahead of its order",
        "row reassigned",
        "rows after leases",
        "second vector of a worker in a step",
        "server died alone",
        "shard handed over",
        "shard server died",
        "shard server lost",
        "slow owner gave its shards away",
        "the caller's trainer",
        "step beside data under way",
        "step repeated after an owner left",
        "liar named",
        "vector refused",
        "worker lost",
        "worker joined again",
        "worker sent away",
        "worker came while the job ran",
        Stranger::kState,
    };
    for (const FaultKind* kind : FaultKinds()) {
      if (kind->state != nullptr) states.emplace_back(kind->state);
    }
    return states;
  }();
  return all;
}

const std::vector<std::string>& ReachedStates::Rare() {
  static const std::vector<std::string> rare = {"update taken back after its owner left"};
  return rare;
}

void ReachedStates::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void ReachedStates::On(const event::WorkerJoined& event) {
  if (++joins_ > job_.workers) Count("worker joined again");
  if (known_.insert(event.worker).second && form_.get() != nullptr) {
    Count("worker came while the job ran");
  }
  if (std::exchange(all_gone_, false)) Count("all workers gone for a while");
  there_.insert(event.worker);
}

void ReachedStates::On(const event::WorkerLost& event) {
  Count("worker lost");
  there_.erase(event.worker);
  all_gone_ = there_.empty() && form_.get() != nullptr;
  lost_since_plan_ = true;
}

void ReachedStates::On(const event::HolderLeft& event) {
  switch (event.why) {
    case notice::ShardsMoved::Why::kLost: break;
    case notice::ShardsMoved::Why::kLate: return Count("late node lost its shards");
    case notice::ShardsMoved::Why::kSlow: return Count("slow owner gave its shards away");
    case notice::ShardsMoved::Why::kUnreached: return Count("unreached node lost its shards");
  }
}

void ReachedStates::On(const event::StepOpened& event) {
  const std::shared_ptr<const CodeForm> before = form_.get();
  // The second half of a step in which rows were kept is no other plan.
  const bool answers = before != nullptr && before->name == event.code.name &&
                       (before->kept_parts > 0 || event.code.kept_parts > 0);
  if (answers && event.code.kept_parts == 0) {
    const uint32_t parts = before->kept_parts;
    const bool enough =
        std::all_of(kept_.begin(), kept_.end(), [&](uint32_t times) { return times >= parts; });
    Count(enough ? "answers for what was kept" : "answers for what nobody kept");
  }
  if (form_.Open(event.code) && before != nullptr && !answers && !SameRows(event.code, *before)) {
    Count(lost_since_plan_ ? "replanned after a loss" : "replanned for speed");
    lost_since_plan_ = false;
  }
  sent_.clear();
  if (before != nullptr && before->rows.empty() != event.code.rows.empty()) {
    Count(event.code.rows.empty() ? "leases after rows" : "rows after leases");
  }
  if (event.code.rows.empty()) return;  // Leases.
  const bool meant = event.code.name == job_.code && (!SchemeNamed(job_.code).keeps_copies ||
                                                      event.code.stragglers == job_.tolerate);
  if (!SchemeNamed(job_.code).chosen_later() && !meant && !answers) {
    Count("code compromised");
  }
  if (event.code.owners() == 1 && event.step > 0) Count("one worker left");
  arrived_.assign(event.code.workers, false);
  kept_.assign(event.code.kept_parts > 0 ? event.code.workers : 0, 0);
}

void ReachedStates::On(const event::RowArrived& event) {
  arrived_.at(event.row) = true;
  if (!kept_.empty()) ++kept_.at(event.row);
}

void ReachedStates::On(const event::VectorArrived& event) {
  if (!sent_.insert(event.worker).second) Count("second vector of a worker in a step");
}

void ReachedStates::On(const event::LeaseReleased& event) {
  Count("lease given back", event.partitions.size());
}

void ReachedStates::On(const event::Noticed& event) {
  if (std::holds_alternative<notice::Back>(event.notice)) Count("silent worker back");
  if (const auto* got = std::get_if<notice::ShardsGained>(&event.notice)) {
    Count("shard handed over", got->shards);
  }
  if (std::holds_alternative<notice::ShardServerLost>(event.notice)) Count("shard server lost");
  const auto* failed = std::get_if<notice::CheckpointFailed>(&event.notice);
  if (failed != nullptr && failed->why.code() == StatusCode::kUnavailable) {
    Count("checkpoint given up with its owner");
  }
}

void ReachedStates::On(const event::VectorRefused&) { Count("vector refused"); }

void ReachedStates::On(const event::StepApproximated&) { Count("approximate step"); }

void ReachedStates::On(const event::StepDecoded&) {
  if (form_->rows.empty()) return;  // Leases.
  uint32_t missing = 0;
  for (RowId row = 0; row < form_->workers; ++row) {
    if (!arrived_[row] && !form_->rows[row].empty()) ++missing;
  }
  if (missing == 0) ++complete_;
  if (missing > 0 && missing == form_->stragglers) ++exactly_;
}

void ReachedStates::Finish(const JobResult& result) {
  Count("decoded with nobody missing", std::exchange(complete_, 0));
  Count("decoded with exactly s missing", std::exchange(exactly_, 0));
  Count("row reassigned", result.scheduler.rows_reassigned);
  Count("step restarted", result.scheduler.steps_restarted);
  Count("answer held and not needed", result.scheduler.answers_held);
  // Otherwise the scenario chose it.
  if (!job_.grant_sends) Count("answer held by choice", result.scheduler.answers_held);
  Count("answer held and sent", result.scheduler.held_answers_sent);
  for (const WorkerStats& worker : result.scheduler.workers) {
    Count("answer late", worker.late);
    Count("answer refused", worker.rejected);
    if (worker.lost && worker.rejected >= 3) Count("worker sent away");
  }
}

}  // namespace motley
