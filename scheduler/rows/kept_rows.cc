// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/kept_rows.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace motley {
namespace {

constexpr size_t kAnswersRemembered = 64;

}  // namespace

KeptRows::KeptRows() : seconds_(kAnswersRemembered) {}

void KeptRows::Open(const Plan& plan) {
  answers_.reset();
  plan_ = plan.code->kept_parts > 0 ? &plan : nullptr;
  if (plan_ != nullptr) kept_.Open(plan.code);
}

std::optional<WorkerId> KeptRows::OwnerOf(WorkerId worker) const {
  const auto at = std::lower_bound(plan_->members.begin(), plan_->members.end(), worker);
  if (at == plan_->members.end() || *at != worker) return std::nullopt;
  return static_cast<WorkerId>(at - plan_->members.begin());
}

bool KeptRows::Has(WorkerId worker, RowId row) const {
  if (!keeping()) return false;
  const auto owner = OwnerOf(worker);
  return owner && kept_.Has(*owner, row);
}

bool KeptRows::Done(WorkerId worker, RowId row) {
  const auto owner = OwnerOf(worker);
  return owner && kept_.Done(*owner, row);
}

std::vector<RowId> KeptRows::Lose(WorkerId worker) {
  if (plan_ == nullptr) return {};
  const auto owner = OwnerOf(worker);
  if (!owner) return {};
  std::vector<RowId> lost = kept_.Lose(*owner);
  return keeping() ? std::move(lost) : std::vector<RowId>();
}

Status KeptRows::Ask(const std::vector<bool>& awake) {
  MOTLEY_ASSIGN_OR_RETURN(CodeForm code, kept_.Answers(awake));
  Plan answers = *plan_;
  answers.code = std::make_shared<const CodeForm>(std::move(code));
  answers.rows = RowLists(*answers.code);
  answers_ = std::move(answers);
  return Status::Ok();
}

size_t KeptRows::NotKept(WorkerId worker, RowId answer) const {
  const auto& entries = answers_->code->rows[answer];
  const auto owner = OwnerOf(worker);
  if (!owner) return entries.size();
  std::vector<bool> there(plan_->code->partitions, false);
  for (const RowId row : plan_->RowsOf(worker)) {
    if (!kept_.Has(*owner, row)) continue;
    for (const CodeEntry& entry : plan_->code->rows[row]) there[entry.partition] = true;
  }
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(),
                    [&](const CodeEntry& entry) { return !there[entry.partition]; }));
}

void KeptRows::SawAnswer(Duration took, double expected_seconds, uint32_t placed, bool computed) {
  if (!computed) seconds_.Add(ToSeconds(took));
  deadlines_.AddArrival(took, expected_seconds, placed);
}

}  // namespace motley
