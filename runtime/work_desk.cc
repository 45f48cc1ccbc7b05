// SPDX-License-Identifier: Apache-2.0
#include "runtime/work_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coding/combine.h"
#include "runtime/messages.h"

namespace motley {
namespace {

constexpr Duration kProgressInterval = std::chrono::milliseconds(50);
constexpr size_t kMaxQueued = 64;  // Assignments; a server gives one, or a few after losses.

bool SamePartitions(const std::vector<PartitionTerm>& a, const std::vector<PartitionTerm>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PartitionTerm& x, const PartitionTerm& y) {
                      return x.begin == y.begin && x.end == y.end;
                    });
}

}  // namespace

WorkDesk::WorkDesk(Env env, Parts parts, std::function<void(const Status&)> failed)
    : env_(env), parts_(std::move(parts)), failed_(std::move(failed)) {
  const size_t length = VectorLength(parts_.shop->trainer->parameter_count());
  for (Answer& answer : answers_) answer.sum = std::make_shared<std::vector<float>>(length);
}

WorkDesk::~WorkDesk() {
  if (running_) running_->Abandon();
}

void WorkDesk::Stop() {
  stopped_ = true;
  queue_.clear();
  if (running_) running_->Abandon();
  for (Answer& answer : answers_) {
    for (const SendId id : std::exchange(answer.sends, {})) env_.transport.Cancel(id);
  }
}

void WorkDesk::Introduce(double samples_per_second) {
  wire::PullT pull;
  pull.samples_per_second = samples_per_second;
  pull.held_bytes = parts_.partitions.held_bytes();
  SendControl(env_.transport, parts_.peer, parts_.header, std::move(pull), Priority::kBulk);
}

Status WorkDesk::Assign(RowTask::Row row) {
  if (stopped_) return Status::Ok();
  if (queue_.size() >= kMaxQueued) {
    return Status::DataError(fmt::format("the server assigned more than {} rows", kMaxQueued));
  }
  if (row.step > 0) Cancel(row.step - 1);
  queue_.push_back({std::move(row), false});
  Advance();
  return Status::Ok();
}

void WorkDesk::Cancel(StepId step) {
  for (Queued& queued : queue_) queued.cancelled |= queued.row.step <= step;
  if (running_ && running_->row().step <= step) running_->Cancel();
  for (Answer& answer : answers_) {
    if (answer.computing || answer.step > step) continue;
    for (const SendId id : std::exchange(answer.sends, {})) env_.transport.Cancel(id);
  }
  Advance();
}

void WorkDesk::Advance() {
  while (!stopped_ && !running_ && !queue_.empty()) {
    const Queued& next = queue_.front();
    if (next.cancelled) {
      SendPull(next.row, nullptr, false);
      queue_.pop_front();
      continue;
    }
    Answer* answer = FreeAnswer();
    if (answer == nullptr || !Ready(next.row)) return;  // A send or an arrival goes on from here.
    Begin(*answer);
  }
}

bool WorkDesk::Ready(const RowTask::Row& row) {
  if (parts_.parameters.Get(row.version) == nullptr) return false;
  if (SamePartitions(row.terms, held_)) return true;
  const PartitionStore& store = parts_.shop->store;
  for (const PartitionTerm& term : row.terms) {
    for (PartitionId p = term.begin; p < term.end; ++p) {
      if (store.count(p) == 0) return false;
    }
  }
  held_ = row.terms;
  return true;
}

WorkDesk::Answer* WorkDesk::FreeAnswer() {
  for (Answer& answer : answers_) {
    if (answer.unsent == 0 && !answer.computing) return &answer;
  }
  return nullptr;
}

void WorkDesk::Begin(Answer& answer) {
  RowTask::Row& row = queue_.front().row;
  ParameterCopy parameters = parts_.parameters.Get(row.version);
  answer.computing = true;
  answer.step = row.step;
  answer.sends.clear();
  last_word_ = env_.loop.Now();
  // Its terms go; step, version and number stay.
  running_ = std::make_shared<RowTask>(env_.loop, parts_.shop, std::move(row),
                                       std::move(parameters), answer.sum);
  // Abandoned before this object goes, so no guard is needed.
  running_->Run({[this] { OnProgress(); },
                 [this, &answer](const Status& status) { OnDone(answer, status); }});
}

void WorkDesk::OnProgress() {
  const Time now = env_.loop.Now();
  if (now - last_word_ < kProgressInterval) return;
  last_word_ = now;
  wire::ProgressT progress;
  progress.step = running_->row().step;
  progress.row = running_->row().row;
  progress.samples = running_->samples_so_far();
  progress.compute_ns = static_cast<uint64_t>(running_->compute().count());
  SendControl(env_.transport, parts_.peer, parts_.header, std::move(progress));
}

void WorkDesk::OnDone(Answer& answer, const Status& status) {
  const std::shared_ptr<RowTask> task = std::exchange(running_, nullptr);
  answer.computing = false;
  const bool cancelled = queue_.front().cancelled || status.code() == StatusCode::kCancelled;
  queue_.pop_front();
  if (!status.ok() && !cancelled) return failed_(status);  // May destroy this.
  if (!cancelled) Send(answer, task->row());
  SendPull(task->row(), task.get(), !cancelled);
  Advance();
}

void WorkDesk::Send(Answer& answer, const RowTask::Row& row) {
  std::vector<float>& sum = *answer.sum;
  if (filter_) filter_(row.step, sum);
  Header header = parts_.header;
  header.kind = FrameKind::kGradient;
  header.step = row.step;
  header.version = row.version;
  header.row_id = row.row;
  header.total = sum.size();
  header.norm = std::sqrt(SumOfSquares(sum));
  const Slicing cut{sum.size(), parts_.slice_length};
  answer.unsent = cut.count();
  const auto sent = alive_.Guard([this, &answer](const Status&) {
    if (--answer.unsent == 0) Advance();
  });
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    header.offset = cut.begin(slice);
    const std::span<const float> values(sum.data() + cut.begin(slice), cut.size(slice));
    const BytesView piece = AsBytes(values);
    // The vector stays with its sends, also when this desk goes first.
    answer.sends.push_back(env_.transport.Send(
        parts_.peer, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
        [sent, keep = answer.sum](const Status& status) { sent(status); }));
  }
}

void WorkDesk::SendPull(const RowTask::Row& row, const RowTask* task, bool finished) {
  wire::PullT pull;
  pull.step = row.step;
  pull.row = row.row;
  pull.finished = finished;
  pull.held_bytes = parts_.partitions.held_bytes();
  if (task != nullptr) {
    pull.samples = task->samples();
    pull.compute_ns = static_cast<uint64_t>(task->compute().count());
  }
  SendControl(env_.transport, parts_.peer, parts_.header, std::move(pull), Priority::kBulk);
}

}  // namespace motley
