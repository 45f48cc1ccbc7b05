// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/make_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/verify_set.h"

namespace motley {
namespace {

using Unread = std::map<uint64_t, Status>;  // By step: reason why it could not be read.

std::string SetText(const ShardSet& set) {
  return fmt::format("step {} of job {:016x}", set.header.step, set.header.job);
}

// Checks that writing for `job` destroys nothing of another job or a newer program.
Status CheckOthers(Store& store, const ShardScan& scan, uint64_t job) {
  if (!scan.newer_version.empty()) return Status::Conflict(scan.newer_version);
  const auto& headless = scan.headless_steps;
  // A step without any readable header may be another job's.
  for (const ShardFile& file : scan.files) {
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

// Like CanBeRestored, for newer checkpoints of the writing job, which resumed from before them.
// Returns false, with the reason in `unread`, if reading failed twice: a transient failure must not
// move an intact checkpoint aside.
Result<bool> OwnCanBeRestored(Store& store, const ShardSet& set, Unread& unread) {
  for (int time = 1; time <= 2; ++time) {
    const auto restorable = CanBeRestored(store, set);
    if (restorable.ok() || !IsReadError(restorable.status())) return restorable;
    unread[set.header.step] = restorable.status();
  }
  return false;
}

// Checks that `job` has no checkpoint after `step` that would remain the newest.
Status CheckNewer(Store& store, const ShardScan& scan, uint64_t job, uint64_t step,
                  Unread& unread) {
  for (const ShardSet& set : scan.sets) {
    if (set.header.job != job || set.header.step <= step) continue;
    MOTLEY_ASSIGN_OR_RETURN(const bool restorable, OwnCanBeRestored(store, set, unread));
    if (!restorable) continue;
    return Status::Conflict(fmt::format(
        "{} holds a newer checkpoint of this job: {}; this one is of step {}. Resume from the "
        "newest, move it away, or choose another folder",
        store.Describe(""), SetText(set), step));
  }
  return Status::Ok();
}

// Returns true if `header`'s checkpoint exists. No newer one of its job may be restorable.
Result<bool> CheckOwn(Store& store, const ShardScan& scan, const ShardHeader& header,
                      Unread& unread) {
  MOTLEY_RETURN_IF_ERROR(CheckNewer(store, scan, header.job, header.step, unread));
  bool there = false;
  for (const ShardSet& set : scan.sets) {
    if (set.header.job != header.job || set.header.step != header.step) continue;
    // It is not moved aside if it cannot be read: it may be the one that was acknowledged last, and
    // the write that follows may fail.
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

// After the checks, only older steps of the job stay, and this very checkpoint if it is `there`.
bool IsInTheWay(const ShardFile& file, const ShardHeader& header, bool there) {
  if (file.header && file.header->job != header.job) return true;
  if (file.step != header.step) return file.step > header.step;
  return !there || (file.header && file.header->id != header.id);
}

std::string OrphanPath(const ShardFile& file, uint32_t number) {
  return fmt::format("{}/step-{:012}{}{}", ShardFolder(file.folder), file.step, kOrphanInfix,
                     number);
}

std::string AsideText(Store& store, const ShardFile& first, size_t count, uint32_t number,
                      const Unread& unread) {
  const std::string kept = fmt::format("its {} files are kept as {} and the like", count,
                                       store.Describe(OrphanPath(first, number)));
  const auto why = unread.find(first.step);
  if (why == unread.end()) {
    return fmt::format(
        "what is left of a checkpoint of step {} cannot be restored and was in the way: {}; remove "
        "them when they are no longer needed",
        first.step, kept);
  }
  return fmt::format(
      "the checkpoint of step {} cannot be read and was in the way ({}): {}; once the disk reads "
      "again, their old names make it a checkpoint again",
      first.step, why->second.ToString(), kept);
}

// Renames all files of one step with one unused number. Folders in which that fails are closed.
void MoveAside(Store& store, const ShardScan& scan, const std::vector<ShardFile>& files,
               const Unread& unread, Way& way, std::vector<std::string>& notes) {
  const auto taken = [&](uint32_t number) {
    return std::any_of(files.begin(), files.end(), [&](const ShardFile& file) {
      const auto& orphans = scan.orphans;
      return std::find(orphans.begin(), orphans.end(), OrphanPath(file, number)) != orphans.end();
    });
  };
  uint32_t number = 1;
  while (taken(number)) ++number;
  const ShardFile* first = nullptr;
  size_t moved = 0;
  for (const ShardFile& file : files) {
    Status status = store.Rename(file.path, OrphanPath(file, number));
    if (status.ok()) {
      if (moved++ == 0) first = &file;
      status = store.SyncFolder(ShardFolder(file.folder));
    }
    if (!status.ok()) way.closed.emplace(file.folder, std::move(status));
  }
  if (first != nullptr) notes.push_back(AsideText(store, *first, moved, number, unread));
}

Status CheckClosed(const Way& way, const ShardHeader& header) {
  const auto end = way.closed.lower_bound(header.shards());
  const auto own = std::distance(way.closed.begin(), end);
  if (own <= ptrdiff_t{header.code.parity}) return Status::Ok();
  return way.closed.begin()->second;
}

// Removes marks without a shard beside them, also after files were moved aside. Failures are left
// to the next writer.
void RemoveStaleMarks(Store& store, const ShardScan& scan, const ShardHeader& header,
                      const Way& way) {
  for (const WritingMark& mark : scan.marks) {
    const bool has_shard =
        std::any_of(scan.files.begin(), scan.files.end(), [&](const ShardFile& file) {
          return file.folder == mark.folder && file.step == mark.step &&
                 !IsInTheWay(file, header, way.there);
        });
    if (has_shard || way.closed.contains(mark.folder)) continue;
    (void)store.Remove(WritingMarkPath(mark.folder, mark.step));
  }
}

}  // namespace

Result<Way> MakeWay(Store& store, const ShardScan& scan, const ShardHeader& header,
                    std::vector<std::string>& notes) {
  Way way{.closed = scan.unlisted};
  MOTLEY_RETURN_IF_ERROR(CheckClosed(way, header));
  MOTLEY_RETURN_IF_ERROR(CheckOthers(store, scan, header.job));
  Unread unread;
  MOTLEY_ASSIGN_OR_RETURN(way.there, CheckOwn(store, scan, header, unread));
  for (const std::string& path : scan.leftovers) (void)store.Remove(path);
  std::map<uint64_t, std::vector<ShardFile>> steps;
  for (const ShardFile& file : scan.files) {
    if (IsInTheWay(file, header, way.there)) steps[file.step].push_back(file);
  }
  for (const auto& [step, files] : steps) MoveAside(store, scan, files, unread, way, notes);
  RemoveStaleMarks(store, scan, header, way);
  MOTLEY_RETURN_IF_ERROR(CheckClosed(way, header));
  return way;
}

Status CheckWritable(Store& store, uint64_t job, uint64_t step) {
  MOTLEY_RETURN_IF_ERROR(store.Lock());
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  const bool known = std::any_of(scan.sets.begin(), scan.sets.end(), [&](const ShardSet& set) {
    return job != 0 && set.header.job == job;
  });
  if (!known && !scan.unlisted.empty()) return scan.unlisted.begin()->second;
  MOTLEY_RETURN_IF_ERROR(CheckOthers(store, scan, job));
  Unread unread;
  return CheckNewer(store, scan, job, step, unread);
}

}  // namespace motley
