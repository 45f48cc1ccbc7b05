// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/shard_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "coding/form_bytes.h"
#include "coding/kernels/combine.h"
#include "runtime/memory_need.h"
#include "runtime/shard/held_shard.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

std::vector<double> RealParts(const std::vector<Complex>& values) {
  std::vector<double> real;
  for (const Complex& value : values) real.push_back(value.real());
  return real;
}

}  // namespace

void SetOptimizer(wire::ShardHoldT& hold, const OptimizerOptions& options) {
  hold.optimizer = options.name;
  hold.numbers = {options.learning_rate, options.l2, options.clip};
  for (const RuleOption& option : FindOptimizerRule(options.name)->options) {
    hold.numbers.push_back(options.*option.value);
  }
  for (const ParameterGroup& group : options.groups) {
    hold.groups.emplace_back(group.end, group.learning_rate, group.l2, group.weight_decay);
  }
}

Result<OptimizerOptions> OptimizerOf(const wire::ShardHoldT& hold) {
  const OptimizerRule* rule = FindOptimizerRule(hold.optimizer);
  if (rule == nullptr || hold.numbers.size() != 3 + rule->options.size()) {
    return Status::DataError("a shard with an optimizer that this release does not have");
  }
  OptimizerOptions options;
  options.name = hold.optimizer;
  options.learning_rate = hold.numbers[0];
  options.l2 = hold.numbers[1];
  options.clip = hold.numbers[2];
  for (size_t i = 0; i < rule->options.size(); ++i) {
    options.*rule->options[i].value = hold.numbers[3 + i];
  }
  for (const wire::Group& group : hold.groups) {
    options.groups.push_back(
        {group.end(), group.learning_rate(), group.l2(), group.weight_decay()});
  }
  return options;
}

ShardHost::ShardHost(Parts parts, Job job)
    : parts_(std::move(parts)),
      job_(std::move(job)),
      log_(job_.workers, job_.id, /*secret=*/0, [](StepId) { return true; }),
      copies_(
          {parts_.loop, parts_.transport, parts_.device, parts_.coordinator, parts_.header, [this] {
             const auto queued = [this](PeerId peer) {
               return peer != 0 && parts_.transport.QueuedBytes(peer) > 0;
             };
             bool any = std::any_of(peers_.begin(), peers_.end(),
                                    [&](const auto& each) { return queued(each.first); });
             for (WorkerId node = 0; node < job_.places; ++node) any |= queued(parts_.link(node));
             return any;
           }}) {}

ShardHost::~ShardHost() {
  for (const auto& [id, peer] : peers_) {
    peer->readers.clear();
    parts_.transport.Disconnect(id);
  }
}

ShardHost::Held* ShardHost::Find(uint32_t shard) {
  const auto found = held_.find(shard);
  return found == held_.end() ? nullptr : found->second.get();
}

// --- What the coordinator says ---

Result<bool> ShardHost::OnMessage(const wire::ControlT& control) {
  Status fine;
  if (const auto* hold = control.body.AsShardHold()) {
    fine = OrNoMemory("a shard", [&] { return Hold(*hold); });
  } else if (const auto* open = control.body.AsShardOpen()) {
    fine = OrNoMemory("a shard's sum", [&] { return Open(*open); });
  } else if (const auto* add = control.body.AsShardAdd()) {
    fine = Add(*add);
  } else if (const auto* finish = control.body.AsShardFinish()) {
    fine = EndSums(*finish);
  } else if (const auto* apply = control.body.AsShardApply()) {
    fine = Apply(*apply);
  } else if (const auto* fetch = control.body.AsShardFetch()) {
    fine = Fetch(*fetch);
  } else if (const auto* copy = control.body.AsShardCopy()) {
    const Held* held = Find(copy->shard);
    copies_.Keep(*copy, held != nullptr ? held->AsVersion() : ShardCopies::Shard());
  } else if (const auto* piece = control.body.AsShardPiece()) {
    fine = copies_.Send(*piece);
  } else if (const auto* forget = control.body.AsShardForget()) {
    copies_.Forget(forget->id);
  } else if (const auto* gone = control.body.AsShardGone()) {
    Gone(*gone);
  } else if (const auto* drop = control.body.AsShardDrop()) {
    const auto meant = [drop](uint32_t shard) { return !drop->one || shard == drop->shard; };
    for (const auto& [id, peer] : peers_) {
      std::erase_if(peer->readers, [&](const auto& each) { return meant(each.first); });
    }
    std::erase_if(held_, [&](const auto& each) { return meant(each.first); });
  } else {
    return false;
  }
  if (!fine.ok()) return fine;
  return true;
}

