// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/partial_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

constexpr double kExact = 1e-6;  // Squared error of all rows; a lost row leaves about 1.

// The code of the answers before its rows are filled: C = R^T, V = I.
CodeForm AnswerForm(const CodeForm& kept, const PartialCode& code) {
  CodeForm form;
  form.name = kept.name;
  form.workers = kept.owners();
  form.partitions = kept.partitions;
  form.rows.resize(form.workers);
  form.parts = code.parts;
  if (form.parts > 1) {
    form.field = Field::kComplexPacked;
    form.other_parts.resize(form.workers);
  }
  form.accumulators = code.parts;
  form.c.assign(size_t{form.accumulators} * form.workers, 0);
  form.v.assign(size_t{form.accumulators} * form.parts, 0);
  for (uint32_t part = 0; part < code.parts; ++part) {
    form.v[part * size_t{code.parts} + part] = 1;
    for (WorkerId worker = 0; worker < form.workers; ++worker) {
      form.c[size_t{part} * form.workers + worker] = code.R(worker, part);
    }
  }
  return form;
}

void Append(const CodeForm& kept, const PartialEntry& entry, WorkerId worker, CodeForm& form) {
  for (const CodeEntry& each : kept.rows[entry.chunk]) {
    form.rows[worker].push_back({each.partition, entry.weights[0]});
    if (form.parts == 1) continue;
    form.other_parts[worker].insert(form.other_parts[worker].end(), entry.weights.begin() + 1,
                                    entry.weights.end());
  }
}

}  // namespace

void PartialRows::Open(std::shared_ptr<const CodeForm> form) {
  MOTLEY_ASSERT(form->kept_parts > 0);
  if (form_ != form) {
    form_ = std::move(form);
    code_ = MakePartialCode(form_->owners(), form_->kept_parts).value();
    holders_.assign(form_->workers, {});
    for (WorkerId worker = 0; worker < form_->lists.size(); ++worker) {
      for (const RowId row : form_->lists[worker]) holders_[row].push_back(worker);
    }
  }
  finished_.assign(form_->workers, {});
  done_.assign(form_->owners(), std::vector<bool>(form_->workers, false));
}

bool PartialRows::Done(WorkerId owner, RowId row) {
  MOTLEY_ASSERT(std::find(holders_[row].begin(), holders_[row].end(), owner) !=
                holders_[row].end());
  if (!done_[owner][row]) finished_[row].push_back(owner);
  done_[owner][row] = true;
  return Solves(finished_[row]);
}

std::vector<RowId> PartialRows::Lose(WorkerId owner) {
  std::vector<RowId> missing;
  for (RowId row = 0; row < finished_.size(); ++row) {
    if (!done_[owner][row]) continue;
    const bool solved = Solves(finished_[row]);
    done_[owner][row] = false;
    std::erase(finished_[row], owner);
    if (solved && !Solves(finished_[row])) missing.push_back(row);
  }
  return missing;
}

std::vector<WorkerId> PartialRows::WhoAnswers(RowId row, const std::vector<bool>& awake) const {
  std::vector<WorkerId> who;
  std::vector<WorkerId> others;
  for (const WorkerId worker : finished_[row]) (awake[worker] ? who : others).push_back(worker);
  for (const bool wanted : {true, false}) {
    for (const WorkerId worker : holders_[row]) {
      if (!done_[worker][row] && awake[worker] == wanted) others.push_back(worker);
    }
  }
  for (const WorkerId worker : others) {
    if (Solves(who)) break;
    who.push_back(worker);
  }
  return who;
}

Result<CodeForm> PartialRows::Answers(const std::vector<bool>& awake) const {
  WorkLists lists(form_->owners());
  for (RowId row = 0; row < form_->workers; ++row) {
    for (const WorkerId worker : WhoAnswers(row, awake)) lists[worker].push_back(row);
  }
  MOTLEY_ASSIGN_OR_RETURN(const PartialPlan plan,
                          PlanPartial(code_, form_->workers, lists, kAnswerLimits));
  if (!(plan.squared_error < kExact)) {
    return Status::Internal(fmt::format(
        "the planned answers leave an error of {:.3g}; please report this", plan.squared_error));
  }
  CodeForm form = AnswerForm(*form_, code_);
  for (WorkerId worker = 0; worker < form.workers; ++worker) {
    // In the order of rows, which is the order of their partitions.
    for (const PartialEntry& entry : plan.entries[worker]) Append(*form_, entry, worker, form);
  }
  Finish(form);
  return form;
}

}  // namespace motley
