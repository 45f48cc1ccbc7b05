// SPDX-License-Identifier: Apache-2.0
#include "api/reports/notice_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/counted.h"
#include "checkpoint/checkpoint.h"
#include "runtime/worker_names.h"
#include "scheduler/placement/shard_ranges.h"

namespace motley {
namespace {

constexpr size_t kMostNamed = 32;
constexpr size_t kMostRanges = 8;

std::string Count(size_t count) { return Counted(count, "worker"); }

std::string GoOn(uint32_t live) {
  if (live == 0) return "no worker is left";
  return Count(live) + (live == 1 ? " goes on" : " go on");
}

// "40 workers (0 to 30, 35, 38 and 7 more)".
std::string SummariseWorkers(const std::vector<WorkerId>& workers) {
  std::string text = Count(workers.size()) + " (";
  size_t ranges = 0;
  for (size_t begin = 0, end = 0; begin < workers.size(); begin = end) {
    if (ranges++ == kMostRanges) return text + fmt::format(" and {} more)", workers.size() - begin);
    end = begin + 1;
    while (end < workers.size() && workers[end] == workers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", begin == 0 ? "" : ", ", workers[begin]);
    if (end - begin > 1) text += fmt::format(" to {}", workers[end - 1]);
  }
  return text + ")";
}

// What sentences need besides the notice.
struct Names {
  std::string One(WorkerId worker) const { return Several({worker}); }
  std::string Several(const std::vector<WorkerId>& workers) const {
    return WorkersText(workers, name_of);
  }

  const NameOfWorker& name_of;
  double loss_unit;
};

// "41 ms", "0.35 ms"
std::string Milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f} ms", ms, ms >= 10 ? 0 : ms >= 1 ? 1 : 2);
}

std::string SafeText(uint64_t step) {
  if (step == 0) return "no checkpoint is safe";
  return "the newest safe checkpoint has " + Counted(step, "step");
}

// One overload per notice: a new notice without a sentence does not compile.
std::string TextOf(const notice::FewReady& n, const Names&) {
  return fmt::format("{} ready; training begins with {} (`min_workers` sets how many it needs)",
                     Count(n.ready), n.least);
}

std::string TextOf(const notice::BeginsSoon& n, const Names&) {
  return fmt::format(
      "{} of at most {} ready; training begins in {:.0f} s, or as soon as all are there; more "
      "may "
      "join later (`wait` sets the time, `min_workers` how many it needs)",
      n.ready, Count(n.most), ToSeconds(n.wait));
}

std::string TextOf(const notice::Waiting& n, const Names& names) {
  std::string awaited = n.absent.empty() ? "" : names.Several(n.absent) + " to join";
  if (n.more > 0) awaited = fmt::format("{} more to join", Count(n.more));
  if (!n.unready.empty()) {
    awaited += (awaited.empty() ? "" : " and ") + names.Several(n.unready) + " to get ready";
  }
  if (awaited.empty()) awaited = "a worker to come back";
  return fmt::format("waiting for {}, at most {:.0f} s more", awaited, ToSeconds(n.left));
}

std::string TextOf(const notice::WaitsAgain& n, const Names&) {
  return fmt::format("{} joined, but {} ready yet; waiting once more", Count(n.joined),
                     n.some_ready ? "not enough are" : "none is");
}

std::string TextOf(const notice::Starting& n, const Names& names) {
  return n.may_follow ? fmt::format("starting with {}; {} more may join while it trains",
                                    Count(n.ready), n.workers - n.ready)
                      : fmt::format("starting with {} of {}; missing: {}", n.ready,
                                    Count(n.workers), names.Several(n.missing));
}

std::string TextOf(const notice::Ready& n, const Names& names) {
  return fmt::format("{} is ready; it gets a share from the next step at the latest",
                     names.One(n.worker));
}

std::string TextOf(const notice::StartedAgain& n, const Names& names) {
  return fmt::format("{} started again; what it was doing is lost", names.One(n.worker));
}

std::string TextOf(const notice::Left& n, const Names& names) {
  return fmt::format("{} leaves; {}", names.One(n.worker), GoOn(n.live));
}

std::string TextOf(const notice::Lost& n, const Names& names) {
  return fmt::format("{} lost: {}; {}", names.One(n.worker), n.why.ToString(), GoOn(n.live));
}

std::string TextOf(const notice::AllGone& n, const Names& names) {
  return fmt::format(
      "all workers are gone (the last, {}: {}). Waiting {:.0f} s for one to come back; stopping "
      "the job keeps what is done",
      names.One(n.last), n.why.ToString(), ToSeconds(n.wait));
}

std::string TextOf(const notice::Silent& n, const Names& names) {
  return fmt::format("{} is late by {:.1f} s; its share goes to others until it answers",
                     names.One(n.worker), ToSeconds(n.silence));
}

std::string TextOf(const notice::AnswersAgain& n, const Names& names) {
  return fmt::format("{} answers again; it gets a share from the next step", names.One(n.worker));
}

std::string TextOf(const notice::Rests& n, const Names& names) {
  return fmt::format("{} failed again to deliver its work; it gets none for {:.1f} s",
                     names.One(n.worker), ToSeconds(n.rest));
}

std::string TextOf(const notice::AllSilent& n, const Names&) {
  return fmt::format("no worker has answered for {:.0f} s; waiting (step {})", ToSeconds(n.silence),
                     n.step);
}

std::string TextOf(const notice::LongStep& n, const Names& names) {
  const std::string times =
      n.times > 0 ? fmt::format(", {:.0f} times as long as usual", n.times) : "";
  const std::string awaited = n.awaited.empty() ? "" : "; waiting for " + names.Several(n.awaited);
  return fmt::format("step {} has taken {:.1f} s{}{}", n.step, ToSeconds(n.taken), times, awaited);
}

std::string TextOf(const notice::Refused& n, const Names& names) {
  return fmt::format("step {}: the answer of {} was refused: {}", n.step, names.One(n.worker),
                     n.why.ToString());
}

std::string TextOf(const notice::SentAway& n, const Names& names) {
  return fmt::format("{} sent away: {} of its answers could not be used, the last: {}; {}",
                     names.One(n.worker), n.refused, n.last.ToString(), GoOn(n.live));
}

std::string TextOf(const notice::SendsInTurn& n, const Names&) {
  return fmt::format(
      "an answer takes the server's link for {:.0f} ms: the first {} of {} that decode are sent, "
      "and the others are held",
      1e3 * ToSeconds(n.each), n.needed, n.rows);
}

std::string TextOf(const notice::NotDecodable& n, const Names&) {
  return fmt::format(
      "step {}: all answers arrived, but they do not decode within the limits; going on with "
      "`code` none",
      n.step);
}

std::string TextOf(const notice::ToleratesFewer& n, const Names&) {
  return fmt::format("with {} left in the plan, code {} tolerates {} missing instead of {}",
                     Count(n.workers), n.code, n.tolerates, n.asked);
}

std::string TextOf(const notice::FewerParts& n, const Names&) {
  return fmt::format("with {} left in the plan, answers are 1/{} of a gradient instead of 1/{}",
                     Count(n.workers), n.parts, n.asked);
}

std::string TextOf(const notice::OtherCode& n, const Names&) {
  return fmt::format("planned with code {}, {} loads, {} missing tolerated, because: {}", n.code,
                     n.equal ? "equal" : "proportional", n.tolerates, n.why);
}

std::string TextOf(const notice::FewerCopies& n, const Names&) {
  return fmt::format("with {} left, there {} of each partition instead of {}", Count(n.copies),
                     n.copies == 1 ? "is one copy" : fmt::format("are {} copies", n.copies),
                     n.asked);
}

std::string TextOf(const notice::CodeChosen& n, const Names&) {
  return fmt::format("code: {}; {}", n.code, ReasonText(n.why));
}

std::string TextOf(const notice::ToleranceChanged& n, const Names&) {
  return fmt::format("code: {}; {}", n.code,
                     n.tolerates > 0 ? Count(n.tolerates) + " may be missing without delay"
                                     : "a missing worker now delays its step");
}

std::string TextOf(const notice::Joined& n, const Names& names) {
  return fmt::format("{} joined from {} with {}", names.One(n.worker), n.host, n.device);
}

std::string TextOf(const notice::JoinRefused& n, const Names&) {
  const std::string who =
      n.host.empty() ? "a peer" : (n.name.empty() ? "a worker" : n.name) + " at " + n.host;
  const std::string more = n.before == 0 ? "" : fmt::format(" ({} more before it)", n.before);
  return fmt::format("refused {}: {}{}", who, n.why.ToString(), more);
}

std::string TextOf(const notice::NotReady& n, const Names& names) {
  return fmt::format("{} joined {:.0f} s ago and is not ready for work; not waiting for it",
                     names.One(n.worker), ToSeconds(n.since));
}

std::string TextOf(const notice::Quiet& n, const Names& names) {
  return fmt::format(
      "{} has said nothing for {:.0f} s: the process, its machine or the network stands still",
      names.One(n.worker), ToSeconds(n.silence));
}

std::string TextOf(const notice::Back& n, const Names& names) {
  return fmt::format("{} is back after {:.0f} s", names.One(n.worker), ToSeconds(n.silence));
}

std::string TextOf(const notice::Reported& n, const Names& names) {
  const std::string before =
      n.left_out == 0 ? "" : fmt::format(" ({} more before it were left out)", n.left_out);
  return fmt::format("{} reports: {}{}", names.One(n.worker), n.what.ToString(), before);
}

std::string TextOf(const notice::Trouble& n, const Names&) { return n.what.ToString(); }

std::string TextOf(const notice::Diverges& n, const Names& names) {
  constexpr char kAdvice[] =
      "the training diverges. Lower `learning_rate`, limit the gradients with `clip`, or look for "
      "huge values in the data";
  if (!n.loss)
    return fmt::format("step {}: the loss is not a number any more: {}", n.step, kAdvice);
  return fmt::format(
      "step {}: the loss is {:.3g}, more than {:.0f} times the {:.3g} of the first step: {}",
      n.step, *n.loss * names.loss_unit, n.times, n.first * names.loss_unit, kAdvice);
}

std::string TextOf(const notice::LastNotJudged& n, const Names&) {
  return fmt::format("{}; so the last version was not judged, and the job leaves {}",
                     n.why.ToString(),
                     n.best ? fmt::format("that of step {}, the best before", *n.best) : "it");
}

std::string TextOf(const notice::CheckpointSkipped& n, const Names&) {
  return fmt::format(
      "the checkpoint of step {} is left out: the one before it is not written yet. Steps are "
      "faster than the disk, or than the link to the server if workers hold the vector; a larger "
      "`checkpoint_every` would skip none",
      n.step);
}

std::string TextOf(const notice::CheckpointSlow& n, const Names&) {
  return fmt::format(
      "the checkpoint of step {} is still being written, {:.0f} s after the job's end: the disk "
      "is "
      "slow or hangs. Until it is done {}",
      n.step, ToSeconds(n.waited), SafeText(n.safe_step));
}

std::string TextOf(const notice::CheckpointFailed& n, const Names&) {
  using Next = notice::CheckpointFailed::Next;
  const char* next = n.next == Next::kNone   ? "The job ends without it"
                     : n.next == Next::kLast ? "The last is tried next"
                                             : "Training goes on, the next is tried in its turn";
  return fmt::format("the checkpoint of step {} was not written: {}. {}; {}", n.step,
                     n.why.ToString(), next, SafeText(n.safe_step));
}

std::string TextOf(const notice::CheckpointsAgain& n, const Names&) {
  return fmt::format("checkpoints can be written again: that of step {} is safe", n.step);
}

std::string TextOf(const notice::CheckpointDegraded& n, const Names&) {
  return DegradedText(n) +
         ". Stronger ones before it are kept; the next that all folders take is whole";
}

std::string TextOf(const notice::CheckpointsWhole& n, const Names&) {
  return fmt::format("checkpoints are whole again: that of step {} has all its shards", n.step);
}

std::string TextOf(const notice::CheckpointUnlocked& n, const Names&) {
  return fmt::format(
      "checkpoint: the file system of {} locks no folders: make sure that no other job writes "
      "into this one",
      n.folder);
}

std::string TextOf(const notice::ShardsMoved& n, const Names& names) {
  std::vector<WorkerId> owners;
  for (const auto& [shard, owner] : n.owners) owners.push_back(owner);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  const bool one = n.owners.size() == 1;
  const auto why = [&]() -> const char* {
    switch (n.why) {
      case notice::ShardsMoved::Why::kLost: break;  // Another notice says so.
      case notice::ShardsMoved::Why::kLate: return ", because it did not answer in time";
      case notice::ShardsMoved::Why::kSlow:
        return ", because it held up one update after the other";
      case notice::ShardsMoved::Why::kUnreached: return ", because another worker cannot reach it";
    }
    return "";
  };
  return fmt::format("{} of the vector, which {} held, {} now held by {}{}",
                     Counted(n.owners.size(), "part"), names.One(n.lost), one ? "is" : "are",
                     names.Several(owners), why());
}

std::string TextOf(const notice::ShardsGained& n, const Names& names) {
  return fmt::format("{} got {} of the vector, so that all links share the work",
                     names.One(n.worker), Counted(n.shards, "part"));
}

// "the workers", "the shard servers", "the workers and shard servers"
const char* Summing(const notice::VectorPlaced& n, const Names& names) {
  if (n.choice.kind == Reduce::kSharded) return "the shard servers";
  const bool mixed =
      std::any_of(n.choice.ranges.begin(), n.choice.ranges.end(), [&](const ShardRange& range) {
        return NamesShardServer(names.name_of(n.nodes[range.owner]));
      });
  return mixed ? "the workers and shard servers" : "the workers";
}

std::string TextOf(const notice::VectorPlaced& n, const Names& names) {
  const ReduceReason& reason = n.choice.reason;
  const std::string vector = fmt::format("the vector of {:.3g} MB", n.bytes / 1e6);
  if (n.unreached) {
    return fmt::format(
        "the server sums {}, because {} could not connect to {} while links were measured. "
        "Otherwise the workers could share that work",
        vector, names.One(n.unreached->first), names.One(n.unreached->second));
  }
  const auto ms = [](const ReduceCost& cost) {
    return fmt::format("{:.0f} ms", 1e3 * cost.Total());
  };
  if (n.choice.kind == Reduce::kStar) {
    return fmt::format(
        "the server sums {}: with the links that were measured it moves in {} of a step, and "
        "workers that share this work would need {}",
        vector, ms(reason.star), ms(reason.other));
  }
  const ShardShares shares = SharesOf(n.choice.ranges, n.nodes.size());
  std::string parts;
  size_t named = 0;
  for (size_t i = 0; i < n.nodes.size(); ++i) {
    if (n.choice.kind == Reduce::kSharded && shares[i] == 0) continue;
    if (named == kMostNamed) {
      parts += ", ...";
      break;
    }
    parts += fmt::format("{}{} {:.0f} %", named++ == 0 ? "" : ", ", names.One(n.nodes[i]),
                         100 * shares[i]);
  }
  std::string text =
      fmt::format("{} sum {} ({}). With the links that were measured it moves in {} of a step",
                  Summing(n, names), vector, parts, ms(n.choice.cost));
  if (reason.kind != ReduceReason::Kind::kAsked) {
    text += fmt::format(", and the server alone would need {}", ms(reason.star));
  }
  return text;
}

std::string TextOf(const notice::StarKept& n, const Names&) {
  using Why = notice::StarKept::Why;
  const char* why = "";
  switch (n.why) {
    case Why::kHere: why = "all workers are on its own machine, where no link limits it"; break;
    case Why::kAlone: why = "only one worker could hold a part of it so far"; break;
    case Why::kShort:
      why =
          "for so short a vector, the cost of more messages is larger than what is saved in bytes";
      break;
    case Why::kNoBarrier:
      why = "without a barrier, updates need all parameters in one place";
      break;
    case Why::kOwnUpdates: why = "the program makes the updates, and needs all of it"; break;
    case Why::kUnmeasured: why = "its links could not be measured"; break;
  }
  const bool short_one = n.bytes < 1e6;
  return fmt::format("the server sums the vector of {:.3g} {}: {}",
                     n.bytes / (short_one ? 1e3 : 1e6), short_one ? "kB" : "MB", why);
}

std::string TextOf(const notice::AwaitsShardServers& n, const Names&) {
  return fmt::format(
      "{} of {} joined; waiting for the others, at most {:.0f} s more (motley server --shard "
      "starts one)",
      n.joined, Counted(n.wanted, "shard server"), ToSeconds(n.left));
}

std::string TextOf(const notice::ShardServerJoined& n, const Names&) {
  return fmt::format("{} joined from {}", n.name, n.host);
}

std::string TextOf(const notice::ShardServerLost& n, const Names& names) {
  if (n.why.code() == StatusCode::kCancelled) return names.One(n.node) + " left";
  return fmt::format("{} lost: {}", names.One(n.node), n.why.ToString());
}

std::string TextOf(const notice::CheckpointNote& n, const Names&) {
  return "checkpoint: " + n.text;
}

std::string TextOf(const Notice& notice, const Names& names) {
  return std::visit([&](const auto& each) { return TextOf(each, names); }, notice);
}

}  // namespace

