// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/work_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coding/decode/part_sums.h"
#include "devices/host_device.h"
#include "runtime/links/messages.h"
#include "transport/wire/repeated_control.h"

namespace motley {
namespace {

constexpr Duration kProgressInterval = std::chrono::milliseconds(50);
constexpr size_t kMaxQueued = 1024;  // Assignments: a list of rows, and a few after losses.

bool SamePartitions(const std::vector<PartitionTerm>& a, const std::vector<PartitionTerm>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PartitionTerm& x, const PartitionTerm& y) {
                      return x.begin == y.begin && x.end == y.end;
                    });
}

}  // namespace

WorkDesk::WorkDesk(Env env, Parts parts, std::function<void(const Status&)> failed)
    : env_(env),
      parts_(std::move(parts)),
      failed_(std::move(failed)),
      outbox_(env.transport, parts_.peer, VectorLength(parts_.shop->trainer->parameter_count()),
              parts_.slice_length, [this] { Advance(); }),
      leases_(env, parts_, outbox_, [this](const Status& status) { failed_(status); }),
      kept_(parts_.shop->trainer->parameter_count(), HostMemoryOf(env.device)) {}

WorkDesk::~WorkDesk() {
  if (running_) running_->Abandon();
}

void WorkDesk::Stop() {
  stopped_ = true;
  queue_.clear();
  if (running_) running_->Abandon();
  leases_.Stop();
  outbox_.TakeBack();
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
  leases_.Cancel(step);
  outbox_.Cancel(step);
  Advance();
}

void WorkDesk::CancelRow(StepId step, RowId row) {
  for (Queued& queued : queue_)
    queued.cancelled |= queued.row.step == step && queued.row.row == row;
  if (running_ && running_->row().step == step && running_->row().row == row) running_->Cancel();
  outbox_.CancelRow(step, row);
  Advance();
}

void WorkDesk::SendProbe(uint32_t slices) {
  const Slicing cut{VectorLength(parts_.shop->trainer->parameter_count()), parts_.slice_length};
  const auto zeros = std::make_shared<const Bytes>(cut.size(0) * sizeof(float));
  Header header = parts_.header;
  header.kind = FrameKind::kProbe;
  header.total = cut.total;
  for (size_t slice = 0; slice < std::min<size_t>(slices, cut.count()); ++slice) {
    header.offset = cut.begin(slice);
    const BytesView piece = BytesView(*zeros).first(cut.size(slice) * sizeof(float));
    env_.transport.Send(parts_.peer, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                        [zeros](const Status&) {});
  }
}

