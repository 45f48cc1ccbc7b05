// SPDX-License-Identifier: Apache-2.0
// Measures the links of a job's nodes before its first step, both ways, as they are when all nodes
// send to each other. Runs at the coordinator. Loop thread only.
//
//   between workers     all workers send to all others
//   coordinator         the coordinator and the workers on other machines send to each other
//
// The workers get addresses (Shards), and connect. Each round is a LinkTest and a LinkReport. A
// round takes 0.3 s. On slow links it is repeated for longer, because connecting and the first
// lost packets take much of a short one.
//
// What arrives at a node from all others in a round is the capacity of its link towards it, and
// what arrives elsewhere from it is that away from it. So a link is measured in full as long as the
// others together are not slower, and the part of a link that they cannot use does not matter. In
// the second round the workers on the coordinator's machine are silent, because they share its
// link.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "profiles/shard_shares.h"
#include "runtime/survey/link_load.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

struct SurveyedLinks {
  std::map<WorkerId, NodeLink> workers;  // Those that took part to the end.
  NodeLink coordinator;                  // 0, 0: not measured, or no worker is elsewhere.
  // Workers of which the second got nothing from the first, which has no connection to it.
  std::optional<std::pair<WorkerId, WorkerId>> unreached;
};

class LinkSurvey {
 public:
  // The connection to a worker, and the header of messages to it; nothing if it is not connected.
  using Find = std::function<std::optional<LinkLoad::To>(WorkerId)>;
  using Done = std::function<void(const SurveyedLinks&)>;

  // All are borrowed. `places`: of the job, so this number stands for the coordinator.
  LinkSurvey(Loop& loop, Transport& transport, uint32_t places, Find find);
  ~LinkSurvey();

  // Measures the links of these workers, with their addresses, and (if wanted) that of the
  // coordinator with the workers that are `elsewhere`. `done` runs once, never inside Start.
  void Start(const std::map<WorkerId, std::string>& workers, std::set<WorkerId> elsewhere,
             bool coordinator, Done done);
  bool running() const { return done_ != nullptr; }

  // kDataError: the report makes no sense.
  Status OnReport(WorkerId worker, const wire::LinkReportT& report);
  void Lost(WorkerId worker);
  // The workers need each other no more, so they close the connections between them.
  void Disband();
  // The room for a kLoad frame that a worker sent to the coordinator.
  std::span<std::byte> Room(const Header& header) { return load_.Room(header); }
  void Arrived(WorkerId worker, const Header& header) { load_.Arrived(worker, header); }

 private:
  void Test(Duration time, const std::set<WorkerId>& members, bool coordinator);
  void Take(uint32_t node, const wire::LinkReportT& report);
  void CheckRound();
  void EndRound();
  void Finish();

  Loop& loop_;
  Transport& transport_;
  const uint32_t places_;
  const Find find_;
  LinkLoad load_;
  Done done_;
  std::set<WorkerId> workers_, elsewhere_;
  bool with_coordinator_ = false;
  struct Round {
    uint32_t id = 0;
    Duration time{};
    bool coordinator = false;
    std::set<uint32_t> awaited, reported;                   // Nodes.
    std::map<std::pair<uint32_t, uint32_t>, double> rates;  // From, to: bytes per second.
    std::set<std::pair<uint32_t, uint32_t>> connected;      // From, to.
  };
  Round round_;
  SurveyedLinks links_;
  TimerId timer_ = 0;
};

}  // namespace motley
