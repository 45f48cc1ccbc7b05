// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <utility>

#include "base/signs.h"
#include "coding/decode/part_sums.h"
#include "devices/host_device.h"
#include "runtime/links/messages.h"
#include "transport/wire/repeated_control.h"

namespace motley {
namespace {

// Progress reports steer orders that can be taken back.
constexpr Duration kProgressInterval = std::chrono::milliseconds(50);
constexpr Duration kProgressOfLists = std::chrono::milliseconds(10);
constexpr size_t kMaxQueued = 1024;  // Orders: a list of rows, and a few after losses.

// The name of an answer within its step. Rows with the same terms have the same name at all
// workers. Lists grow while they are computed, and no two workers have the same.
uint64_t AnswerName(const WorkOrder::What& what, const Header& header) {
  uint64_t name = MixedSeed(what.parts);
  const auto mix = [&name](uint64_t value) { name = MixedSeed(name ^ value); };
  const auto mix_number = [&mix](const std::complex<double>& number) {
    mix(std::bit_cast<uint64_t>(number.real()));
    mix(std::bit_cast<uint64_t>(number.imag()));
  };
  if (!what.cover_known) {
    mix(header.row_id);
    mix(header.row);
    return name;
  }
  for (const PartitionTerm& term : what.terms) {
    mix(term.begin);
    mix(term.end);
    mix_number(term.coefficient);
    for (const auto& part : term.other_parts) mix_number(part);
  }
  return name;
}

}  // namespace

Executor::Executor(Env env, Parts parts, std::function<void(const Status&)> failed)
    : env_(env),
      parts_(std::move(parts)),
      failed_(std::move(failed)),
      outbox_(
          env.transport,
          parts_.peer_of != nullptr ? parts_.peer_of
                                    : [peer = parts_.peer](uint32_t) { return peer; },
          parts_.cut, parts_.seed, [this] { Advance(); }, parts_.shop->memory),
      kept_(parts_.shop->trainer->parameter_count(), HostMemoryOf(env.device),
            parts_.shop->memory) {}

Executor::~Executor() {
  for (const auto& order : queue_) order->Abandon();
  parts_.shop->trainer->LetGo();
}

void Executor::Stop() {
  stopped_ = true;
  for (const auto& order : queue_) order->Abandon();
  queue_.clear();
  parts_.shop->trainer->LetGo();
  outbox_.TakeBack();
}

// --- What the server says ---

void Executor::Introduce(double samples_per_second, const std::string& address) {
  wire::ReadyT ready;
  ready.address = address;
  ready.samples_per_second = samples_per_second;
  ready.held_bytes = parts_.partitions.held_bytes();
  SendControl(env_.transport, parts_.peer, parts_.header, ready, Priority::kBulk);
}

// The last order, if it is this one and can go on.
WorkOrder* Executor::ListOf(StepId step, uint32_t number) {
  if (stopped_ || queue_.empty()) return nullptr;
  WorkOrder& last = *queue_.back();
  const WorkOrder::What& what = last.what();
  const bool same = what.revocable && what.step == step && what.order == number;
  return same && !last.cancelled() ? &last : nullptr;
}

Status Executor::Take(WorkOrder::What what) {
  if (stopped_) return Status::Ok();
  if (WorkOrder* list = ListOf(what.step, what.order)) {
    if (!what.revocable || what.version != list->what().version) {
      return Status::DataError(
          fmt::format("the server continued order {} as an order of another kind", what.order));
    }
    MOTLEY_RETURN_IF_ERROR(list->Extend(what.terms));
    list->SetDue(false);
    Advance();
    return Status::Ok();
  }
  if (queue_.size() >= kMaxQueued) {
    return Status::DataError(fmt::format("the server gave more than {} orders", kMaxQueued));
  }
  CancelIf([&](const WorkOrder::What& other) {
    return other.step < what.step ||
           (other.step == what.step && (other.revocable || what.revocable));
  });
  if (what.revocable || what.step > 0) outbox_.Cancel(what.step - (what.revocable ? 0 : 1));
  revocable_ |= what.revocable;
  WorkOrder::Room room;
  if (!rooms_.empty()) {
    room = std::move(rooms_.back());
    rooms_.pop_back();
  }
  queue_.push_back(
      std::make_shared<WorkOrder>(env_.loop, parts_.shop, std::move(what), std::move(room)));
  Advance();
  return Status::Ok();
}

// Cancels orders. The first may be on the device, and orders that end with a message end in turn.
template <typename Meant>
void Executor::CancelIf(const Meant& meant) {
  for (const auto& order : queue_) {
    if (meant(order->what())) order->Cancel();
  }
  if (queue_.empty()) return;
  const auto gone = [](const auto& order) { return order->cancelled() && order->what().revocable; };
  queue_.erase(std::remove_if(queue_.begin() + 1, queue_.end(), gone), queue_.end());
}

void Executor::Cancel(StepId step, uint32_t number) {
  if (stopped_) return;
  CancelIf([&](const WorkOrder::What& what) {
    return number == 0 ? what.step <= step : what.step == step && what.order == number;
  });
  outbox_.Cancel(step, number);
  if (revocable_ && number == 0) {
    wire::ProgressT alive;
    alive.step = step;
    SendControl(env_.transport, parts_.peer, parts_.header, alive);
  }
  Advance();
}

Status Executor::Revoke(const wire::RevokeT& revoke) {
  WorkOrder* list = ListOf(revoke.step, revoke.order);
  if (list == nullptr) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(
      CheckPartitions(revoke.partitions, parts_.shop->schedule.partition_sizes().size())
          .WithContext("the server revoked"));
  wire::ReleasedT released;
  released.step = revoke.step;
  released.order = revoke.order;
  released.partitions = list->Release(revoke.partitions);
  SendControl(env_.transport, parts_.peer, parts_.header, released);
  Advance();
  return Status::Ok();
}

void Executor::Flush(const wire::FlushT& flush) {
  WorkOrder* list = ListOf(flush.step, flush.order);
  if (list == nullptr) return LetSend(flush.step, flush.order);
  list->SetDue(true);
  Advance();
}

// The slices of an order that waits may leave.
void Executor::LetSend(StepId step, uint32_t number) {
  if (stopped_) return;
  for (const auto& order : queue_) {
    const WorkOrder::What& what = order->what();
    if (what.step != step || what.order != number || order->state().may_send) continue;
    order->LetSend();
    const bool begun = order == queue_.front() && first_.answer != nullptr;
    if (begun && !order->cancelled()) outbox_.LetGo(*first_.answer);
  }
  Advance();
}

void Executor::AskToSend(const WorkOrder& order) {
  if (std::exchange(first_.asked, true)) return;
  wire::ProgressT ready;
  ready.step = order.what().step;
  ready.order = order.what().order;
  ready.samples = order.state().samples + order.state().in_chunk;
  ready.entries = static_cast<uint32_t>(order.done());
  ready.compute_ns = static_cast<uint64_t>(order.state().compute.count());
  ready.ready = true;
  SendControl(env_.transport, parts_.peer, parts_.header, ready);
}

void Executor::SendProbe(uint32_t slices) {
  const Slicing& cut = parts_.cut;
  const auto zeros =
      std::make_shared<const Bytes>(WireBytes(cut.format(), std::min(cut.length(), cut.total())));
  Header header = parts_.header;
  header.kind = FrameKind::kProbe;
  header.total = cut.total();
  header.format = cut.format();
  for (size_t slice = 0; slice < std::min<size_t>(slices, cut.count()); ++slice) {
    header.offset = cut.begin(slice);
    header.shard = static_cast<uint32_t>(cut.ShardOf(slice));
    const BytesView piece = BytesView(*zeros).first(cut.bytes(slice));
    env_.transport.Send(parts_.peer, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                        [zeros](const Status&) {});
  }
}

// --- The first order ---

void Executor::Advance() {
  while (!stopped_ && !first_.busy && !queue_.empty()) {
    const Result<bool> went_on = GoOn(*queue_.front());
    if (!went_on.ok()) return failed_(went_on.status());  // The hook may destroy this object.
    if (!*went_on) return;
  }
}

// Takes one step of the order. False: the order waits for something that calls Advance again.
Result<bool> Executor::GoOn(WorkOrder& order) {
  const WorkOrder::What& what = order.what();
  const bool kept = what.keep && kept_.Has(what.version, what.terms[0].begin, what.terms[0].end);
  if (order.cancelled() || kept) {
    End(!order.cancelled());
    return true;
  }
  if (order.parameters() == nullptr) {
    auto parameters = parts_.parameters.AtLeast(what.version);
    if (parameters == nullptr) return false;
    order.SetParameters(std::move(parameters), parts_.parameters.newest());
  }
  // A list that was sent waits for more partitions.
  const bool sent = what.revocable && order.done() == first_.sent;
  if (order.finished() ? !order.state().due || sent : !order.Ready()) return false;
  if (first_.sum == nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(const bool begun, Begin(order));
    if (!begun) return false;
  }
  if (order.finished()) return Conclude(order);
  first_.busy = true;
  order.Compute(first_.sum, Hooks(order));
  return false;
}

// Finds a buffer for the sum.
Result<bool> Executor::Begin(WorkOrder& order) {
  const WorkOrder::What& what = order.what();
  first_.reported = env_.loop.Now();
  if (!what.keep) return BeginAnswer(order);
  MOTLEY_ASSIGN_OR_RETURN(first_.sum, kept_.Room(order.version()));
  std::fill(first_.sum->begin(), first_.sum->end(), 0.0f);
  return true;
}

Result<bool> Executor::BeginAnswer(WorkOrder& order) {
  const WorkOrder::What& what = order.what();
  Outbox::Vector* answer = outbox_.Free();
  if (answer == nullptr) return false;  // The order goes on when a vector has left.
  MOTLEY_RETURN_IF_ERROR(outbox_.Fit(*answer, what.parts));
  answer->computing = true;
  Header header = parts_.header;
  header.step = what.step;
  header.version = order.version();
  header.row_id = what.order;
  header.attempt = what.attempt;
  header.row = what.cover_known ? what.row : first_.vectors++;
  outbox_.Describe(*answer, header, AnswerName(what, header));
  std::fill(answer->sum->begin(), answer->sum->end(), 0.0f);
  answer->held = !order.state().may_send;
  first_.answer = answer;
  first_.sum = answer->sum;
  if (!what.cover_known) return true;
  std::vector<PartitionTerm> left;
  first_.shares = kept_.TakeFrom(what, left);
  if (!first_.shares.empty()) order.SetTerms(std::move(left));
  return true;
}

WorkOrder::Hooks Executor::Hooks(const WorkOrder& order) {
  // Orders are abandoned before this object is destroyed, so the hooks need no guard.
  WorkOrder::Hooks hooks;
  hooks.progress = [this] { OnProgress(/*chunk_is_done=*/false); };
  hooks.done = [this](const Status& status) { OnChunk(status); };
  const WorkOrder::What& what = order.what();
  if (what.cover_known && !what.keep && what.parts == 1 && first_.shares.empty()) {
    hooks.final = [this, &order](size_t begin, size_t end, const Tally& tally) {
      first_.answer->tally = tally;
      if (outbox_.Final(*first_.answer, begin, end)) AskToSend(order);
    };
  }
  return hooks;
}

void Executor::OnChunk(const Status& status) {
  first_.busy = false;
  const WorkOrder& order = *queue_.front();
  if (!order.cancelled()) {
    if (!status.ok()) return failed_(status);  // The hook may destroy this object.
    OnProgress(/*chunk_is_done=*/true);
  }
  Advance();
}

void Executor::OnProgress(bool chunk_is_done) {
  const WorkOrder& order = *queue_.front();
  const WorkOrder::What& what = order.what();
  const Time now = env_.loop.Now();
  const Duration interval = what.revocable ? kProgressOfLists : kProgressInterval;
  const bool due = (what.revocable && chunk_is_done) || now - first_.reported >= interval;
  const bool ends = !what.revocable && order.finished();
  if (order.cancelled() || ends || !due) return;
  first_.reported = now;
  wire::ProgressT progress;
  progress.step = what.step;
  progress.order = what.order;
  progress.samples = order.state().samples + order.state().in_chunk;
  progress.entries = static_cast<uint32_t>(order.done());
  progress.compute_ns = static_cast<uint64_t>(order.state().compute.count());
  EncodeAgain(progress, last_.progress);
  Say(last_.progress, Priority::kControl);
}

// Ends an order that is computed in whole. False: the device has something to do first.
bool Executor::Conclude(WorkOrder& order) {
  if (order.state().on_device) {
    first_.busy = true;
    order.Fetch(Hooks(order));
    return false;
  }
  if (!first_.shares.empty()) {
    AddShares(order);
    return false;
  }
  if (order.what().keep) {  // The order ends without an answer.
    const PartitionTerm& run = order.what().terms[0];
    kept_.Keep(run.begin, run.end, std::exchange(first_.sum, nullptr), order.TakeTally());
  } else if (!order.state().may_send) {
    AskToSend(order);
    return false;
  } else {
    SendAnswer(order);
  }
  return true;
}

void Executor::AddShares(WorkOrder& order) {
  first_.busy = true;
  for (const KeptSums::Share& share : first_.shares) {
    first_.of_shares.Add(share.weights[0], share.tally);
  }
  KeptSums::Add(env_.device, std::exchange(first_.shares, {}), first_.sum, parts_.shop->ends,
                alive_.Guard([this, &order, keep = parts_.shop](const Status& added) {
                  if (stopped_) return;
                  first_.busy = false;
                  if (!added.ok() && !order.cancelled()) return failed_(added);
                  Advance();
                }));
}

void Executor::SendAnswer(WorkOrder& order) {
  Outbox::Vector& answer = *std::exchange(first_.answer, nullptr);
  first_.sum = nullptr;
  answer.tally = order.TakeTally();
  answer.tally.Add(1, first_.of_shares);
  answer.computing = false;
  // Slices that left before may free the vector here, and the next order must not end first.
  first_.busy = true;
  outbox_.Send(answer);
  first_.busy = false;
  if (!order.what().revocable) return End(/*finished=*/true);
  SayEnd(order, order.done() - std::exchange(first_.sent, order.done()), /*finished=*/true);
}

// Ends the first order.
void Executor::End(bool finished) {
  const std::shared_ptr<WorkOrder> order = std::move(queue_.front());
  queue_.pop_front();
  First first = std::exchange(first_, First());
  if (first.answer != nullptr) {
    first.answer->computing = false;
  } else if (first.sum != nullptr) {
    kept_.GiveBack(std::move(first.sum));
  }
  rooms_.push_back(order->TakeRoom());
  const WorkOrder::What& what = order->what();
  if (what.revocable) return;
  SayEnd(*order, finished && !what.cover_known ? order->done() : 0, finished);
  if (!finished || !queue_.empty() || !parts_.shop->trainer->goes_ahead()) return;
  order->GoAhead(alive_.Guard([this](const Status& why) {
    if (!stopped_) failed_(why);  // The hook may destroy this object.
  }));
}

void Executor::SayEnd(const WorkOrder& order, size_t entries, bool finished) {
  wire::AnswerEndT end;
  end.step = order.what().step;
  end.order = order.what().order;
  end.entries = static_cast<uint32_t>(entries);
  end.samples = order.state().samples;
  end.compute_ns = static_cast<uint64_t>(order.state().compute.count());
  end.finished = finished;
  end.held_bytes = parts_.partitions.held_bytes();
  EncodeAgain(end, last_.end);
  Say(last_.end, Priority::kBulk);
}

void Executor::Say(const Bytes& control, Priority priority) {
  Header header = parts_.header;
  header.kind = FrameKind::kControl;
  SendBytes(env_.transport, parts_.peer, header, control, priority, nullptr);
}

}  // namespace motley
