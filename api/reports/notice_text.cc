// SPDX-License-Identifier: Apache-2.0
#include "api/reports/notice_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {
namespace {

constexpr size_t kMostNamed = 32;
constexpr size_t kMostRanges = 8;

std::string Count(size_t count) { return fmt::format("{} worker{}", count, count == 1 ? "" : "s"); }

std::string GoOn(uint32_t live) { return Count(live) + (live == 1 ? " goes on" : " go on"); }

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

// One overload per notice.
class Words {
 public:
  explicit Words(const NameOfWorker& name_of) : name_of_(name_of) {}

  std::string operator()(const notice::FewReady& n) const {
    return fmt::format("{} ready; training begins with {} (`min_workers` sets how many it needs)",
                       Count(n.ready), n.least);
  }
  std::string operator()(const notice::BeginsSoon& n) const {
    return fmt::format(
        "{} of at most {} ready; training begins in {:.0f} s, or as soon as all are there; more "
        "may "
        "join later (`wait` sets the time, `min_workers` how many it needs)",
        n.ready, Count(n.most), ToSeconds(n.wait));
  }
  std::string operator()(const notice::Waiting& n) const {
    std::string whom = n.absent.empty() ? "" : Workers(n.absent) + " to join";
    if (n.more > 0) whom = fmt::format("{} more to join", Count(n.more));
    if (!n.unready.empty()) {
      whom += (whom.empty() ? "" : " and ") + Workers(n.unready) + " to get ready";
    }
    if (whom.empty()) whom = "a worker to come back";
    return fmt::format("waiting for {}, at most {:.0f} s more", whom, ToSeconds(n.left));
  }
  std::string operator()(const notice::WaitsAgain& n) const {
    return fmt::format("{} joined, but {} ready yet; waiting once more", Count(n.joined),
                       n.some_ready ? "not enough are" : "none is");
  }
  std::string operator()(const notice::Starting& n) const {
    return n.may_follow ? fmt::format("starting with {}; {} more may join while it trains",
                                      Count(n.ready), n.workers - n.ready)
                        : fmt::format("starting with {} of {}; missing: {}", n.ready,
                                      Count(n.workers), Workers(n.missing));
  }
  std::string operator()(const notice::Ready& n) const {
    return fmt::format("{} is ready; it gets a share from the next step at the latest",
                       One(n.worker));
  }
  std::string operator()(const notice::StartedAgain& n) const {
    return fmt::format("{} started again; what it was doing is lost", One(n.worker));
  }
  std::string operator()(const notice::Left& n) const {
    return fmt::format("{} leaves; {}", One(n.worker), GoOn(n.live));
  }
  std::string operator()(const notice::Lost& n) const {
    return fmt::format("{} lost: {}; {}", One(n.worker), n.why.ToString(), GoOn(n.live));
  }
  std::string operator()(const notice::AllGone& n) const {
    return fmt::format(
        "all workers are gone (the last, {}: {}). Waiting {:.0f} s for one to come back; stopping "
        "the job keeps what is done",
        One(n.last), n.why.ToString(), ToSeconds(n.wait));
  }
  std::string operator()(const notice::Silent& n) const {
    return fmt::format("{} is late by {:.1f} s; its share goes to others until it answers",
                       One(n.worker), ToSeconds(n.silence));
  }
  std::string operator()(const notice::AnswersAgain& n) const {
    return fmt::format("{} answers again; it gets a share from the next step", One(n.worker));
  }
  std::string operator()(const notice::Rests& n) const {
    return fmt::format("{} failed again to deliver its work; it gets none for {:.1f} s",
                       One(n.worker), ToSeconds(n.rest));
  }
  std::string operator()(const notice::AllSilent& n) const {
    return fmt::format("no worker has answered for {:.0f} s; waiting (step {})",
                       ToSeconds(n.silence), n.step);
  }
  std::string operator()(const notice::LongStep& n) const {
    const std::string times =
        n.times > 0 ? fmt::format(", {:.0f} times as long as usual", n.times) : "";
    const std::string awaited = n.awaited.empty() ? "" : "; waiting for " + Workers(n.awaited);
    return fmt::format("step {} has taken {:.1f} s{}{}", n.step, ToSeconds(n.taken), times,
                       awaited);
  }
  std::string operator()(const notice::Refused& n) const {
    return fmt::format("step {}: the answer of {} was refused: {}", n.step, One(n.worker),
                       n.why.ToString());
  }
  std::string operator()(const notice::SentAway& n) const {
    return fmt::format("{} sent away: {} of its answers could not be used, the last: {}; {}",
                       One(n.worker), n.refused, n.last.ToString(), GoOn(n.live));
  }
  std::string operator()(const notice::NotDecodable& n) const {
    return fmt::format(
        "step {}: all answers arrived, but they do not decode within the limits; going on with "
        "`code` none",
        n.step);
  }
  std::string operator()(const notice::ToleratesFewer& n) const {
    return fmt::format("with {} left in the plan, code {} tolerates {} missing instead of {}",
                       Count(n.workers), n.code, n.tolerates, n.asked);
  }
  std::string operator()(const notice::FewerParts& n) const {
    return fmt::format("with {} left in the plan, answers are 1/{} of a gradient instead of 1/{}",
                       Count(n.workers), n.parts, n.asked);
  }
  std::string operator()(const notice::OtherCode& n) const {
    return fmt::format("planned with code {}, {} loads, {} missing tolerated, because: {}", n.code,
                       n.equal ? "equal" : "proportional", n.tolerates, n.why);
  }
  std::string operator()(const notice::FewerCopies& n) const {
    return fmt::format("with {} left, there {} of each partition instead of {}", Count(n.copies),
                       n.copies == 1 ? "is one copy" : fmt::format("are {} copies", n.copies),
                       n.asked);
  }
  std::string operator()(const notice::CodeChosen& n) const {
    return fmt::format("code: {}; {}", n.code, n.why);
  }

 private:
  std::string One(WorkerId worker) const { return Workers({worker}); }
  std::string Workers(const std::vector<WorkerId>& workers) const {
    return WorkersText(workers, name_of_);
  }

  const NameOfWorker& name_of_;
};

}  // namespace

std::string NoticeText(const Notice& notice, const NameOfWorker& name_of) {
  return std::visit(Words(name_of), notice);
}

std::string WorkersText(const std::vector<WorkerId>& workers, const NameOfWorker& name_of) {
  if (workers.size() > kMostNamed) return SummariseWorkers(workers);
  std::string text = workers.size() == 1 ? "worker" : "workers";
  for (size_t i = 0; i < workers.size(); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", workers[i]);
    if (const std::string name = name_of(workers[i]); !name.empty()) text += " (" + name + ")";
  }
  return text;
}

}  // namespace motley
