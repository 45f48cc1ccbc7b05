// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/make_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/checkpoint/verify_set.h"

namespace motley {
namespace {

std::string SetText(const ShardSet& set) {
  return fmt::format("step {} of job {:016x}", set.header.step, set.header.job);
}

// That no other job, and no newer program, would lose anything to `job`.
Status CheckOthers(Store& store, const ShardScan& scan, uint64_t job) {
  if (!scan.newer_version.empty()) return Status::Conflict(scan.newer_version);
  MOTLEY_RETURN_IF_ERROR(scan.unlisted);
  const auto& headless = scan.headless_steps;
  for (const ShardFile& file : scan.files) {  // Anybody's, if no header of the step is known.
    if (std::find(headless.begin(), headless.end(), file.step) == headless.end()) continue;
    MOTLEY_RETURN_IF_ERROR(file.unread);
  }
  for (const ShardSet& set : scan.sets) {
    if (job != 0 && set.header.job == job) continue;
    MOTLEY_ASSIGN_OR_RETURN(const bool restorable, CanBeRestored(store, set));
    if (!restorable) continue;
    return Status::Conflict(
        fmt::format("{} holds a checkpoint of another job: {}. Go on with it by `resume`, or "
                    "choose another folder",
                    store.Describe(""), SetText(set)));
  }
  return Status::Ok();
}

// That no checkpoint of `job` after `step` would go on being the newest.
Status CheckNewer(Store& store, const ShardScan& scan, uint64_t job, uint64_t step) {
  for (const ShardSet& set : scan.sets) {
    if (set.header.job != job || set.header.step <= step) continue;
    MOTLEY_ASSIGN_OR_RETURN(const bool restorable, CanBeRestored(store, set));
    if (!restorable) continue;
    return Status::Conflict(fmt::format(
        "{} holds a newer checkpoint of this job: {}; this one is of step {}. Resume from the "
        "newest, move it away, or choose another folder",
        store.Describe(""), SetText(set), step));
  }
  return Status::Ok();
}

// Whether `header`'s checkpoint is there; nothing else of its job may be that it would stand
// before.
Result<bool> CheckOwn(Store& store, const ShardScan& scan, const ShardHeader& header) {
  for (const ShardFile& file : scan.files) {
    if (file.step >= header.step) MOTLEY_RETURN_IF_ERROR(file.unread);
  }
  MOTLEY_RETURN_IF_ERROR(CheckNewer(store, scan, header.job, header.step));
  bool there = false;
  for (const ShardSet& set : scan.sets) {
    if (set.header.job != header.job || set.header.step != header.step) continue;
    MOTLEY_ASSIGN_OR_RETURN(const bool restorable, CanBeRestored(store, set));
    if (!restorable) continue;
    if (set.header.id != header.id) {
      return Status::Conflict(fmt::format(
          "{} holds {} already, with other content (id {}, this one {}). Resume from it, move it "
          "away, or choose another folder",
          store.Describe(""), SetText(set), ToText(set.header.id), ToText(header.id)));
    }
    there = true;
  }
  return there;
}

// After the checks: of what is there, only older steps of the job stay, and `there`.
bool IsInTheWay(const ShardFile& file, const ShardHeader& header, bool there) {
  if (file.header && file.header->job != header.job) return true;
  if (file.step != header.step) return file.step > header.step;
  return !there || (file.header && file.header->id != header.id);
}

std::string OrphanPath(const ShardFile& file, uint32_t number) {
  return fmt::format("{}/step-{:012}{}{}", ShardFolder(file.folder), file.step, kOrphanInfix,
                     number);
}

// All files of one step, under one number that none of them has been given before.
Status MoveAside(Store& store, const ShardScan& scan, const std::vector<ShardFile>& files,
                 std::vector<std::string>* notes) {
  const auto taken = [&](uint32_t number) {
    return std::any_of(files.begin(), files.end(), [&](const ShardFile& file) {
      const auto& orphans = scan.orphans;
      return std::find(orphans.begin(), orphans.end(), OrphanPath(file, number)) != orphans.end();
    });
  };
  uint32_t number = 1;
  while (taken(number)) ++number;
  for (const ShardFile& file : files) {
    MOTLEY_RETURN_IF_ERROR(store.Rename(file.path, OrphanPath(file, number)));
    MOTLEY_RETURN_IF_ERROR(store.SyncFolder(ShardFolder(file.folder)));
  }
  if (notes == nullptr) return Status::Ok();
  notes->push_back(fmt::format(
      "what is left of a checkpoint of step {} cannot be restored and was in the way: its {} files "
      "are kept as {} and the like; remove them when nobody needs them",
      files[0].step, files.size(), store.Describe(OrphanPath(files[0], number))));
  return Status::Ok();
}

}  // namespace

Result<bool> MakeWay(Store& store, const ShardScan& scan, const ShardHeader& header,
                     std::vector<std::string>* notes) {
  MOTLEY_RETURN_IF_ERROR(CheckOthers(store, scan, header.job));
  MOTLEY_ASSIGN_OR_RETURN(const bool there, CheckOwn(store, scan, header));
  for (const std::string& path : scan.leftovers) (void)store.Remove(path);
  std::map<uint64_t, std::vector<ShardFile>> steps;
  for (const ShardFile& file : scan.files) {
    if (IsInTheWay(file, header, there)) steps[file.step].push_back(file);
  }
  for (const auto& [step, files] : steps) {
    MOTLEY_RETURN_IF_ERROR(MoveAside(store, scan, files, notes));
  }
  return there;
}

Status CheckWritable(Store& store, uint64_t job, uint64_t step) {
  MOTLEY_RETURN_IF_ERROR(store.Lock());
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_RETURN_IF_ERROR(CheckOthers(store, scan, job));
  return CheckNewer(store, scan, job, step);
}

}  // namespace motley