Status ShardHost::Hold(const wire::ShardHoldT& hold) {
  if (hold.shard >= job_.route.shards()) {
    return Status::DataError(fmt::format("shard {} of {}", hold.shard, job_.route.shards()));
  }
  Held* held = Find(hold.shard);
  if (hold.known && held == nullptr) {
    return Status::DataError(fmt::format("shard {} was never sent here", hold.shard));
  }
  const bool back = held != nullptr && hold.known && hold.rollbacks > held->rollbacks;
  if (back && held->applying) {
    held->waiting = hold;
    Report(held->AsHeld());  // With the rollbacks so far: the node is there, and goes back later.
    return Status::Ok();
  }
  const bool handed_over = held != nullptr && hold.handed_over && hold.epoch != held->epoch;
  // Readers name the epoch and the rollbacks. They also refer to what is replaced below.
  if (held != nullptr && (!hold.known || hold.epoch != held->epoch || back)) {
    for (const auto& [id, peer] : peers_) {
      std::erase_if(peer->readers, [&](const auto& each) { return each.first == hold.shard; });
    }
  }
  if (!hold.known) {
    MOTLEY_ASSIGN_OR_RETURN(const OptimizerOptions options, OptimizerOf(hold));
    auto& place = held_[hold.shard];
    place = std::make_unique<Held>(hold.shard, job_, parts_.transport, parts_.device,
                                   hold.keep_rows, spare_, HooksOf(hold.shard));
    held = place.get();
    held->answers.SetLog(&log_);
    MOTLEY_ASSIGN_OR_RETURN(held->optimizer,
                            Optimizer::Create(options, held->count, job_.route.begin(hold.shard)));
    const bool begins = hold.state_floats == 0 && hold.optimizer_steps == 0;
    if (!begins && hold.state_floats != held->optimizer->state().size()) {
      return Status::DataError(
          fmt::format("{} floats of optimizer state for shard {}, where {} belong",
                      hold.state_floats, hold.shard, held->optimizer->state().size()));
    }
    held->parameters = std::make_shared<std::vector<float>>(held->count);
    held->from_reading = hold.from_reading && hold.reads && !hold.owner;
    held->state_floats = hold.state_floats;
    held->keep_rows = hold.keep_rows;
    held->optimizer_steps = hold.optimizer_steps;
    if (held->from_reading) held->optimizer->SetSteps(hold.optimizer_steps);
    held->version = hold.version;
  }
  if (back) held->RollBack(hold.version);
  held->rollbacks = hold.rollbacks;
  held->reads = hold.reads;
  held->epoch = hold.epoch;
  held->owner = hold.owner;
  held->followers = hold.followers;
  if (held->ready) {
    Ready(*held, handed_over);
  } else if (held->from_reading && hold.known) {
    Report(held->AsHeld());
  }
  return Status::Ok();
}

Result<std::span<std::byte>> ShardHost::BeginState(const Header& header) {
  Held* held = Find(header.shard);
  const size_t floats = header.length / sizeof(float);
  const bool waits =
      held != nullptr && !held->ready && !held->from_reading && header.offset == held->came &&
      header.total == held->count + held->state_floats && floats * sizeof(float) == header.length;
  std::span<float> room;  // No slice has values and state.
  if (waits && held->came < held->count) {
    room = std::span(*held->parameters).subspan(held->came);
  } else if (waits && held->came < header.total) {
    room = held->optimizer->state().subspan(held->came - held->count);
  }
  if (floats > room.size() || room.empty()) {
    return Status::DataError(
        fmt::format("a piece at {} of shard {}'s state out of order", header.offset, header.shard));
  }
  return std::as_writable_bytes(room.first(floats));
}

