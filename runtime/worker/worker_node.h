// SPDX-License-Identifier: Apache-2.0
// A worker: joins a server, holds the partitions placed on it, computes its orders and sends the
// answers while they are summed. One loop thread owns it all.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "runtime/coordinator/server_node.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

struct WorkerOptions {
  std::string server;  // The server's address.
  std::string token;
  std::string name;  // "worker-2"
  int32_t index_hint = -1;
  // The incarnation of the first attempt to join; random, not 0. Each further attempt draws its
  // own. The first one also shows the server which attempts are of one process.
  Incarnation incarnation = 0;
  // How long the worker looks for its server, at the start and whenever it has lost it.
  Duration wait = std::chrono::minutes(10);
  // The worker serves one job after the other: `wait` has no end, and neither a goodbye nor a
  // refusal ends it.
  bool forever = false;
  // The worker watches its server, and lets the server watch it (heartbeat.h).
  bool heartbeat = true;
  // A shard server: it holds shards of the vector, and computes nothing.
  bool holds_only = false;
  // Where the worker accepts the others of a job whose workers own shards of the vector; the server
  // replaces a wildcard by the address that it sees.
  std::string listen = "0.0.0.0:0";
  // Memory for samples. Further partitions go to unnamed files.
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();
  // The caller's own gradient, with `accumulate`; null for built-in models.
  std::shared_ptr<const ForeignTrainer> foreign;
  // Receives text for the user: what the worker joined, and why it was sent away. May be null.
  std::function<void(const std::string&)> tell;
};

// Test seam and fault injection: changes an answer before it is sent.
using AnswerFilter = std::function<void(StepId step, std::span<float> vector)>;

class WorkerNode {
 public:
  using Finished = std::function<void(Status)>;

  static std::unique_ptr<WorkerNode> Create(Env env, const WorkerOptions& options);
  virtual ~WorkerNode() = default;

  // Connects, and reconnects when the connection is lost. The worker then holds nothing and
  // receives its data again. `finished` runs once. Its status is fine when the server said goodbye;
  // otherwise it says why the worker ended. kUnavailable: no server within `wait`. kPermission: the
  // token was refused. kConflict: another protocol version, or worker and job do not have the same
  // trainer. kCallback or another code: an error of the trainer.
  virtual void Start(Finished finished) = 0;
  // Says goodbye, so that the server gives the work to others at once. `finished` runs soon, with
  // kCancelled. Leave does nothing if the node has not been started or has ended.
  virtual void Leave() = 0;
  virtual void SetAnswerFilter(AnswerFilter filter) = 0;
};

}  // namespace motley
