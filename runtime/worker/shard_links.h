// SPDX-License-Identifier: Apache-2.0
// A worker's connections to the workers that hold shards of the vector. The worker sends each slice
// of an answer to the owner of its range, and gets the newest parameters back over the same
// connection. Its own shards are reached in the same way. Loop thread only.
//
// A worker that cannot reach an owner is of no use to its job: it leaves, unless the coordinator
// names another owner soon. It reports to the coordinator which nodes it reaches, and which other
// nodes it does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "runtime/alive.h"
#include "runtime/survey/link_load.h"
#include "runtime/worker/worker_inbox.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class ShardLinks final : public Receiver {
 public:
  struct Parts {
    Loop& loop;
    Transport& transport;
    ParameterInbox& parameters;
    Header header;          // Job and incarnation.
    wire::ShardJoinT join;  // What it says to each owner.
    std::string server;     // The address of the server, as this worker knows it.
    size_t shards = 0;
    PeerId coordinator = 0;
    uint32_t workers = 0;  // Nodes from this one on are shard servers.
    uint32_t places = 0;   // Workers and shard servers. As a node, this number is the coordinator.
  };
  struct Hooks {
    std::function<void()> advance;              // Parameters arrived.
    std::function<void(const Status&)> failed;  // The worker cannot go on in this job.
  };

  ShardLinks(Parts parts, Hooks hooks);
  ~ShardLinks() override;

  // Takes part in a measurement of all links (runtime/survey/link_survey.h), and reports the
  // result. It comes before any work, so it delays nothing.
  void Test(const wire::LinkTestT& test);
  LinkLoad& load() { return load_; }
  void LoadArrived(const Header& header) { load_.Arrived(parts_.places, header); }

  // The coordinator says who holds what. Without owners the worker only connects to all that have
  // an address, as far as it can. kDataError: it names no owner for a shard, or one without an
  // address.
  Status SetShards(const wire::ShardsT& shards);
  bool remote() const { return !owners_.empty(); }  // Shards are held by workers.
  // The connection to the owner of a shard. Precondition: remote().
  PeerId PeerOf(uint32_t shard) const { return Link(owners_[shard]); }
  // The connection to a worker that holds shards; 0: none.
  PeerId Link(WorkerId worker) const;
  bool Knows(PeerId peer) const { return links_.contains(peer); }

  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;

 private:
  struct One {
    WorkerId worker = 0;
    std::string address;
    Bytes control;
    ParameterInbox::Arriving arriving;
    TimerId timer = 0;  // Runs while a lost connection may be replaced.
    bool up = false;
    bool lost = false;
    bool again = false;  // The connection before was lost.
  };
  enum class Reach : uint8_t { kHas, kClosed, kLost };

  void Connect(WorkerId worker, const std::string& address, bool again = false);
  void Drop(PeerId peer);
  void Replace(PeerId peer, const Status& lost);
  void Report(WorkerId node, Reach reach);
  void SayWhatIsMissing(const std::vector<WorkerId>& before);

  Parts parts_;
  Hooks hooks_;
  std::vector<WorkerId> owners_;  // By shard.
  std::map<PeerId, One> links_;
  LinkLoad load_;
  Alive alive_;
};

}  // namespace motley