Status ShardHost::FinishState(const Header& header) {
  Held* held = Find(header.shard);
  if (held == nullptr || held->ready || held->from_reading) return Status::Ok();
  held->came += header.length / sizeof(float);
  if (held->came < held->count + held->state_floats) return Status::Ok();
  held->optimizer->SetSteps(held->optimizer_steps);
  return OrNoMemory("a shard's values", [&] {
    Begin(*held);
    return Status::Ok();
  });
}

Status ShardHost::Open(const wire::ShardOpenT& open) {
  std::shared_ptr<const CodeForm> form;
  if (!open.lists && open.same_code) {
    form = form_;
  } else if (!open.lists) {
    const auto bytes = std::as_bytes(std::span(open.code));
    MOTLEY_ASSIGN_OR_RETURN(CodeForm decoded, DecodeForm(bytes, job_.partitions));
    form_ = form = std::make_shared<const CodeForm>(std::move(decoded));
  }
  if (!open.lists && form == nullptr) return Status::DataError("an update under an unknown code");
  open_ = open;
  if (open.signs != 0) OpenLog(job_, open, form, log_);
  for (const auto& [shard, held] : held_) {
    // The order to open may come later than the values after it.
    if (open.step == held->version) held->before = nullptr;
    if (!held->owner || !held->ready) continue;
    held->sum = Held::Sum();  // One of the owner before is of no use any more.
    held->answers.Open({open.step, open.base_version}, open.attempt, form);
  }
  return Status::Ok();
}

Status ShardHost::EndSums(const wire::ShardFinishT& finish) {
  const std::vector<bool> rows(finish.rows.begin(), finish.rows.end());
  for (const auto& [shard, held] : held_) {
    RangeAnswers& answers = held->answers;
    if (!held->owner || !answers.open() || answers.step() != finish.step ||
        answers.attempt() != finish.attempt) {
      continue;
    }
    if (rows.empty()) {
      MOTLEY_RETURN_IF_ERROR(answers.EndSum());
      Summed(*held, nullptr);
    } else {
      MOTLEY_ASSIGN_OR_RETURN(const ApproximateDecoding best, answers.EndSum(rows));
      Summed(*held, &best);
    }
  }
  return Status::Ok();
}

Status ShardHost::Apply(const wire::ShardApplyT& apply) {
  for (const auto& [shard, held] : held_) {
    if (!held->ready || (held->reads && !held->owner)) continue;
    MOTLEY_RETURN_IF_ERROR(OrNoMemory("a shard's update", [&] { return ApplyTo(*held, apply); }));
  }
  return Status::Ok();
}

Status ShardHost::ApplyTo(Held& held, const wire::ShardApplyT& apply) {
  std::shared_ptr<AlignedVector> sum = held.SumOf(apply.step, apply.attempt);
  if (held.applying || held.version != apply.step || sum == nullptr) {
    return Status::DataError(fmt::format("an update of shard {} to version {} without its sum",
                                         held.shard, apply.step + 1));
  }
  // The update overwrites the sum, and a follower that was given up may still read it. Otherwise
  // only the shard and this function hold it.
  if (sum.use_count() > 2) sum = std::make_shared<AlignedVector>(*sum);
  // Nobody reads the values of a follower, so the next ones take their place.
  VersionPool::Version next = held.parameters;
  held.in_place = !held.owner && next.use_count() == 3;
  if (!held.in_place) {
    MOTLEY_ASSIGN_OR_RETURN(next, held.versions->Spare());
  }
  Contribution from;
  from.weight = apply.weight;
  from.rate_factor = apply.rate_factor;
  if (apply.norm >= 0) from.norm = apply.norm;
  from.group_rates = apply.group_rates;
  held.applying = true;
  held.steps_before = held.optimizer->steps();
  // The work shares all that it uses, since this object may be gone before it is done.
  auto work = [sum, next, from, before = held.parameters, optimizer = held.optimizer,
               &device = parts_.device] {
    const std::span<float> sums = std::span(*sum).first(next->size());
    MOTLEY_ASSIGN_OR_RETURN(const bool finite,
                            optimizer->Advance(device, sums, *before, *next, from));
    return finite ? Status::Ok() : Status::DataError("training diverged");
  };
  parts_.device.Submit(0, std::move(work),
                       alive_.Guard([this, shard = held.shard, step = apply.step, next,
                                     optimizer = held.optimizer](const Status& status) {
                         const Held* now = Find(shard);
                         // The shard may have been dropped and come again meanwhile.
                         if (now != nullptr && now->optimizer == optimizer)
                           OnApplied(shard, step, next, status);
                       }));
  return Status::Ok();
}

