// SPDX-License-Identifier: Apache-2.0
#include "runtime/survey/link_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr Duration kRoundTime = std::chrono::milliseconds(300);
constexpr Duration kLongRoundTime = std::chrono::milliseconds(2000);
constexpr double kFast = 6e7;  // Bytes per second that a short round measures well.
// A report waits behind the frames that are queued on a slow link.
constexpr Duration kReportedWithin = std::chrono::seconds(5);

}  // namespace

LinkSurvey::LinkSurvey(Loop& loop, Transport& transport, uint32_t places, Find find)
    : loop_(loop),
      transport_(transport),
      places_(places),
      find_(std::move(find)),
      load_(loop, transport) {}

LinkSurvey::~LinkSurvey() {
  if (timer_ != 0) loop_.Cancel(timer_);
}

void LinkSurvey::Start(const std::map<WorkerId, std::string>& workers, std::set<WorkerId> elsewhere,
                       bool coordinator, Done done) {
  done_ = std::move(done);
  workers_.clear();
  elsewhere_ = std::move(elsewhere);
  with_coordinator_ = coordinator;
  wire::ShardsT shards;
  for (const auto& [worker, address] : workers) {
    workers_.insert(worker);
    shards.addresses.resize(worker + 1);
    shards.addresses[worker] = address;
  }
  for (const WorkerId worker : workers_) {
    if (const auto to = find_(worker)) SendControl(transport_, to->peer, to->header, shards);
  }
  Test(kRoundTime, workers_, false);
}

void LinkSurvey::Disband() {
  for (const WorkerId worker : workers_) {
    const auto to = find_(worker);
    if (to) SendControl(transport_, to->peer, to->header, wire::ShardsT());
  }
}

void LinkSurvey::Test(Duration time, const std::set<WorkerId>& members, bool coordinator) {
  round_ = {round_.id + 1, time, coordinator, {}, {}, {}, {}};
  wire::LinkTestT test;
  test.id = round_.id;
  test.milliseconds =
      static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  std::vector<LinkLoad::To> own;
  for (const WorkerId worker : members) {
    const auto to = find_(worker);
    if (!to) continue;
    test.nodes.clear();
    if (coordinator) {
      test.nodes.push_back(places_);
      own.push_back(*to);
    } else {
      for (const WorkerId other : members) {
        if (other != worker) test.nodes.push_back(other);
      }
    }
    round_.awaited.insert(worker);
    SendControl(transport_, to->peer, to->header, test);
  }
  if (coordinator) {
    round_.awaited.insert(places_);
    load_.Start(round_.id, time, own, [this](const wire::LinkReportT& report) {
      Take(places_, report);
      CheckRound();
    });
  }
  timer_ = loop_.After(time + kReportedWithin, [this] {
    timer_ = 0;
    EndRound();
  });
}

Status LinkSurvey::OnReport(WorkerId worker, const wire::LinkReportT& report) {
  if (!running() || report.id != round_.id || !round_.awaited.contains(worker)) return Status::Ok();
  if (report.nodes.size() != report.bytes.size()) {
    return Status::DataError("a report of its links that makes no sense");
  }
  Take(worker, report);
  CheckRound();
  return Status::Ok();
}

void LinkSurvey::Take(uint32_t node, const wire::LinkReportT& report) {
  round_.awaited.erase(node);
  round_.reported.insert(node);
  const double seconds = static_cast<double>(report.nanoseconds) * 1e-9;
  for (size_t i = 0; i < report.nodes.size() && seconds > 0; ++i) {
    round_.rates[{report.nodes[i], node}] = static_cast<double>(report.bytes[i]) / seconds;
  }
  for (const uint32_t other : report.connected) round_.connected.insert({node, other});
}

void LinkSurvey::Lost(WorkerId worker) {
  if (!running()) return;
  workers_.erase(worker);
  elsewhere_.erase(worker);
  round_.reported.erase(worker);
  links_.workers.erase(worker);
  const auto& missing = links_.unreached;
  if (missing && (missing->first == worker || missing->second == worker)) links_.unreached.reset();
  if (round_.awaited.erase(worker) > 0) CheckRound();
}

void LinkSurvey::CheckRound() {
  if (!round_.awaited.empty()) return;
  if (timer_ != 0) loop_.Cancel(timer_);
  // The caller may be deep inside a message of a worker.
  timer_ = loop_.After(Duration::zero(), [this] {
    timer_ = 0;
    EndRound();
  });
}

void LinkSurvey::EndRound() {
  round_.awaited.clear();
  bool fast = true;
  if (!round_.coordinator) {
    links_ = {};
    for (const uint32_t node : round_.reported) {
      NodeLink& link = links_.workers[node];
      for (const uint32_t other : round_.reported) {
        if (other == node) continue;
        const double away = round_.rates[{node, other}];
        link.up += away;
        link.down += round_.rates[{other, node}];
        if (away > 0 || round_.connected.contains({node, other})) continue;
        if (!links_.unreached) links_.unreached.emplace(node, other);
      }
      fast &= std::min(link.up, link.down) >= kFast;
    }
    fast &= !links_.unreached;
  } else {
    links_.coordinator = {};
    for (const uint32_t node : round_.reported) {
      if (node == places_) continue;
      links_.coordinator.up += round_.rates[{places_, node}];
      links_.coordinator.down += round_.rates[{node, places_}];
    }
    fast = std::min(links_.coordinator.up, links_.coordinator.down) >= kFast;
  }
  std::set<WorkerId> members = round_.reported;
  members.erase(places_);
  if (!fast && round_.time == kRoundTime && !members.empty()) {
    return Test(kLongRoundTime, members, round_.coordinator);
  }
  if (with_coordinator_ && !round_.coordinator && !elsewhere_.empty()) {
    return Test(round_.time, elsewhere_, true);
  }
  Finish();
}

void LinkSurvey::Finish() {
  round_ = {};
  std::exchange(done_, nullptr)(links_);
}

}  // namespace motley
