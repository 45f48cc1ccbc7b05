// SPDX-License-Identifier: Apache-2.0
#include "planner/step_model.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/loop/time_queue.h"
#include "base/random.h"
#include "planner/shared_link.h"
#include "scheduler/step/pieces.h"

namespace motley {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

// The next thing to happen. `note` is the number of a message's content, or of a timer's setting.
struct Due {
  enum class Kind : uint8_t {
    kToWorker,
    kToServer,
    kReady,
    kPartitionDone,
    kAtLink,
    kThroughLink,
    kDeath,
    kTick
  };
  double time;
  uint64_t order;  // Order of equal times: first set, first run.
  Kind kind;
  WorkerId worker;
  uint32_t note;

  bool operator>(const Due& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

struct WorkerState {
  std::vector<PartitionId> list;
  uint32_t size = 0;  // Length of the list, which is not stored if work is done in blocks.
  uint32_t done = 0;
  uint32_t sent = 0;
  bool busy = false;
  bool send_at_end = false;
  bool dead = false;
  double died = 0;
  bool awaited = false;    // Its block began later than the command for it.
  uint32_t blocks = 0;     // Blocks that it began.
  double began = 0;        // Start of the present block.
  uint32_t block = 0;      // Partitions of the present block.
  double ends = 0;         // End of the present block.
  double ready = kNoTime;  // When it has the parameters.
  double link_free = 0;
  double computed = 0;  // Seconds.
  uint32_t vectors = 0;
  bool arrived = false;  // Some vector of the worker arrived.
  StepAnswer answer;

  double DonePart(double at) const { return ends > began ? (at - began) / (ends - began) : 1; }
};

class StepRun {
 public:
  StepRun(const StepSetting& setting, StepPolicy& policy, const StepModelOptions& options)
      : setting_(setting),
        policy_(policy),
        options_(options),
        random_(options.seed, Stream::kSimulation),
        workers_(setting.workers.size()),
        in_blocks_(!policy.wants_progress() && !policy.sends_each() && !options.record) {}

  StepOutcome Run();

 private:
  ModelWorker Truth(WorkerId w) const {
    return options_.truth.empty() ? ModelWorker{} : options_.truth[w];
  }
  void Push(double time, Due::Kind kind, WorkerId worker, uint32_t note);
  void Handle(const Due& due);
  void Die(WorkerId w);
  void Tell(const StepEvent& event);
  void CarryOut();
  void ToServer(WorkerId worker, StepEvent event);
  void AtWorker(WorkerId w, const StepCommand& command);
  // When the worker has the parameters; they come with its first work.
  double& ReadyOf(WorkerId w) {
    const StepWorker& known = setting_.workers[w];
    double& ready = workers_[w].ready;
    if (ready == kNoTime) ready = std::max(now_, known.data_seconds) + known.start_seconds;
    return ready;
  }
  void BeginBlock(WorkerId w, uint32_t count);
  void EndBlock(WorkerId w);
  void Revoke(WorkerId w, const std::vector<PartitionId>& asked);
  void Compute(WorkerId w);
  double SecondsOf(WorkerId w, uint32_t count, double work);
  double WorkOf(const WorkerState& worker) const;
  double EndOfPiece(WorkerId w) const;
  uint32_t BlockOf(WorkerId w) const;
  void EndBlocks();
  void PartitionDone(WorkerId w);
  void Send(WorkerId w, double when);
  void Begin();
  void AtLink(const Due& due);
  void AwaitLink();
  void ThroughLink();

  const StepSetting& setting_;
  StepPolicy& policy_;
  const StepModelOptions& options_;
  Random random_;
  std::vector<WorkerState> workers_;
  bool in_blocks_;
  TimeQueue<Due> due_;
  std::vector<StepCommand> commands_, sent_commands_;
  std::vector<StepEvent> events_;
  double now_ = 0;
  // The server's link.
  SharedLink link_;
  uint32_t link_awaited_ = 0;  // The number of the last kThroughLink event that counts.
  double tick_ = kNoTime;      // The tick that is set.
  uint64_t order_ = 0;
  bool enough_ = false;
  StepOutcome outcome_;
};

void StepRun::Push(double time, Due::Kind kind, WorkerId worker, uint32_t note) {
  due_.Push({time, order_++, kind, worker, note});
}

StepOutcome StepRun::Run() {
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (!setting_.workers[w].live) workers_[w].dead = true;
    const double dies_at = Truth(w).dies_at;
    if (workers_[w].dead) continue;
    if (dies_at <= 0) {
      Die(w);
    } else if (dies_at < kNoTime) {
      Push(dies_at, Due::Kind::kDeath, w, 0);
    }
  }
  Begin();
  while (!enough_ && !due_.empty()) {
    const Due due = due_.Pop();
    now_ = due.time;
    ++outcome_.events;
    Handle(due);
  }
  if (enough_) outcome_.seconds = now_;
  link_.Turn(now_);
  outcome_.link_seconds = link_.busy_seconds();
  if (in_blocks_) EndBlocks();
  for (const WorkerState& worker : workers_) {
    outcome_.most_vectors = std::max(outcome_.most_vectors, worker.vectors);
    outcome_.workers += worker.size > 0 ? 1 : 0;
    outcome_.answers.push_back(worker.answer);
    outcome_.late.push_back(worker.size > 0 && !worker.arrived);
  }
  return std::move(outcome_);
}

void StepRun::Handle(const Due& due) {
  switch (due.kind) {
    case Due::Kind::kToWorker:
      if (!workers_[due.worker].dead) AtWorker(due.worker, sent_commands_[due.note]);
      break;
    case Due::Kind::kToServer: Tell(events_[due.note]); break;
    case Due::Kind::kPartitionDone:
      if (!workers_[due.worker].dead && due.note == workers_[due.worker].blocks) {
        PartitionDone(due.worker);
      }
      break;
    case Due::Kind::kReady:
      if (!workers_[due.worker].dead) Compute(due.worker);
      break;
    case Due::Kind::kAtLink: AtLink(due); break;
    case Due::Kind::kThroughLink:
      if (due.note == link_awaited_) ThroughLink();
      break;
    case Due::Kind::kDeath: Die(due.worker); break;
    case Due::Kind::kTick:
      if (due.time != tick_) break;  // Superseded.
      tick_ = kNoTime;
      Tell(StepTick{});
  }
}

void StepRun::Die(WorkerId w) {
  workers_[w].dead = true;
  workers_[w].died = now_;
  events_.emplace_back(StepWorkerLost{w});
  Push(now_ + options_.notice_seconds, Due::Kind::kToServer, w,
       static_cast<uint32_t>(events_.size() - 1));
}

void StepRun::Tell(const StepEvent& event) {
  if (const auto* vector = std::get_if<VectorArrived>(&event)) {
    StepAnswer& answer = workers_[vector->worker].answer;
    if (answer.waited < 0) answer.waited = std::max(0.0, now_ - answer.computed);
  }
  policy_.OnEvent(event, now_, commands_);
  CarryOut();
}

void StepRun::CarryOut() {
  for (StepCommand& command : commands_) {
    if (std::holds_alternative<StepEnough>(command)) {
      enough_ = true;
      continue;
    }
    const WorkerId to = std::visit(
        [](const auto& c) -> WorkerId {
          if constexpr (requires { c.worker; }) return c.worker;
          return 0;
        },
        command);
    ++outcome_.controls;
    // Commands at the beginning of a step travel with the parameters, which every scheme sends.
    if (now_ == 0) {
      if (!workers_[to].dead) AtWorker(to, command);
      continue;
    }
    sent_commands_.push_back(std::move(command));
    Push(now_ + setting_.workers[to].latency_seconds, Due::Kind::kToWorker, to,
         static_cast<uint32_t>(sent_commands_.size() - 1));
  }
  commands_.clear();
  const double tick = policy_.NextTick();
  if (tick < kNoTime && tick != tick_) {
    tick_ = std::max(tick, now_);
    Push(tick_, Due::Kind::kTick, 0, 0);
  }
}

void StepRun::ToServer(WorkerId worker, StepEvent event) {
  ++outcome_.controls;
  events_.push_back(std::move(event));
  Push(now_ + setting_.workers[worker].latency_seconds, Due::Kind::kToServer, worker,
       static_cast<uint32_t>(events_.size() - 1));
}

void StepRun::AtWorker(WorkerId w, const StepCommand& command) {
  WorkerState& worker = workers_[w];
  if (const auto* extend = std::get_if<ExtendList>(&command)) {
    if (extend->data > 0) {
      if (setting_.data_seconds == kNoTime) return;  // The data never come.
      ReadyOf(w) = std::max(now_, ReadyOf(w)) + extend->data * setting_.data_seconds;
    }
    if (in_blocks_) return BeginBlock(w, static_cast<uint32_t>(extend->all().size()));
    const auto more = extend->all();
    worker.list.insert(worker.list.end(), more.begin(), more.end());
    worker.size = static_cast<uint32_t>(worker.list.size());
    worker.send_at_end = false;
    Compute(w);
  } else if (const auto* revoke = std::get_if<RevokeList>(&command)) {
    Revoke(w, revoke->partitions);
  } else if (const auto* send = std::get_if<SendVector>(&command)) {
    worker.send_at_end = !send->now;
    if (in_blocks_) {
      Send(w, worker.ends);
    } else if (send->now || (!worker.busy && worker.done == worker.size)) {
      Send(w, worker.busy ? EndOfPiece(w) : std::max(now_, worker.ready));
    }
  }
}

// When the worker can do other work. A piece on its device cannot be stopped, and a large block
// consists of several pieces.
double StepRun::EndOfPiece(WorkerId w) const {
  const WorkerState& worker = workers_[w];
  const double least = setting_.workers[w].least_piece, work = WorkOf(worker);
  if (least <= 0 || work <= least) return worker.ends;
  const double piece = (worker.ends - worker.began) * least / work;
  return std::min(worker.ends, worker.began + std::ceil((now_ - worker.began) / piece) * piece);
}

// The work of the block that it begins, in mean partitions.
double StepRun::WorkOf(const WorkerState& worker) const {
  if (setting_.work.empty()) return worker.block;
  double work = 0;
  for (uint32_t i = 0; i < worker.block; ++i) work += setting_.work[worker.list[worker.done + i]];
  return work;
}

// Computes a block at once, because nobody sees any of it before its vector is at the link.
void StepRun::BeginBlock(WorkerId w, uint32_t count) {
  WorkerState& worker = workers_[w];
  MOTLEY_ASSERT(worker.done == worker.size);
  worker.began = std::max(now_, ReadyOf(w));
  worker.awaited = worker.began > now_;
  worker.ends = worker.began + SecondsOf(w, count, count);
  worker.size += count;
}

void StepRun::Revoke(WorkerId w, const std::vector<PartitionId>& asked) {
  WorkerState& worker = workers_[w];
  const auto wanted = [&](PartitionId p) {
    return std::find(asked.begin(), asked.end(), p) != asked.end();
  };
  // The worker leaves a kept row that it has begun after the piece that is on the device.
  const bool leaves = worker.busy && policy_.resends() && wanted(worker.list[worker.done]);
  if (leaves) {
    worker.ready = EndOfPiece(w);
    outcome_.partitions += worker.DonePart(worker.ready) * worker.block;
    worker.busy = false;
    ++worker.blocks;  // The block does not end.
  }
  const auto first = worker.list.begin() + worker.done + (worker.busy ? worker.block : 0);
  const auto given_back =
      std::stable_partition(first, worker.list.end(), [&](PartitionId p) { return !wanted(p); });
  ListReleased released{w, {given_back, worker.list.end()}};
  worker.list.erase(given_back, worker.list.end());
  worker.size = static_cast<uint32_t>(worker.list.size());
  ToServer(w, std::move(released));
  if (leaves) Compute(w);
}

// The partitions of a block vary independently.
double StepRun::SecondsOf(WorkerId w, uint32_t count, double work) {
  const StepWorker& known = setting_.workers[w];
  double pieces = 1;
  if (known.least_piece > 0 && !policy_.wants_progress()) {
    pieces = std::clamp(std::floor(count / known.least_piece), 1.0, 1.0 * kPiecesOfRow);
  }
  double seconds = known.seconds_per_partition * std::max<double>(work, pieces * known.piece_knee);
  seconds += known.piece_overhead_seconds * pieces;
  if (options_.jitter > 0) {
    seconds *= std::max(0.1, 1 + options_.jitter * random_.Normal() / std::sqrt(count));
  }
  if (workers_[w].done == 0) seconds += known.overhead_seconds;
  return seconds * Truth(w).slowdown;
}

// Partitions that are done at once, as far as others can see.
uint32_t StepRun::BlockOf(WorkerId w) const {
  const uint32_t left = workers_[w].size - workers_[w].done;
  const double least = setting_.workers[w].least_piece;
  if (least <= 0 || policy_.sends_each()) return 1;
  return std::min(left,
                  static_cast<uint32_t>(std::ceil(std::max(least, 1.0 * left / kPartsOfTheRest))));
}

void StepRun::Compute(WorkerId w) {
  WorkerState& worker = workers_[w];
  if (worker.busy || worker.done == worker.size) return;
  if (now_ < ReadyOf(w)) return Push(worker.ready, Due::Kind::kReady, w, 0);
  worker.busy = true;
  worker.began = now_;
  worker.block = BlockOf(w);
  worker.ends = now_ + SecondsOf(w, worker.block, WorkOf(worker));
  Push(worker.ends, Due::Kind::kPartitionDone, w, ++worker.blocks);
}

// Ends the block of a worker whose vector is sent.
void StepRun::EndBlock(WorkerId w) {
  WorkerState& worker = workers_[w];
  outcome_.events += worker.awaited ? 2 : 1;
  outcome_.partitions += worker.size - worker.done;
  if (worker.vectors++ == 0) worker.answer.computed = worker.ends - worker.began;
  worker.done = worker.size;
}

// Counts the blocks that were under way at the end.
void StepRun::EndBlocks() {
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const WorkerState& worker = workers_[w];
    if (worker.done == worker.size) continue;
    if (worker.ends <= (worker.dead ? worker.died : now_)) {
      EndBlock(w);
      continue;
    }
    const bool began = !worker.dead || worker.died > worker.began || !worker.awaited;
    outcome_.events += began && worker.ends <= now_ ? 1 : 0;
    if (worker.began > now_) continue;
    outcome_.events += worker.awaited ? 1 : 0;
    if (worker.dead) continue;
    outcome_.partitions += worker.DonePart(now_) * (worker.size - worker.done);
  }
}

void StepRun::PartitionDone(WorkerId w) {
  WorkerState& worker = workers_[w];
  worker.busy = false;
  outcome_.partitions += worker.block;
  const double overhead = setting_.workers[w].overhead_seconds * Truth(w).slowdown;
  worker.computed += now_ - worker.began - (worker.done == 0 ? overhead : 0);
  if (worker.sent == 0) worker.answer.computed += now_ - worker.began;
  if (options_.record) {
    outcome_.spans.push_back(
        {w, StepSpan::Kind::kCompute, worker.began, now_, worker.list[worker.done]});
  }
  worker.done += worker.block;
  if (policy_.wants_progress()) ToServer(w, ListProgress{w, worker.done, worker.computed});
  const bool at_end = worker.done == worker.size && worker.send_at_end;
  if (at_end || policy_.sends_each()) Send(w, now_);
  Compute(w);
}

void StepRun::Send(WorkerId w, double when) {
  WorkerState& worker = workers_[w];
  if (policy_.resends()) worker.sent = 0;
  const uint32_t done = in_blocks_ ? worker.size : worker.done;
  if (done == worker.sent) return;
  const StepWorker& known = setting_.workers[w];
  const double own = (known.send_seconds + known.message_seconds) * policy_.vector_fraction();
  const double begins = std::max(when, worker.link_free);
  worker.link_free = begins + own;
  Push(begins + known.latency_seconds, Due::Kind::kAtLink, w, done - worker.sent);
  worker.sent = done;
  if (!in_blocks_) ++worker.vectors;
}

// Commands at the beginning travel with the parameters, which every scheme sends.
void StepRun::Begin() {
  policy_.Begin(commands_);
  double link = 0, late_link = 0;
  const auto late = [this](WorkerId w) { return !options_.late.empty() && options_.late[w]; };
  for (const StepCommand& command : commands_) {
    if (const auto* extend = std::get_if<ExtendList>(&command)) {
      const double own = setting_.workers[extend->worker].start_link_seconds;
      (late(extend->worker) ? late_link : link) += own;
    }
  }
  for (const StepCommand& command : commands_) {
    const auto* extend = std::get_if<ExtendList>(&command);
    if (extend == nullptr) continue;
    const StepWorker& known = setting_.workers[extend->worker];
    const bool is_late = late(extend->worker);
    const double shared = link + (is_late ? 1 : options_.late_shares) * late_link;
    workers_[extend->worker].ready = known.data_seconds + ReadySeconds(known, shared) +
                                     (is_late ? 2 * known.latency_seconds : 0);
  }
  CarryOut();
}

void StepRun::AtLink(const Due& due) {
  const WorkerState& from = workers_[due.worker];
  if (in_blocks_) {
    if (from.dead && from.died <= from.ends) {
      --outcome_.events;
      return;
    }
    EndBlock(due.worker);
  }
  const StepWorker& known = setting_.workers[due.worker];
  const double fraction = policy_.vector_fraction();
  if (known.message_seconds <= 0 && known.send_seconds <= 0) {
    ++outcome_.vectors;
    workers_[due.worker].arrived = true;
    return Tell(VectorArrived{due.worker, due.note});
  }
  link_.Turn(now_);
  Passing passing{link_.clock() + known.message_seconds * fraction,
                  order_++,
                  due.worker,
                  due.note,
                  now_,
                  now_ + (known.send_seconds + known.message_seconds) * fraction};
  // The vector had not left the worker's link.
  if (from.dead && from.died < passing.own_end - known.latency_seconds) return;
  link_.Add(passing);
  AwaitLink();
}

void StepRun::AwaitLink() {
  ++link_awaited_;
  if (!link_.empty()) Push(link_.NextEnd(), Due::Kind::kThroughLink, 0, link_awaited_);
}

void StepRun::ThroughLink() {
  link_.Turn(now_);
  const Passing through = link_.TakeNext();
  ++outcome_.vectors;
  const double arrives = std::max(now_, through.own_end);
  if (options_.record) {
    outcome_.spans.push_back({through.worker, StepSpan::Kind::kSend, through.began, arrives, 0});
  }
  workers_[through.worker].arrived = true;
  events_.emplace_back(VectorArrived{through.worker, through.entries});
  Push(arrives, Due::Kind::kToServer, through.worker, static_cast<uint32_t>(events_.size() - 1));
  AwaitLink();
}

}  // namespace

StepOutcome RunStepModel(const StepSetting& setting, StepPolicy& policy,
                         const StepModelOptions& options) {
  MOTLEY_ASSERT(options.truth.empty() || options.truth.size() == setting.workers.size());
  return StepRun(setting, policy, options).Run();
}

}  // namespace motley