void ShardHost::OnApplied(uint32_t shard, StepId step,
                          const std::shared_ptr<std::vector<float>>& next, const Status& status) {
  Held* held = Find(shard);
  held->applying = held->in_place = false;
  if (held->waiting) {  // The update was taken back.
    const wire::ShardHoldT hold = *std::exchange(held->waiting, std::nullopt);
    held->optimizer->SetSteps(held->steps_before);
    if (const Status fine = Hold(hold); !fine.ok()) parts_.failed(fine);
    return;
  }
  wire::ShardAppliedT applied;
  applied.shard = shard;
  applied.step = step;
  applied.finite = status.code() != StatusCode::kDataError;
  if (applied.finite && !status.ok()) applied.error = status.ToString();
  if (status.ok()) {
    if (held->reads) held->before = held->parameters;
    held->parameters = next;
    held->version = step + 1;
    if (held->owner) {
      for (const auto& [id, peer] : peers_) PublishTo(*peer, *held);
    }
  }
  Report(applied);
}

Status ShardHost::Read(uint32_t shard, uint64_t version, std::span<const float> values) {
  Held* held = Find(shard);
  const bool reads = held != nullptr && held->reads && !held->owner;
  const bool first = reads && !held->ready && held->from_reading;
  if (!first && !(reads && held->ready && version > held->version)) return Status::Ok();
  return OrNoMemory("a shard's values", [&] {
    std::shared_ptr<std::vector<float>> next = held->parameters;
    if (!first) {
      MOTLEY_ASSIGN_OR_RETURN(next, held->versions->Spare());
    }
    std::copy(values.begin(), values.end(), next->begin());
    // Only a new follower skips versions. Nothing waits for it yet, and nothing goes back.
    const bool follows = !first && version == held->version + 1;
    held->before = follows ? held->parameters : nullptr;
    held->parameters = next;
    held->steps_before = held->optimizer->steps();
    held->optimizer->SetSteps(held->steps_before + version - held->version);
    held->version = version;
    if (first) Begin(*held);
    wire::ShardAppliedT applied;
    applied.shard = shard;
    applied.step = version - 1;
    applied.finite = true;
    Report(applied);
    return Status::Ok();
  });
}

Status ShardHost::Fetch(const wire::ShardFetchT& fetch) {
  Held* held = Find(fetch.shard);
  if (held == nullptr || !held->ready || held->applying) {
    return Status::DataError(fmt::format("shard {} is not ready to be read", fetch.shard));
  }
  std::span<const float> state;
  if (fetch.state) state = held->optimizer->state();
  Header header = parts_.header;
  header.kind = FrameKind::kShardState;
  header.shard = fetch.shard;
  header.row_id = fetch.id;
  header.version = held->version;
  header.step = held->optimizer->steps();
  header.total = held->count + state.size();
  const auto send = [&](std::span<const float> values, const std::shared_ptr<const void>& keep) {
    SendFloats(parts_.transport, parts_.coordinator, header, values, keep, job_.slice_length);
    header.offset += values.size();
  };
  if (fetch.sum) {
    const auto sum = held->SumOf(open_ ? open_->step : 0, open_ ? open_->attempt : 0);
    if (sum == nullptr) return Status::DataError("there is no sum to be read");
    send(std::span(*sum).first(held->count), sum);
  } else {
    send(*held->parameters, held->parameters);
  }
  if (fetch.log) Report(held->AsLog(log_, open_, job_.route.begin(held->shard), fetch.id));
  // The coordinator may give up the fetch, and the next update then changes the state.
  return OrNoMemory("a copy of a shard's state", [&] {
    const auto copy = std::make_shared<std::vector<float>>(state.begin(), state.end());
    send(*copy, copy);
    return Status::Ok();
  });
}

