// SPDX-License-Identifier: Apache-2.0
// Reads a version for a checkpoint from the nodes that own its shards, while steps go on. Each
// owner keeps its values and a copy of its optimizer's state (runtime/shard/shard_copies.h) before
// the next update opens, so all pieces are of this version. Owners keep them when their shards
// move. If an owner is lost before all pieces have come, its copy is lost, too, and the reader
// gives up. The reader also gives up if nothing comes for two minutes, because a device that hangs
// must not be the end of all checkpoints. Loop thread only.
//
//   Begin             ShardCopy to all owners; each has its copy: ShardCopied
//                     ShardPiece, one at a time, in the order of the vector: kShardCopy frames
//   all pieces came   ShardForget to all owners; `done`
//
// One small piece at a time leaves room for what steps say over the same links, and memory is taken
// as pieces come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/holders/shard_placement.h"
#include "transport/wire/header.h"

namespace motley {

class CopyReader {
 public:
  using Done = std::function<void(Result<ShardState>)>;

  // `loop` and `placement` are borrowed. No piece is longer than `slice_length` floats. Nodes from
  // `workers` on are shard servers.
  CopyReader(Loop& loop, ShardPlacement& placement, size_t slice_length, WorkerId workers)
      : loop_(loop), placement_(placement), slice_length_(slice_length), workers_(workers) {}
  ~CopyReader() { loop_.Cancel(silence_.timer); }
  CopyReader(const CopyReader&) = delete;
  CopyReader& operator=(const CopyReader&) = delete;

  // `version` is the newest, all owners have it, and no update is open. One reading at a time.
  // `done` gets kUnavailable if an owner is lost, hangs or cannot copy its part, and kResource if
  // there is no memory for the version here.
  void Begin(uint64_t version, Done done);
  bool reading() const { return done_ != nullptr; }
  void Stop();  // `done` does not run.
  void Lost(WorkerId node, const Status& why);

  // What belongs to an earlier reading is ignored. BeginPiece: kDataError if nobody asked for it.
  Status OnCopied(WorkerId node, const wire::ShardCopiedT& copied);
  Result<std::span<std::byte>> BeginPiece(WorkerId node, const Header& header);
  void FinishPiece(WorkerId node, const Header& header);

 private:
  using Floats = std::shared_ptr<std::vector<float>>;
  struct Piece {
    uint32_t shard;
    size_t offset;  // In the shard's values and arrays.
    size_t count;
    Floats into;   // All values, or all arrays of the state.
    size_t begin;  // In `into`.
  };

  void Finish(Result<ShardState> result);
  void Ask();
  void Watch(Duration time);
  void OnSilent();
  Piece NextPiece() const;
  bool Expects(WorkerId node, const Header& header) const;

  Loop& loop_;
  ShardPlacement& placement_;
  const size_t slice_length_;
  const WorkerId workers_;
  Done done_;
  uint32_t id_ = 0;
  std::vector<WorkerId> owners_;  // By shard, as they were at Begin.
  std::set<uint32_t> uncopied_;   // Shards whose owners have not made their copy yet.
  struct {
    uint64_t version = 0;
    Floats values, state;  // Null: no owner has made its copy yet.
    size_t arrays = 0;     // What all owners say of the state.
    uint64_t optimizer_steps = 0;
    size_t next = 0;  // Floats that have come, over all arrays.
  } read_;
  std::optional<Piece> asked_;
  // What a piece arrives in from each node. It never moves. The connection of a lost node may still
  // write to it while it closes, so it stays for a while.
  std::map<WorkerId, std::vector<float>> arriving_;
  std::vector<std::pair<Time, std::vector<float>>> left_;
  struct {
    TimerId timer = 0;
    Time since{};  // Something came last.
  } silence_;
};

}  // namespace motley
