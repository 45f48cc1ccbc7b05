// SPDX-License-Identifier: Apache-2.0
// Decides before a job's first step which worker or shard server owns each shard of the vector, or
// that the server keeps them all. Measures the links first where they matter (decision 51). Loop
// thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "runtime/job.h"
#include "runtime/job_notice.h"
#include "runtime/links/route.h"
#include "runtime/survey/link_survey.h"

namespace motley {

// Other nodes may hold the shards of a job with these options and a vector of so many floats. The
// server keeps short vectors, unless `holders` says otherwise.
bool OthersMayHold(const JobOptions& options, size_t floats);
// The number of shards of this job's vector. Where others may hold them, a long vector has several
// for each, so that their shares can follow links.
uint32_t ShardsFor(const JobOptions& options, size_t floats);

// Workers that follow a shard read its new values anyway, and need nothing else: there is no state
// of the optimizer, and values are not rounded for workers.
bool FollowersRead(const JobOptions& options);

class VectorPlacement {
 public:
  // Nodes that may own shards, with the addresses at which others reach them.
  using Owners = std::map<WorkerId, std::string>;
  struct Hooks {
    LinkSurvey::Find find;
    std::function<void(const std::vector<WorkerId>& owners)> placed;  // By shard.
    std::function<void()> star;                                       // The server keeps all.
    std::function<void(const Status&)> failed;
    std::function<void(const JobNotice&)> notice;
  };

  // The first three are borrowed. The job begins with `first_step`, after a checkpoint if not 0.
  VectorPlacement(Loop& loop, Transport& transport, const JobOptions& options, Route route,
                  uint64_t first_step, Hooks hooks);

  // Decides, now or later. One of the hooks runs once. While it decides, nodes
  // that joined meanwhile count only if all others are lost.
  void Decide(Owners owners);
  void Lost(WorkerId worker);

  // The server keeps all shards.
  bool star() const { return star_; }
  LinkSurvey& survey() { return survey_; }
  // The owners, if links were measured and the scheduler does not know these parts yet.
  std::optional<OwnersPlaced> TakeNews(const std::map<WorkerId, double>& parts);

 private:
  void KeepStar(std::optional<notice::StarKept::Why> why);
  void PlaceEqually();
  void LeaveOutNeighbours();
  std::vector<WorkerId> Usual() const;
  ReduceRequest RequestFor(const SurveyedLinks& links, notice::VectorPlaced& placed) const;
  void Choose(const SurveyedLinks& links);
  bool sharded() const { return options_.holders == JobOptions::Holders::kShardServers; }
  bool computes(WorkerId node) const { return node < options_.workers; }
  bool choosing() const { return options_.holders == JobOptions::Holders::kChosen; }
  uint64_t route_length() const { return route_.end(route_.shards() - 1); }  // Floats.
  uint64_t length() const;  // What they stand for in a simulation; else the same.

  const JobOptions& options_;
  const Route route_;
  const uint64_t first_step_;
  const Hooks hooks_;
  LinkSurvey survey_;
  Owners owners_;
  Owners newest_;  // Those that may own shards if all of owners_ are lost while links are measured.
  bool star_ = false;
  // What the scheduler was given, or the links alone. Empty: none were measured.
  std::optional<OwnersPlaced> known_;
};

}  // namespace motley