void ShardHost::Gone(const wire::ShardGoneT& gone) {
  gone_[gone.worker] = gone.incarnation;
  if (gone.worker < job_.workers) log_.Forget(gone.worker);
  std::vector<PeerId> cut;
  for (const auto& [id, peer] : peers_) {
    const bool meant =
        peer->joined && peer->worker == gone.worker && peer->incarnation == gone.incarnation;
    if (meant) cut.push_back(id);
  }
  for (const PeerId id : cut) Cut(id, Status::Unavailable("the worker is gone"));
}

// --- Sums ---

RangeAnswers::Hooks ShardHost::HooksOf(uint32_t shard) {
  RangeAnswers::Hooks hooks;
  hooks.arrived = [this, shard](const RangeAnswers::Answer& answer) {
    const Held& held = *Find(shard);
    wire::ShardRowT row;
    row.shard = shard;
    row.step = held.answers.step();
    row.attempt = held.answers.attempt();
    row.worker = answer.worker;
    row.order = answer.order;
    row.row = answer.row;
    row.loss = std::make_unique<wire::Weight>(ToWire(answer.tally.loss));
    row.weight = std::make_unique<wire::Weight>(ToWire(answer.tally.weight));
    Report(row);
  };
  hooks.decodable = [this, shard] {
    Held& held = *Find(shard);
    if (held.keep_rows) return;
    if (Status ended = held.answers.EndSum(); !ended.ok()) return parts_.failed(ended);
    Summed(held, nullptr);
  };
  hooks.refused = [this, shard](const RangeAnswers::Answer& answer, bool touched,
                                const Status& why) {
    const Held& held = *Find(shard);
    wire::ShardRefusedT refused;
    refused.shard = shard;
    refused.step = held.answers.step();
    refused.attempt = held.answers.attempt();
    refused.worker = answer.worker;
    refused.order = answer.order;
    refused.row = answer.row;
    refused.touched = touched;
    refused.error = why.ToString();
    Report(refused);
  };
  return hooks;
}

void ShardHost::Summed(Held& held, const ApproximateDecoding* best) {
  wire::ShardSummedT summed;
  summed.shard = held.shard;
  summed.step = held.answers.step();
  summed.attempt = held.answers.attempt();
  const Tally& tally = held.answers.tally();
  summed.loss = std::make_unique<wire::Weight>(ToWire(tally.loss));
  summed.weight = std::make_unique<wire::Weight>(ToWire(tally.weight));
  summed.amplification = held.answers.amplification();
  if (held.optimizer->needs_norm()) {
    summed.squares = SumOfSquares(std::span(*held.answers.values()).first(held.count));
  }
  if (best != nullptr) {
    summed.weights = RealParts(best->a);
    summed.coverage = RealParts(best->coverage);
    summed.error = best->error;
  }
  if (!held.reads) SendSum(held);
  Report(summed);
}

void ShardHost::SendSum(Held& held) {
  const std::shared_ptr<AlignedVector> sum = held.answers.values();
  for (const WorkerId follower : held.followers) {
    const PeerId peer = parts_.link(follower);
    if (peer == 0) continue;  // The coordinator will lose it, too.
    Header header = parts_.header;
    header.kind = FrameKind::kShardSum;
    header.shard = held.shard;
    header.step = held.answers.step();
    header.attempt = held.answers.attempt();
    header.total = held.count;
    SendFloats(parts_.transport, peer, header, std::span(*sum).first(held.count), sum,
               job_.slice_length);
  }
}

Status ShardHost::FinishSum(Held& held, const Header& header) {
  Held::Sum& sum = held.sum;
  if (header.step != sum.step || header.attempt != sum.attempt || sum.whole) return Status::Ok();
  sum.came.Add(header.offset / job_.slice_length);
  if (sum.came.count < sum.came.seen.size()) return Status::Ok();
  sum.whole = true;
  wire::ShardSafeT safe;
  safe.shard = held.shard;
  safe.step = sum.step;
  safe.attempt = sum.attempt;
  Report(safe);
  return Status::Ok();
}

}  // namespace motley
