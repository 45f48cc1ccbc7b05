// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit/answer_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/assert.h"
#include "coding/kernels/sketch.h"

namespace motley {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// A part of the norm. Smaller differences are rounding. An audit decides about larger ones.
constexpr double kCopyTolerance = 1e-4;
constexpr size_t kMostLate = 1 << 16;

// For each row, the first one with the same partitions and coefficients.
std::vector<RowId> FirstEqualRows(const CodeForm& form) {
  std::map<std::vector<double>, RowId> known;
  std::vector<RowId> first;
  for (RowId row = 0; row < form.rows.size(); ++row) {
    std::vector<double> key;
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      key.push_back(form.rows[row][e].partition);
      for (uint32_t part = 0; part < form.parts; ++part) {
        key.push_back(form.B(row, e, part).real());
        key.push_back(form.B(row, e, part).imag());
      }
    }
    first.push_back(known.emplace(std::move(key), row).first->second);
  }
  return first;
}

}  // namespace

SignKey SumSigns(uint64_t seed, StepId step, size_t begin) {
  return SignsAt(seed, step, begin + 1);
}

AnswerLog::AnswerLog(uint32_t workers, uint32_t job, uint64_t secret, Drawn drawn)
    : job_(job), secret_(secret), drawn_(std::move(drawn)), lives_(workers, 0) {}

void AnswerLog::Begin(StepId step, const Slicing& cut) {
  open_is_drawn_ = drawn_(step);
  now_ = {.step = step,
          .signs = open_is_drawn_ ? secret_ : job_,
          .declared = job_,
          .cut = cut,
          .ends = {},
          .form = nullptr,
          .answers = {},
          .lives = lives_,
          .shards = {}};
  leases_ = nullptr;
  answers_.clear();
  if (open_.step != step) before_ = std::move(open_);
  open_ = {.step = step, .cut = cut, .first = {}, .by_row = {}};
}

void AnswerLog::Open(StepId step, std::shared_ptr<const CodeForm> form, const Slicing& cut,
                     std::vector<size_t> ends) {
  Begin(step, cut);
  MOTLEY_ASSERT(ends.size() == cut.shards());
  now_.ends = std::move(ends);
  now_.form = std::move(form);
  if (grouped_ != now_.form) {
    grouped_ = now_.form;
    first_ = FirstEqualRows(*grouped_);
  }
  open_.first = first_;
  open_.by_row.assign(first_.size(), {});
  for (Copy& copy : open_.by_row) {
    copy.workers.assign(cut.count(), 0);
    copy.declared.assign(cut.count(), kNone);
  }
}

void AnswerLog::OpenLeases(StepId step, uint32_t partitions, const Slicing& cut,
                           std::vector<size_t> ends) {
  Begin(step, cut);
  MOTLEY_ASSERT(ends.size() == cut.shards());
  now_.ends = std::move(ends);
  leases_ = std::make_shared<CodeForm>();
  leases_->partitions = partitions;
  now_.form = leases_;
}

double AnswerLog::Project(std::span<const float> values, size_t offset, double declared) const {
  if (!secret()) return declared;
  return SketchOf(values, SignsAt(now_.signs, now_.step, offset)).projection;
}

LoggedAnswer& AnswerLog::Find(WorkerId worker, RowId row) {
  const auto [at, fresh] = answers_.emplace((uint64_t{worker} << 32) + row, now_.answers.size());
  // A row that another incarnation of the worker sends again is another answer.
  if (!fresh && now_.answers[at->second].life == lives_[worker]) return now_.answers[at->second];
  at->second = now_.answers.size();
  now_.answers.push_back({.worker = worker,
                          .life = lives_[worker],
                          .row = row,
                          .sketches = std::vector<double>(now_.cut.count(), kNone),
                          .tally = {},
                          .shard = 0});
  return now_.answers.back();
}

void AnswerLog::AddSlice(WorkerId worker, RowId row, size_t slice, double sketch,
                         const Claim& claim, const Tally& tally, bool added) {
  LoggedAnswer& answer = Find(worker, row);
  if (!std::isnan(answer.sketches[slice])) return;  // The first copy counts.
  // The decoder also uses the tally of slice 0.
  if (slice == 0 || std::isnan(answer.sketches[0])) answer.tally = tally;
  answer.sketches[slice] = sketch;
  Copy& copy = open_.by_row[open_.first[row]];
  copy.gap = std::max(copy.gap, copy.Gap(worker, slice, claim.projection));
  if (!added || !std::isnan(copy.declared[slice])) return;
  copy.workers[slice] = worker;
  copy.declared[slice] = claim.projection;
  copy.squares += claim.norm_limit * claim.norm_limit;
}

bool AnswerLog::copies_differ() const {
  return std::any_of(open_.by_row.begin(), open_.by_row.end(),
                     [](const Copy& copy) { return copy.FarApart(copy.gap); });
}

bool AnswerLog::OneAnswered() const {
  const auto& all = now_.answers;
  const auto same = [&](const auto& other) { return other.worker == all.front().worker; };
  return !all.empty() && all.size() < now_.form->rows.size() &&
         std::all_of(all.begin(), all.end(), same);
}

StepAnswers AnswerLog::Take() {
  taken_ = now_.step;
  late_.clear();
  return std::exchange(now_, {});
}

void AnswerLog::AddLate(WorkerId worker, RowId row, const Header& header) {
  if (header.step == taken_ && late_.size() < kMostLate) {
    late_.push_back({worker, row, open_.cut.At(header.offset), header.sketch});
  }
  Copies& copies = header.step == open_.step ? open_ : before_;
  const size_t slice = copies.cut.At(header.offset);
  if (header.step != copies.step || row >= copies.first.size() || slice == copies.cut.count()) {
    return;
  }
  const Copy& copy = copies.by_row[copies.first[row]];
  late_differ_ |= copy.FarApart(copy.Gap(worker, slice, header.sketch));
}

double AnswerLog::Copy::Gap(WorkerId worker, size_t slice, double other) const {
  if (slice >= declared.size() || std::isnan(declared[slice]) || workers[slice] == worker) return 0;
  return std::isfinite(other) ? std::abs(declared[slice] - other) : 0;
}

bool AnswerLog::Copy::FarApart(double difference) const {
  return difference > kCopyTolerance * std::sqrt(squares);
}

void AnswerLog::AddVector(WorkerId worker, std::span<const PartitionId> partitions,
                          std::vector<double> sketches, const Tally& tally) {
  std::vector<CodeEntry> entries;
  for (const PartitionId p : partitions) entries.push_back({p, 1});
  std::sort(entries.begin(), entries.end(),
            [](const CodeEntry& a, const CodeEntry& b) { return a.partition < b.partition; });
  now_.answers.push_back({.worker = worker,
                          .life = lives_[worker],
                          .row = leases_->workers++,
                          .sketches = std::move(sketches),
                          .tally = tally,
                          .shard = 0});
  leases_->rows.push_back(std::move(entries));
}

}  // namespace motley
