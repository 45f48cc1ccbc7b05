// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/link_survey.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr Duration kRoundTime = std::chrono::milliseconds(300);
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

void LinkSurvey::Start(std::map<WorkerId, std::string> workers, std::set<WorkerId> elsewhere,
                       bool coordinator, Done done) {
  done_ = std::move(done);
  workers_ = std::move(workers);
  elsewhere_ = std::move(elsewhere);
  with_coordinator_ = coordinator;
  wire::ShardsT shards;
  for (const auto& [worker, address] : workers_) {
    shards.addresses.resize(worker + 1);
    shards.addresses[worker] = address;
  }
  std::set<WorkerId> all;
  for (const auto& [worker, address] : workers_) {
    all.insert(worker);
    if (const auto to = find_(worker)) SendControl(transport_, to->peer, to->header, shards);
  }
  round_ = 1;
  Test(all, false);
}

void LinkSurvey::Test(const std::set<WorkerId>& members, bool coordinator) {
  rates_.clear();
  reported_.clear();
  awaited_.clear();
  wire::LinkTestT test;
  test.id = round_;
  test.milliseconds =
      static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(kRoundTime).count());
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
    awaited_.insert(worker);
    SendControl(transport_, to->peer, to->header, test);
  }
  if (coordinator) {
    awaited_.insert(places_);
    load_.Start(round_, kRoundTime, own, [this](const wire::LinkReportT& report) {
      Take(places_, report);
      CheckRound();
    });
  }
  timer_ = loop_.After(kRoundTime + kReportedWithin, [this] {
    timer_ = 0;
    EndRound();
  });
}

Status LinkSurvey::OnReport(WorkerId worker, const wire::LinkReportT& report) {
  if (!running() || report.id != round_ || !awaited_.contains(worker)) return Status::Ok();
  if (report.nodes.size() != report.bytes.size()) {
    return Status::DataError("a report of its links that makes no sense");
  }
  Take(worker, report);
  CheckRound();
  return Status::Ok();
}

void LinkSurvey::Take(uint32_t node, const wire::LinkReportT& report) {
  awaited_.erase(node);
  reported_.insert(node);
  const double seconds = static_cast<double>(report.nanoseconds) * 1e-9;
  for (size_t i = 0; i < report.nodes.size() && seconds > 0; ++i) {
    rates_[{report.nodes[i], node}] = static_cast<double>(report.bytes[i]) / seconds;
  }
}

void LinkSurvey::Lost(WorkerId worker) {
  if (!running()) return;
  workers_.erase(worker);
  elsewhere_.erase(worker);
  reported_.erase(worker);
  links_.workers.erase(worker);
  if (awaited_.erase(worker) > 0) CheckRound();
}

void LinkSurvey::CheckRound() {
  if (!awaited_.empty()) return;
  if (timer_ != 0) loop_.Cancel(timer_);
  // The caller may be deep inside a message of a worker.
  timer_ = loop_.After(Duration::zero(), [this] {
    timer_ = 0;
    EndRound();
  });
}

void LinkSurvey::EndRound() {
  awaited_.clear();
  if (round_ == 1) {
    links_ = {};
    for (const uint32_t node : reported_) {
      NodeLink& link = links_.workers[node];
      for (const uint32_t other : reported_) {
        if (other == node) continue;
        const double away = rates_[{node, other}];
        link.up += away;
        link.down += rates_[{other, node}];
        if (away <= 0 && !links_.unreached) links_.unreached.emplace(node, other);
      }
    }
    if (with_coordinator_ && !elsewhere_.empty()) {
      round_ = 2;
      return Test(elsewhere_, true);
    }
  } else {
    for (const uint32_t node : reported_) {
      if (node == places_) continue;
      links_.coordinator.up += rates_[{places_, node}];
      links_.coordinator.down += rates_[{node, places_}];
    }
  }
  Finish();
}

void LinkSurvey::Finish() {
  round_ = 0;
  std::exchange(done_, nullptr)(links_);
}

}  // namespace motley