std::string NoticeText(const JobNotice& notice, const NameOfWorker& name_of, double loss_unit) {
  const Names names{name_of, loss_unit};
  return std::visit([&](const auto& each) { return TextOf(each, names); }, notice);
}

std::string ReasonText(const ChoiceReason& why) {
  constexpr const char* kNoCopies = "copies would save nothing worth their price";
  constexpr double kAsMuch = 0.02;
  if (why.kind == ChoiceReason::Kind::kDrawn) return "drawn";
  if (why.kind == ChoiceReason::Kind::kTooShort) {
    return Milliseconds(why.took) + " a step, too short for copies to gain";
  }
  std::string text;
  if (!why.before.empty()) {
    text = fmt::format("{} took {} a step; ", why.before, Milliseconds(why.took));
  }
  if (!why.predicted) return text + kNoCopies;
  text += fmt::format("predicted {} a step", Milliseconds(*why.predicted));
  if (!why.copies) return text + "; " + kNoCopies;
  if (why.than_plain) {
    text += std::abs(*why.than_plain) < kAsMuch
                ? std::string(", as much as without copies")
                : fmt::format(", {:.0f} % {} than without copies", 100 * std::abs(*why.than_plain),
                              *why.than_plain < 0 ? "less" : "more");
  }
  text += "; insures against ";
  if (!why.feared) return text + "stragglers and losses";
  return text + fmt::format("worker {}, slow in {:.0f} % of its steps", why.feared->worker,
                            100 * why.feared->often);
}

