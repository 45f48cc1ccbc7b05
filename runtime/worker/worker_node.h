// SPDX-License-Identifier: Apache-2.0
// A worker: joins a server, holds the partitions placed on it, computes the rows it is assigned and
// sends them as they are summed. One loop thread owns it all.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "runtime/coordinator/server_node.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

struct WorkerOptions {
  std::string server;  // Address.
  std::string token;
  std::string name;  // "worker-2"
  int32_t index_hint = -1;
  // Of the first try to join; random, not 0. Each further try counts as a life of its own. It also
  // tells the server that lives are of one process.
  Incarnation incarnation = 0;
  // For how long it looks for its server: at the start, and whenever it has lost it.
  Duration wait = std::chrono::minutes(10);
  // Serves one job after the other: `wait` has no end, and neither a goodbye nor a refusal ends it.
  bool forever = false;
  bool heartbeat = true;  // Watches its server, and lets it watch (heartbeat.h).
  // Of samples to keep in memory; partitions beyond go to files without a name.
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();
  // The caller's own gradient, with `accumulate`; null: built-in models.
  std::shared_ptr<const ForeignTrainer> foreign;
  // Told what whoever started it wants to know: what it joined, and why it was sent home. May be
  // null.
  std::function<void(const std::string&)> tell;
};

// Test seam and fault injection: changes an answer before it is sent.
using AnswerFilter = std::function<void(StepId step, std::span<float> vector)>;

class WorkerNode {
 public:
  using Finished = std::function<void(Status)>;

  static std::unique_ptr<WorkerNode> Create(Env env, const WorkerOptions& options);
  virtual ~WorkerNode() = default;

  // Connects, and connects again when the connection is lost: the worker then holds nothing, and
  // gets its data anew. `finished` runs once: fine when the server said goodbye, otherwise why it
  // ended (kUnavailable: no server within `wait`; kPermission: token refused; kConflict: another
  // protocol version, or one has a trainer and the other none, or another; kCallback or another
  // code: the trainer's).
  virtual void Start(Finished finished) = 0;
  // Takes its leave: the server gives its work to others at once. `finished` runs soon, with
  // kCancelled. Nothing for one that has not been started or has ended.
  virtual void Leave() = 0;
  virtual void SetAnswerFilter(AnswerFilter filter) = 0;
};

}  // namespace motley
