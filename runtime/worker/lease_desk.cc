// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/lease_desk.h"

#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

// Inside a chunk; its end is always told.
constexpr Duration kProgressInterval = std::chrono::milliseconds(10);

}  // namespace

LeaseDesk::LeaseDesk(Env env, const DeskParts& parts, Outbox& outbox,
                     std::function<void(const Status&)> failed)
    : env_(env), parts_(parts), outbox_(outbox), failed_(std::move(failed)) {}

LeaseDesk::~LeaseDesk() {
  if (running_) running_->Abandon();
}

void LeaseDesk::Stop() {
  stopped_ = true;
  if (running_) running_->Abandon();
  task_ = nullptr;
}

bool LeaseDesk::IsCurrent(StepId step, uint32_t list) const {
  return task_ && task_->lease().step == step && task_->lease().list == list;
}

// A sum that is being computed stays in use until the device has given it back.
void LeaseDesk::Drop() {
  if (running_) running_->Cancel();
  if (sum_ != nullptr && !running_) sum_->computing = false;
  sum_ = nullptr;
  task_ = nullptr;
}

Status LeaseDesk::Extend(const wire::ExtendT& extend) {
  if (stopped_) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(
      CheckPartitions(extend.partitions, parts_.shop->schedule.partition_sizes().size())
          .WithContext("the server leased"));
  if (!IsCurrent(extend.step, extend.list)) {
    leased_ = true;
    Drop();
    outbox_.Cancel(extend.step);
    task_ = std::make_shared<LeaseTask>(env_.loop, parts_.shop,
                                        LeaseTask::Lease{extend.step, extend.version, extend.list});
    sent_ = 0;
    told_ = false;
    last_word_ = env_.loop.Now();
  }
  MOTLEY_RETURN_IF_ERROR(task_->Extend(extend.partitions));
  told_ = false;
  Advance();
  return Status::Ok();
}

Status LeaseDesk::Revoke(const wire::RevokeT& revoke) {
  if (stopped_ || !IsCurrent(revoke.step, revoke.list)) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(
      CheckPartitions(revoke.partitions, parts_.shop->schedule.partition_sizes().size())
          .WithContext("the server revoked"));
  wire::ReleasedT released;
  released.step = revoke.step;
  released.list = revoke.list;
  released.partitions = task_->Release(revoke.partitions);
  SendControl(env_.transport, parts_.peer, parts_.header, released);
  SendIfDue();
  return Status::Ok();
}

void LeaseDesk::Send(const wire::SendVectorT& send) {
  if (stopped_ || !IsCurrent(send.step, send.list)) return;
  told_ = true;
  SendIfDue();
}

void LeaseDesk::Cancel(StepId step) {
  if (stopped_) return;
  if (task_ && task_->lease().step <= step) Drop();
  if (!leased_) return;
  wire::ProgressT word;
  word.step = step;
  SendControl(env_.transport, parts_.peer, parts_.header, word);
}

void LeaseDesk::Advance() {
  if (stopped_ || running_ || !task_ || !task_->Ready()) return;
  if (parts_.parameters.Get(task_->lease().version) == nullptr) return;
  if (sum_ == nullptr) {
    sum_ = outbox_.Free();
    if (sum_ == nullptr) return;  // A vector that leaves goes on from here.
    const size_t length = VectorLength(parts_.shop->trainer->parameter_count());
    if (Status fits = Outbox::Fit(*sum_, length); !fits.ok()) return failed_(fits);
    sum_->step = task_->lease().step;
    sum_->computing = true;
    std::fill(sum_->sum->begin(), sum_->sum->end(), 0.0f);
  }
  running_ = task_;
  running_->Compute(parts_.parameters.Get(task_->lease().version), sum_->sum, told_, Hooks());
}

// Abandoned before this object goes, so no guard is needed.
LeaseTask::Hooks LeaseDesk::Hooks() {
  return {[this] { OnProgress(); },
          [this, sum = sum_](const Status& status) { OnChunk(*sum, status); }};
}

void LeaseDesk::OnProgress() {
  if (running_ == task_ && env_.loop.Now() - last_word_ >= kProgressInterval) TellProgress();
}

void LeaseDesk::OnChunk(Outbox::Vector& sum, const Status& status) {
  const std::shared_ptr<LeaseTask> ended = std::exchange(running_, nullptr);
  if (ended != task_) {
    sum.computing = false;
    return Advance();
  }
  if (!status.ok()) return failed_(status);  // May destroy this.
  TellProgress();
  SendIfDue();
  Advance();
}

void LeaseDesk::TellProgress() {
  last_word_ = env_.loop.Now();
  wire::LeaseProgressT progress;
  progress.step = task_->lease().step;
  progress.list = task_->lease().list;
  progress.done = static_cast<uint32_t>(task_->done());
  progress.compute_ns = static_cast<uint64_t>(task_->compute().count());
  SendControl(env_.transport, parts_.peer, parts_.header, progress);
}

void LeaseDesk::SendIfDue() {
  if (!told_ || running_ || task_->done() < task_->size()) return;
  if (task_->held()) {  // This is called again once it is here.
    running_ = task_;
    return running_->Fetch(sum_->sum, Hooks());
  }
  told_ = false;
  if (task_->done() == sent_) return;
  wire::VectorEndT end;
  end.step = task_->lease().step;
  end.list = task_->lease().list;
  end.entries = static_cast<uint32_t>(task_->done() - sent_);
  end.held_bytes = parts_.partitions.held_bytes();
  sent_ = task_->done();
  Header header = parts_.header;
  header.version = task_->lease().version;
  header.row_id = task_->lease().list;
  Outbox::Vector& vector = *std::exchange(sum_, nullptr);
  vector.computing = false;
  vector.tally = task_->TakeTally();
  outbox_.Describe(vector, header);
  outbox_.Send(vector);
  SendControl(env_.transport, parts_.peer, parts_.header, end, Priority::kBulk);
}

}  // namespace motley
