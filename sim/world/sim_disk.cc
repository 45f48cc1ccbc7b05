// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_disk.h"

#include <deque>
#include <utility>

#include "runtime/alive.h"

namespace motley {
namespace {

class SimDisk final : public Disk {
 public:
  SimDisk(Loop& loop, Store& store, const SimDiskSpeed& speed)
      : loop_(loop), store_(store), speed_(speed) {}

  ~SimDisk() override {
    for (Piece& piece : pieces_) {
      piece.work = nullptr;
      piece.done(Status::Cancelled("the disk was closed before this work ran"));
    }
  }

  void Submit(Work work, Done done) override {
    if (pieces_.size() > kMostWaiting) {  // The first piece is running, not waiting.
      work = nullptr;
      return Refuse(std::move(done));
    }
    pieces_.push_back({std::move(work), std::move(done)});
    if (pieces_.size() == 1) Begin();
  }

 private:
  struct Piece {
    Work work;
    Done done;
  };

  void Begin() {
    loop_.After(speed_.per_piece, alive_.Guard([this] { End(); }));
  }

  void End() {
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (!pieces_.empty()) Begin();
    Status status = piece.work(store_);
    piece.work = nullptr;
    piece.done(std::move(status));
  }

  void Refuse(Done done) {
    loop_.Post([done = std::move(done)] {
      done(Status::Unavailable("too much work is waiting for the disk"));
    });
  }

  Loop& loop_;
  Store& store_;
  SimDiskSpeed speed_;
  std::deque<Piece> pieces_;
  Alive alive_;
};

}  // namespace

std::unique_ptr<Disk> MakeSimDisk(Loop& loop, Store& store, const SimDiskSpeed& speed) {
  return std::make_unique<SimDisk>(loop, store, speed);
}

}  // namespace motley
