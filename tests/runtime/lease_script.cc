// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/lease_script.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(20);
constexpr Duration kSilence = std::chrono::seconds(1);

}  // namespace

LeaseScript::LeaseScript(uint32_t workers, uint32_t partitions, uint64_t steps, uint64_t seed,
                         Tale& tale)
    : random_(seed, Stream::kTest), steps_(steps), tale_(tale), workers_(workers) {
  covered_.resize(partitions);
  stats_.workers.resize(workers);
}

void LeaseScript::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  now_ = now;
  out_ = &out;
  std::visit([this](const auto& e) { On(e); }, event);
  if (open_) Give();
  out_ = nullptr;
}

void LeaseScript::On(const WorkerJoined& event) {
  workers_[event.worker] = Worker();
  workers_[event.worker].holds.resize(covered_.size());
  workers_[event.worker].benched = true;  // Until the next step begins.
}

void LeaseScript::On(const WorkerFree& event) {
  Worker& worker = workers_[event.worker];
  worker.ready = true;
  const bool all =
      std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.ready; });
  if (step_ == 0 && !open_ && all) OpenStep();
}

void LeaseScript::OpenStep() {
  open_ = true;
  out_->emplace_back(OpenLeases{step_, step_});
  std::fill(covered_.begin(), covered_.end(), false);
  missing_ = covered_.size();
  free_.clear();
  for (PartitionId p = 0; p < covered_.size(); ++p) free_.push_back(p);
  random_.Shuffle(std::span(free_));
  for (Worker& worker : workers_) {
    worker.benched = false;
    worker.list.clear();
    worker.asks.clear();
    worker.spent = worker.done = 0;
    worker.heard = now_;
  }
}

// Gives pieces of any size, and sometimes keeps some for later.
void LeaseScript::Give() {
  std::vector<WorkerId> able;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (InStep(w)) able.push_back(w);
  }
  if (able.empty()) {
    for (Worker& worker : workers_) worker.benched = false;  // Their new lists count.
    return;
  }
  while (!free_.empty() && !random_.Chance(0.05)) {
    const WorkerId w = able[random_.Below(able.size())];
    const size_t count = 1 + random_.Below(std::min<size_t>(free_.size(), 12));
    std::vector<PartitionId> piece(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end());
    free_.resize(free_.size() - count);
    Extend(w, std::move(piece));
  }
}

void LeaseScript::Extend(WorkerId w, std::vector<PartitionId> partitions) {
  Worker& worker = workers_[w];
  std::vector<PartitionId> lacking;
  for (const PartitionId p : partitions) {
    if (!worker.holds[p]) lacking.push_back(p);
    worker.holds[p] = true;
  }
  if (!lacking.empty()) out_->emplace_back(PlacePartitions{w, lacking});
  worker.list.insert(worker.list.end(), partitions.begin(), partitions.end());
  out_->emplace_back(ExtendLease{w, step_, std::move(partitions)});
  if (random_.Chance(0.5)) out_->emplace_back(SendLease{w, step_});
}

// Also asks for partitions that were started already. The worker then keeps these.
void LeaseScript::AskBack(WorkerId w) {
  Worker& worker = workers_[w];
  std::vector<PartitionId> asked;
  for (size_t i = worker.done; i < worker.list.size(); ++i) {
    const PartitionId p = worker.list[i];
    const bool before = std::any_of(worker.asks.begin(), worker.asks.end(), [p](const auto& ask) {
      return std::find(ask.begin(), ask.end(), p) != ask.end();
    });
    if (!before && random_.Chance(0.5)) asked.push_back(p);
  }
  ++tale_.revoked;  // An empty request is a ping.
  worker.asks.push_back(asked);
  out_->emplace_back(RevokeLease{w, step_, std::move(asked)});
}

void LeaseScript::On(const LeaseProgress& event) {
  Worker& worker = workers_[event.worker];
  if (!InStep(event.worker) || !open_) return;
  MOTLEY_ASSERT(event.step == step_ && event.done <= worker.list.size());
  worker.heard = now_;
  worker.done = event.done;
  if (random_.Chance(0.3)) AskBack(event.worker);
  if (random_.Chance(0.2)) out_->emplace_back(SendLease{event.worker, step_});
}

void LeaseScript::On(const LeaseReleased& event) {
  Worker& worker = workers_[event.worker];
  if (!InStep(event.worker) || !open_) return;
  MOTLEY_ASSERT(event.step == step_ && !worker.asks.empty());
  worker.asks.pop_front();
  for (const PartitionId p : event.partitions) {
    const auto at = std::find(worker.list.begin() + static_cast<std::ptrdiff_t>(worker.done),
                              worker.list.end(), p);
    MOTLEY_ASSERT(at != worker.list.end());
    worker.list.erase(at);
    free_.push_back(p);
    ++tale_.released;
  }
}

void LeaseScript::On(const LeaseVector& event) {
  Worker& worker = workers_[event.worker];
  MOTLEY_ASSERT(open_ && InStep(event.worker) && event.step == step_);
  worker.heard = now_;
  ++tale_.vectors;
  for (uint32_t i = 0; i < event.entries; ++i) {
    const PartitionId p = worker.list.at(worker.spent++);
    MOTLEY_ASSERT(!covered_[p]);
    covered_[p] = true;
    --missing_;
  }
  worker.done = std::max(worker.done, worker.spent);
  if (missing_ > 0) return;
  open_ = false;
  out_->emplace_back(CommitStep{step_});
}

void LeaseScript::Void(WorkerId w) {
  Worker& worker = workers_[w];
  if (open_)
    free_.insert(free_.end(), worker.list.begin() + static_cast<std::ptrdiff_t>(worker.spent),
                 worker.list.end());
  worker.list.clear();
  worker.asks.clear();
  worker.spent = worker.done = 0;
}

void LeaseScript::Bench(WorkerId w) {
  Void(w);
  workers_[w].benched = true;
  out_->emplace_back(CancelWork{w, step_});
}

void LeaseScript::On(const RowRejected& event) {
  MOTLEY_ASSERT(open_ && InStep(event.worker) && event.step == step_ && !event.touched);
  ++tale_.rejected;
  Bench(event.worker);
}

void LeaseScript::On(const WorkerLost& event) {
  Void(event.worker);
  workers_[event.worker].ready = false;
}

void LeaseScript::On(const StepApplied& event) {
  MOTLEY_ASSERT(event.step == step_ && !open_);
  ++stats_.steps_committed;
  restarted_ = false;
  if (++step_ == steps_) {
    out_->emplace_back(EndJob{});
    return;
  }
  OpenStep();
}

void LeaseScript::On(const Tick&) {
  tick_ = now_ + kTick;
  if (!open_) return;
  if (!restarted_ && random_.Chance(0.02)) {
    restarted_ = true;
    ++tale_.restarts;
    return OpenStep();
  }
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (!InStep(w) || worker.spent == worker.list.size()) continue;
    if (now_ > worker.heard + kSilence || random_.Chance(0.01)) {
      ++tale_.fenced;
      Bench(w);
    } else if (random_.Chance(0.5)) {
      out_->emplace_back(SendLease{w, step_});
    } else if (random_.Chance(0.3)) {
      AskBack(w);
    }
  }
}

}  // namespace motley