std::string DegradedText(const notice::CheckpointDegraded& degraded) {
  std::string shards;
  for (const notice::CheckpointDegraded::Shard& each : degraded.left_out) {
    shards +=
        fmt::format("{}{} ({})", shards.empty() ? "" : "; ", each.folder, each.why.ToString());
  }
  return fmt::format("the checkpoint of step {} is degraded, it {}; left out: {}", degraded.step,
                     SurvivesText(degraded.survives), shards);
}

std::string WorkersText(const std::vector<WorkerId>& workers, const NameOfWorker& name_of) {
  if (workers.size() > kMostNamed) return SummariseWorkers(workers);
  std::vector<std::string> computing, servers;
  for (const WorkerId worker : workers) {
    const std::string name = name_of(worker);
    if (NamesShardServer(name)) {
      servers.push_back(name);
    } else {
      computing.push_back(std::to_string(worker) + (name.empty() ? "" : " (" + name + ")"));
    }
  }
  std::string text = computing.empty() ? "" : computing.size() == 1 ? "worker " : "workers ";
  text += fmt::format("{}", fmt::join(computing, ", "));
  return text + fmt::format("{}{}", computing.empty() || servers.empty() ? "" : " and ",
                            fmt::join(servers, ", "));
}

}  // namespace motley
