// SPDX-License-Identifier: Apache-2.0
#include "power_cut_run.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

class Run {
 public:
  Run(uint64_t seed, PowerCutCounts& counts)
      : random_(seed, Stream::kTest), store_(random_.Next64()), counts_(counts) {
    code_.data = static_cast<uint32_t>(1 + random_.Below(4));
    code_.parity = static_cast<uint32_t>(random_.Below(3));
    if (random_.Chance(0.5)) code_.technique = ErasureTechnique::kCauchy;
    parameters_ = random_.Below(1500);
  }

  std::string Play() {
    const uint64_t incarnations = 2 + random_.Below(3);
    for (uint64_t incarnation = 0; incarnation < incarnations && problem_.empty(); ++incarnation) {
      RunIncarnation();
      ++counts_.incarnations;
      const bool killed_only = random_.Chance(0.3);
      if (killed_only) {
        ++counts_.killed;
        store_.Restart();
      } else {
        store_.PowerOn();
      }
      step_ = Look(killed_only ? "after the kill" : "after the cut");
      if (problem_.empty() && random_.Chance(0.5)) LookThroughDamage();
    }
    return problem_;
  }

 private:
  void RunIncarnation() {
    if (random_.Chance(0.8)) store_.faults.cut_power_after = random_.Below(80);
    if (random_.Chance(0.2)) store_.faults.fail_operation_after = random_.Below(40);
    for (int write = 0; write < 4 && store_.powered(); ++write) {
      // A job that is resumed at its end saves the step that it got.
      const bool again = write == 0 && step_ > 0 && random_.Chance(0.3);
      if (!again) ++step_;
      // A later incarnation may give the same step another content. An existing whole checkpoint is
      // only acknowledged for equal content.
      const bool same = again && random_.Chance(0.7);
      const uint64_t variant = same ? variant_ : random_.Below(1000);
      written_[step_].push_back(variant);
      WrittenCheckpoint written;
      const Status status =
          WriteCheckpoint(store_, code_, MakeState(step_, parameters_, variant), {}, &written);
      if (status.ok()) {
        ++counts_.acknowledged;
        if (!written.left_out.empty()) ++counts_.degraded;
        acknowledged_ = step_;
        left_out_ = std::move(written.left_out);
        survives_ = written.survives;
      } else if (!store_.powered()) {
        ++counts_.cut_while_writing;
      } else {
        ++counts_.failed_operations;
        (void)Look("after a failed operation");
      }
      if (!problem_.empty()) return;
    }
  }

  // Returns the restored step, which must be right; 0 for none.
  uint64_t Look(const char* when) {
    const auto read = ReadCheckpoint(store_);
    if (!read.ok()) {
      if (acknowledged_) {
        problem_ = fmt::format("{}: step {} was acknowledged: {}", when, *acknowledged_,
                               read.status().ToString());
      }
      return 0;
    }
    if (acknowledged_ && read->step < *acknowledged_) {
      problem_ = fmt::format("{}: step {} came back, {} was acknowledged", when, read->step,
                             *acknowledged_);
    }
    if (!acknowledged_ || read->step > *acknowledged_) ++counts_.newer_than_acknowledged;
    for (const uint64_t variant : written_[read->step]) {
      if (!Same(*read, MakeState(read->step, parameters_, variant))) continue;
      variant_ = variant;
      return read->step;
    }
    problem_ = fmt::format("{}: step {} is none that was written", when, read->step);
    return 0;
  }

  // Loses or damages as many shards as the acknowledged checkpoint survives, and then repairs them.
  void LookThroughDamage() {
    if (!acknowledged_ || survives_ == 0 || step_ != *acknowledged_) return;
    ++counts_.with_damage;
    std::set<uint32_t> lost;
    for (const LeftOutShard& each : left_out_) lost.insert(each.shard);
    std::set<uint32_t> hit;
    while (hit.size() < survives_) {
      const auto shard = static_cast<uint32_t>(random_.Below(code_.data + code_.parity));
      if (!lost.contains(shard)) hit.insert(shard);
    }
    for (const uint32_t shard : hit) {
      const std::string path = ShardPath(shard, *acknowledged_);
      if (random_.Chance(0.5)) {
        store_.RemoveFolder(ShardFolder(shard));
      } else {
        (void)store_.FlipBit(path, random_.Below(*store_.Size(path) * 8));
      }
    }
    (void)Look("with damage");
    const auto repaired = RepairCheckpoint(store_, *acknowledged_);
    if (problem_.empty() && !repaired.ok()) {
      problem_ = "repair: " + repaired.status().ToString();
    }
    left_out_.clear();
    survives_ = code_.parity;
  }

  Random random_;
  SimStore store_;
  PowerCutCounts& counts_;
  CheckpointCode code_;
  size_t parameters_ = 0;
  uint64_t step_ = 0;
  uint64_t variant_ = 0;  // Variant of the step that was restored last.
  std::map<uint64_t, std::vector<uint64_t>> written_;  // Variants by step.
  std::optional<uint64_t> acknowledged_;
  std::vector<LeftOutShard> left_out_;  // Shards left out of the acknowledged checkpoint.
  uint32_t survives_ = 0;
  std::string problem_;
};

}  // namespace

std::string RunPowerCuts(uint64_t seed, PowerCutCounts& counts) {
  const std::string problem = Run(seed, counts).Play();
  return problem.empty() ? "" : fmt::format("seed {}: {}", seed, problem);
}

}  // namespace motley
