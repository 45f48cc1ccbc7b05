// SPDX-License-Identifier: Apache-2.0
// What a ShardHost logs of the slices that it gets, for audits.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coding/kernels/sketch.h"
#include "runtime/links/messages.h"
#include "runtime/shard/held_shard.h"

namespace motley {
namespace {

constexpr size_t kEntryBytes = 128;  // The size of an entry beside its sketches.

std::unique_ptr<wire::ShardLogEntryT> EntryOf(const LoggedAnswer& answer,
                                              std::span<const double> sketches) {
  auto entry = std::make_unique<wire::ShardLogEntryT>();
  entry->worker = answer.worker;
  entry->row = answer.row;
  entry->loss = std::make_unique<wire::Weight>(ToWire(answer.tally.loss));
  entry->weight = std::make_unique<wire::Weight>(ToWire(answer.tally.weight));
  entry->sketches.assign(sketches.begin(), sketches.end());
  return entry;
}

}  // namespace

void OpenLog(const ShardHost::Job& job, const wire::ShardOpenT& open,
             std::shared_ptr<const CodeForm> form, AnswerLog& log) {
  log.SetSecret(open.signs);
  const Slicing cut =
      RangeAnswers::CutOf(job.route.Answers(job.slice_length, job.wire), form.get());
  const std::vector<uint64_t> ends = job.route.ends();
  std::vector<size_t> range_ends(ends.begin(), ends.end());
  if (form != nullptr) {
    log.Open(open.step, std::move(form), cut, std::move(range_ends));
  } else {
    log.OpenLeases(open.step, job.partitions, cut, std::move(range_ends));
  }
}

// A vector counts in all shards that this node owns.
Status ShardHost::Add(const wire::ShardAddT& add) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const bool logs = log_.Keeps(add.step);
  std::vector<double> sketches(logs ? log_.cut().count() : 0, kNone);
  Tally tally;
  for (const auto& [shard, held] : held_) {
    RangeAnswers& answers = held->answers;
    if (!held->owner || answers.step() != add.step || answers.attempt() != add.attempt) continue;
    MOTLEY_ASSIGN_OR_RETURN(const RangeAnswers::Added added,
                            answers.Add({add.worker, add.order, add.row, {}}));
    tally = added.tally;
    if (!logs) continue;
    const size_t first = log_.cut().first_slice(shard);
    std::copy(added.sketches.begin(), added.sketches.end(),
              sketches.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (logs && open_->attempt == add.attempt) {
    log_.AddVector(add.worker, {}, std::move(sketches), tally);
  }
  return Status::Ok();
}

wire::ShardLogT ShardHost::Held::AsLog(const AnswerLog& log,
                                       const std::optional<wire::ShardOpenT>& open, size_t begin,
                                       uint32_t id) {
  wire::ShardLogT report;
  report.shard = shard;
  report.id = id;
  const auto whole = open ? SumOf(open->step, open->attempt) : nullptr;
  // An owner that took over in this update has logged nothing.
  const bool logged =
      whole != nullptr && log.Keeps(open->step) &&
      std::pair(answers.step(), answers.attempt()) == std::pair(open->step, open->attempt);
  if (!logged) return report;
  const size_t first = log.cut().first_slice(shard);
  const size_t slices = log.cut().first_slice(shard + 1) - first;
  const size_t bytes = log.answers().size() * (kEntryBytes + slices * sizeof(double));
  report.complete = CheckSendable(FrameKind::kControl, bytes + kEntryBytes).ok();
  if (!report.complete) return report;
  for (const LoggedAnswer& answer : log.answers()) {
    // The coordinator blames the worker that was there when the step began, and the sum contains
    // the answer of the one that came within the step. A later audit has to look at both.
    report.complete &= log.WasThere(answer);
    const std::span<const double> sketches = answer.sketches;
    report.entries.push_back(EntryOf(answer, sketches.subspan(first, slices)));
  }
  const SignKey signs = SumSigns(open->signs, open->step, begin);
  report.sum = SketchOf(std::span<const float>(*whole).first(count), signs).projection;
  return report;
}

}  // namespace motley
