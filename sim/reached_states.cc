// SPDX-License-Identifier: Apache-2.0
#include "sim/reached_states.h"

#include <algorithm>
#include <utility>

#include "coding/schemes.h"

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
  static const std::vector<std::string> all = {
      "all workers gone for a while",
      "answer late",
      "answers for what was kept",
      "answers for what nobody kept",
      "approximate step",
      "answer refused",
      "answer refused for its sketch",
      "checkpoint not written, training went on",
      "checkpoint passed over",
      "came back, and its data took several steps",
      "code compromised",
      "code refused",
      "computed again when its data had come",
      "connection cut",
      "decoded with exactly s missing",
      "device given up alone",
      "decoded with nobody missing",
      "paused worker back in time",
      "power cut",
      "power cut inside a checkpoint",
      "resumed from a checkpoint",
      "resumed with shards lost",
      "equal to the bit",
      "gradient without a late device",
      "lease given back",
      "link measured",
      "leases after rows",
      "lost again while its data were under way",
      "one worker left",
      "replanned after a loss",
      "replanned for speed",
      "row reassigned",
      "rows after leases",
      "second vector of a worker in a step",
      "server died alone",
      "stranger came",
      "the caller's trainer",
      "step beside data under way",
      "liar named",
      "vector refused",
      "worker lost",
      "worker joined again",
      "worker sent away",
      "worker took its leave",
      "worker came while the job ran",
  };
  return all;
}

void ReachedStates::OnWorkerJoined(WorkerId worker, const std::string&) {
  if (++joins_ > workers_) Count("worker joined again");
  if (known_.insert(worker).second && form_.get() != nullptr) {
    Count("worker came while the job ran");
  }
  if (std::exchange(all_gone_, false)) Count("all workers gone for a while");
  there_.insert(worker);
}

void ReachedStates::OnWorkerLost(WorkerId worker, const Status&) {
  Count("worker lost");
  there_.erase(worker);
  all_gone_ = there_.empty() && form_.get() != nullptr;
  lost_since_plan_ = true;
}

void ReachedStates::OnStepOpened(StepId step, const CodeForm& form, Time) {
  const std::shared_ptr<const CodeForm> before = form_.get();
  // The second half of a step in which rows were kept is no other plan.
  const bool answers = before != nullptr && before->name == form.name &&
                       (before->kept_parts > 0 || form.kept_parts > 0);
  if (answers && form.kept_parts == 0) {
    const uint32_t parts = before->kept_parts;
    const bool enough =
        std::all_of(kept_.begin(), kept_.end(), [&](uint32_t times) { return times >= parts; });
    Count(enough ? "answers for what was kept" : "answers for what nobody kept");
  }
  if (form_.Open(form) && before != nullptr && !answers && !SameRows(form, *before)) {
    Count(lost_since_plan_ ? "replanned after a loss" : "replanned for speed");
    lost_since_plan_ = false;
  }
  sent_.clear();
  if (before != nullptr && before->rows.empty() != form.rows.empty()) {
    Count(form.rows.empty() ? "leases after rows" : "rows after leases");
  }
  if (form.rows.empty()) return;  // Leases.
  const bool meant =
      form.name == code_ && (!SchemeNamed(code_).keeps_copies || form.stragglers == tolerate_);
  if (!SchemeNamed(code_).chosen_later() && !meant && !answers) {
    Count("code compromised");
  }
  if (form.owners() == 1 && step > 0) Count("one worker left");
  arrived_.assign(form.workers, false);
  kept_.assign(form.kept_parts > 0 ? form.workers : 0, 0);
}

void ReachedStates::OnRowArrived(StepId, RowId row, WorkerId, Time) {
  arrived_.at(row) = true;
  if (!kept_.empty()) ++kept_.at(row);
}

void ReachedStates::OnVectorArrived(StepId, WorkerId worker, std::span<const PartitionId>, Time) {
  if (!sent_.insert(worker).second) Count("second vector of a worker in a step");
}

void ReachedStates::OnLeaseReleased(StepId, WorkerId, std::span<const PartitionId> partitions,
                                    Time) {
  Count("lease given back", partitions.size());
}

void ReachedStates::OnNotice(const std::string& text) {
  if (text.find("without one of its devices") != std::string::npos) Count("device given up alone");
  if (text.find(" is back after ") != std::string::npos) Count("silent worker back");
}

void ReachedStates::OnSchedulerNotice(const Notice& notice) {
  const auto* refused = std::get_if<notice::Refused>(&notice);
  const auto* away = std::get_if<notice::SentAway>(&notice);
  const Status why = refused != nullptr ? refused->why : away != nullptr ? away->last : Status();
  if (why.message().find("has sketch") != std::string::npos) Count("answer refused for its sketch");
}

void ReachedStates::OnVectorRefused(StepId, WorkerId, Time) { Count("vector refused"); }

void ReachedStates::OnStepApproximated(StepId, const ApproximateSum&, Time) {
  Count("approximate step");
}

void ReachedStates::OnStepDecoded(StepId, const DecodedSum&, std::span<const float>, Time) {
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
  for (const WorkerStats& worker : result.scheduler.workers) {
    Count("answer late", worker.late);
    Count("answer refused", worker.rejected);
    if (worker.lost && worker.rejected >= 3) Count("worker sent away");
  }
}

}  // namespace motley
