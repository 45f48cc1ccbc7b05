// SPDX-License-Identifier: Apache-2.0
// What the classes of a server share: the values of the job, and references to the parts that they
// hand work to. The ServerJob owns all of it. Loop thread only.
#pragma once

#include <memory>
#include <vector>

#include "runtime/coordinator/server_model.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/coordinator/session.h"
#include "runtime/coordinator/validator.h"
#include "runtime/observer_fan.h"
#include "runtime/saving/job_record.h"
#include "runtime/shard/remote_updates.h"
#include "runtime/survey/awaited_servers.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

class Answers;
class AuditFindings;
class Dispatcher;
class EventPump;
class JobEnding;
class ServerInbox;
class ServerPeers;
class StepWatch;
class Updater;

struct ServerContext {
  Time Now() const { return env.loop.Now(); }
  void Say(const JobNotice& notice) { observer.OnEvent(event::Noticed{notice}); }
  // Null if the worker is not connected. The scheduler will then soon receive its loss.
  Session* SessionOf(WorkerId worker) const { return sessions[worker].get(); }
  // False for shard servers, of which the scheduler, records and observers know nothing.
  bool Computes(WorkerId worker) const { return worker < options.workers; }
  // The schedule gives the weight of answers, because every sample weighs 1.
  bool CountsAreKnown() const {
    return options.foreign == nullptr && options.model.class_weights.empty();
  }

  const Env env;
  JobOptions options;
  const DataSource& data;
  const BatchSchedule schedule;
  const std::unique_ptr<ServerModel> model;
  const std::unique_ptr<Validator> validator;
  JobRecord record;
  PartitionBlocks blocks;
  AuditFindings& audits;
  Answers& answers;
  Dispatcher& dispatcher;
  Updater& updater;
  VectorProbe& vector_probe;
  ServerPeers& peers;
  EventPump& pump;
  StepWatch& watch;
  ServerInbox& inbox;
  JobEnding& end;
  ObserverFan observer = {};
  std::unique_ptr<RemoteUpdates> remote = {};  // Null: the shards are here.
  std::unique_ptr<AwaitedServers> awaited = {};
  // By worker, then by shard server; null: not connected.
  std::vector<std::unique_ptr<Session>> sessions = {};
};

}  // namespace motley