void WorkDesk::Advance() {
  while (!stopped_ && !running_ && !adding_ && !ending_ && !queue_.empty()) {
    const Queued& next = queue_.front();
    if (next.cancelled) {
      SendPull(next.row, nullptr, false);
      queue_.pop_front();
      continue;
    }
    if (next.row.keep) {
      if (!Ready(next.row)) break;
      if (const Status begun = BeginKept(); !begun.ok()) return failed_(begun);
      continue;
    }
    Answer* answer = outbox_.Free();
    if (answer == nullptr || !Ready(next.row)) break;  // A send or an arrival goes on from here.
    const size_t length = VectorLength(parts_.shop->trainer->parameter_count());
    const Status fits =
        Outbox::Fit(*answer, PartLength(Field::kComplexPacked, length, next.row.parts));
    if (!fits.ok()) return failed_(fits);  // May destroy this.
    Begin(*answer);
  }
  leases_.Advance();
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

void WorkDesk::Begin(Answer& answer) {
  RowTask::Row& row = queue_.front().row;
  answer.computing = true;
  answer.step = row.step;
  answer.row = row.row;
  Header header = parts_.header;
  header.version = row.version;
  header.row_id = row.row;
  outbox_.Describe(answer, header);
  shares_ = kept_.TakeFrom(row);
  RowTask::Hooks hooks;
  if (shares_.empty() && row.parts == 1) {
    hooks.final = [this, &answer](size_t begin, size_t end, const Tally& tally) {
      OnFinal(answer, begin, end, tally);
    };
  }
  hooks.done = [this, &answer](const Status& status) { OnDone(answer, status); };
  Run(answer.sum, std::move(hooks));
}

void WorkDesk::Run(const std::shared_ptr<std::vector<float>>& sum, RowTask::Hooks hooks) {
  RowTask::Row& row = queue_.front().row;
  ParameterCopy parameters = parts_.parameters.Get(row.version);
  last_word_ = env_.loop.Now();
  // Its terms go; step, version and number stay.
  running_ = std::make_shared<RowTask>(env_.loop, parts_.shop, std::move(row),
                                       std::move(parameters), sum, std::move(room_));
  // Abandoned before this object goes, so no guard is needed.
  hooks.progress = [this] { OnProgress(); };
  running_->Run(std::move(hooks));
}

// After a restart of the step it may be there already.
Status WorkDesk::BeginKept() {
  const RowTask::Row& row = queue_.front().row;
  const PartitionId begin = row.terms[0].begin;
  const PartitionId end = row.terms[0].end;
  if (kept_.Has(row.version, begin, end)) {
    SendPull(row, nullptr, true);
    queue_.pop_front();
    return Status::Ok();
  }
  MOTLEY_ASSIGN_OR_RETURN(const KeptSums::Sum room, kept_.Room(row.version));
  RowTask::Hooks hooks;
  hooks.done = [this, begin, end](const Status& status) { OnKept(begin, end, status); };
  Run(room, std::move(hooks));
  return Status::Ok();
}

void WorkDesk::OnKept(PartitionId begin, PartitionId end, const Status& status) {
  const std::shared_ptr<RowTask> task = std::exchange(running_, nullptr);
  room_ = task->TakeRoom();
  const bool cancelled = status.code() == StatusCode::kCancelled;
  queue_.pop_front();
  if (!status.ok() && !cancelled) return failed_(status);  // May destroy this.
  if (status.ok()) {
    kept_.Keep(begin, end, task->sum(), task->tally());
  } else {
    kept_.GiveBack(task->sum());
  }
  SendPull(task->row(), task.get(), status.ok());
  Advance();
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
  EncodeAgain(progress, progress_);
  SendAgain(progress_, Priority::kControl);
}

void WorkDesk::OnFinal(Answer& answer, size_t begin, size_t end, const Tally& tally) {
  if (queue_.front().cancelled) return;
  answer.tally = tally;
  outbox_.Final(answer, begin, end);
}

void WorkDesk::OnDone(Answer& answer, const Status& status) {
  const std::shared_ptr<RowTask> task = std::exchange(running_, nullptr);
  room_ = task->TakeRoom();
  std::vector<KeptSums::Share> shares = std::exchange(shares_, {});
  answer.tally = task->tally();
  for (const KeptSums::Share& share : shares) answer.tally.Add(share.weights[0], share.tally);
  if (!status.ok() || shares.empty() || queue_.front().cancelled) {
    return EndRow(answer, *task, status);
  }
  adding_ = true;
  KeptSums::Add(env_.device, std::move(shares), answer.sum,
                alive_.Guard([this, &answer, task](const Status& added) {
                  adding_ = false;
                  if (!stopped_) EndRow(answer, *task, added);
                }));
}

void WorkDesk::EndRow(Answer& answer, const RowTask& task, const Status& status) {
  answer.computing = false;
  const bool cancelled = queue_.front().cancelled || status.code() == StatusCode::kCancelled;
  queue_.pop_front();
  if (!status.ok() && !cancelled) return failed_(status);  // May destroy this.
  ending_ = true;  // Slices that left before make the vector free: the next row must not end first.
  if (!cancelled) outbox_.Send(answer);
  SendPull(task.row(), &task, !cancelled);
  ending_ = false;
  Advance();
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
  EncodeAgain(pull, pull_);
  SendAgain(pull_, Priority::kBulk);
}

void WorkDesk::SendAgain(const Bytes& control, Priority priority) {
  Header header = parts_.header;
  header.kind = FrameKind::kControl;
  SendBytes(env_.transport, parts_.peer, header, control, priority, nullptr);
}

}  // namespace motley
