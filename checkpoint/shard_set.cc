// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace motley {
namespace {

// A file of one step in one folder.
struct FoundFile {
  uint64_t size_bytes = 0;
  bool opened = true;  // If not, `problem` has the reason.
  std::optional<ShardHeader> header;
  std::string problem;    // Reason why there is no header.
  Status unread;          // Set if the header was not even read.
  bool is_newer = false;  // A later version of this program wrote it.
  bool marked = false;
};
using FilesOfStep = std::map<uint32_t, FoundFile>;  // By folder.

// The 123 of "PREFIX123SUFFIX"; nothing for other names.
std::optional<uint64_t> NumberIn(std::string_view name, std::string_view prefix,
                                 std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  name.remove_prefix(prefix.size());
  if (name.size() <= suffix.size()) return {};
  name.remove_suffix(suffix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return number;
}

FoundFile ReadHeader(Store& store, const std::string& path, uint64_t size_bytes, uint64_t step) {
  FoundFile file{.size_bytes = size_bytes};
  HeaderBytes bytes{};
  const auto got = store.Read(path, 0, bytes);
  if (!got.ok()) {
    file.opened = false;
    file.problem = got.status().ToString();
    if (got.code() != StatusCode::kNotFound) file.unread = got.status();
    return file;
  }
  auto header = ParseHeader(BytesView(bytes).first(*got));
  if (header.ok() && header->step != step) {
    header = Status::DataError(fmt::format("it holds step {}", header->step));
  }
  if (header.ok()) {
    file.header = *header;
  } else {
    file.problem = header.status().message();
    file.is_newer = header.code() == StatusCode::kConflict;
  }
  return file;
}

bool SameCheckpoint(const ShardHeader& a, ShardHeader b) {
  b.shard = a.shard;
  return PackHeader(a) == PackHeader(b);
}

ShardPlace PlaceOf(Store& store, const ShardHeader& header, uint32_t shard,
                   const FilesOfStep& files, const std::map<uint32_t, Status>& unlisted) {
  ShardPlace place;
  place.path = ShardPath(shard, header.step);
  if (const auto folder = unlisted.find(shard); folder != unlisted.end()) {
    place.unread = folder->second;
    place.problem = place.unread.ToString();
    return place;
  }
  const auto it = files.find(shard);
  if (it == files.end()) {
    place.problem = "missing";
    return place;
  }
  const FoundFile& file = it->second;
  place.marked = file.marked;
  const ShardLayout layout(header);
  const uint64_t wanted = layout.file_bytes();
  place.size_bytes = file.size_bytes;
  if (file.header && !SameCheckpoint(header, *file.header)) {
    place.problem = "is of another checkpoint of this step";
    return place;
  }
  if (file.header && file.header->shard != shard) {
    place.problem = fmt::format("is shard {}, which belongs in {}", file.header->shard,
                                store.Describe(ShardFolder(file.header->shard)));
    return place;
  }
  place.usable = true;
  place.cut = file.opened && file.size_bytes < layout.BlockOffset(layout.stripes());
  place.problem = file.problem;
  place.unread = file.unread;
  if (file.opened && file.size_bytes != wanted) {
    place.problem = fmt::format("has {} bytes instead of {}", file.size_bytes, wanted);
  }
  place.whole = place.problem.empty();
  return place;
}

// Creates a set for each distinct header among a step's files.
void AddSets(Store& store, const FilesOfStep& files, ShardScan& scan) {
  std::vector<ShardSet> sets;
  for (const auto& [folder, file] : files) {
    if (!file.header) continue;
    const ShardHeader& header = *file.header;
    const bool known = std::any_of(sets.begin(), sets.end(), [&](const ShardSet& set) {
      return SameCheckpoint(set.header, header);
    });
    if (!known) sets.push_back({header, {}});
  }
  for (ShardSet& set : sets) {
    for (uint32_t shard = 0; shard < set.header.shards(); ++shard) {
      set.places.push_back(PlaceOf(store, set.header, shard, files, scan.unlisted));
    }
  }
  std::stable_sort(sets.begin(), sets.end(), [](const ShardSet& a, const ShardSet& b) {
    return std::pair(a.LooksRestorable(), a.Whole()) > std::pair(b.LooksRestorable(), b.Whole());
  });
  for (ShardSet& set : sets) scan.sets.push_back(std::move(set));
}

void ScanFolder(Store& store, uint32_t shard, const std::vector<StoreEntry>& entries,
                std::map<uint64_t, FilesOfStep>& steps, ShardScan& scan) {
  std::set<uint64_t> marked;
  for (const StoreEntry& entry : entries) {
    const auto step = NumberIn(entry.name, "step-", kWritingMarkSuffix);
    if (!step || ShardFolder(shard) + "/" + entry.name != WritingMarkPath(shard, *step)) continue;
    marked.insert(*step);
    scan.marks.push_back({shard, *step});
  }
  for (const StoreEntry& entry : entries) {
    const std::string path = ShardFolder(shard) + "/" + entry.name;
    if (entry.is_folder) continue;
    if (NumberIn(entry.name, "step-", std::string(".shard") + kTemporarySuffix)) {
      scan.leftovers.push_back(path);
    }
    if (entry.name.find(kOrphanInfix) != std::string::npos) scan.orphans.push_back(path);
    const auto step = NumberIn(entry.name, "step-", ".shard");
    if (!step || path != ShardPath(shard, *step)) continue;
    FoundFile file = ReadHeader(store, path, entry.size_bytes, *step);
    file.marked = marked.contains(*step);
    if (file.is_newer) scan.newer_version = store.Describe(path) + ": " + file.problem;
    steps[*step].emplace(shard, std::move(file));
  }
}

}  // namespace

uint32_t ShardSet::Whole() const {
  return static_cast<uint32_t>(std::count_if(places.begin(), places.end(),
                                             [](const ShardPlace& place) { return place.whole; }));
}

bool ShardSet::LooksRestorable() const {
  const auto long_enough = std::count_if(places.begin(), places.end(), [](const ShardPlace& place) {
    return place.usable && !place.cut;
  });
  return long_enough >= static_cast<std::ptrdiff_t>(header.code.data);
}

bool ShardSet::IsUnfinished() const {
  return !LooksRestorable() && std::all_of(places.begin(), places.end(), [](const auto& place) {
    return !place.usable || place.marked;
  });
}

Result<ShardScan> ScanShards(Store& store) {
  ShardScan scan;
  std::map<uint64_t, FilesOfStep> steps;
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<StoreEntry> root, store.List(""));
  for (const StoreEntry& folder : root) {
    const auto shard = NumberIn(folder.name, "node-", "");
    if (!shard || *shard >= kMostShards || folder.name != ShardFolder(*shard)) continue;
    const auto number = static_cast<uint32_t>(*shard);
    const auto entries = store.List(folder.name);
    if (entries.ok()) {
      scan.folders.push_back(number);
      ScanFolder(store, number, *entries, steps, scan);
    } else if (folder.is_folder && entries.code() != StatusCode::kNotFound) {
      scan.unlisted[number] = entries.status();
    }
  }
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    const size_t before = scan.sets.size();
    AddSets(store, it->second, scan);
    if (scan.sets.size() == before) scan.headless_steps.push_back(it->first);
    for (const auto& [folder, file] : it->second) {
      scan.files.push_back(
          {ShardPath(folder, it->first), folder, it->first, file.header, file.unread, file.marked});
    }
  }
  return scan;
}

Result<ShardSet> ChooseSet(Store& store, const ShardScan& scan, std::optional<uint64_t> step) {
  const ShardSet* chosen = nullptr;
  std::vector<uint64_t> steps;
  for (const ShardSet& set : scan.sets) {
    if (steps.empty() || steps.back() != set.header.step) steps.push_back(set.header.step);
    if (step && set.header.step != *step) continue;
    const bool better = chosen == nullptr || (!chosen->LooksRestorable() && set.LooksRestorable());
    if (better) chosen = &set;
  }
  if (chosen != nullptr) return *chosen;
  std::string text = fmt::format("there is no checkpoint{} in {}",
                                 step ? fmt::format(" of step {}", *step) : "", store.Describe(""));
  if (!steps.empty()) text += fmt::format("; there are those of steps {}", fmt::join(steps, ", "));
  if (!scan.headless_steps.empty()) {
    text += fmt::format("; no header can be read in the files of steps {}",
                        fmt::join(scan.headless_steps, ", "));
  }
  if (!scan.newer_version.empty()) text += "; " + scan.newer_version;
  return Status::NotFound(std::move(text));
}

CheckpointInfo InfoOf(const ShardSet& set) {
  CheckpointInfo info;
  info.job = set.header.job;
  info.step = set.header.step;
  info.seed = set.header.seed;
  info.id = ToText(set.header.id);
  info.code = set.header.code;
  info.description_bytes = set.header.description_bytes;
  info.parameters = set.header.parameters;
  info.optimizer_state = set.header.optimizer_state;
  info.shard_bytes = ShardLayout(set.header).file_bytes();
  for (uint32_t shard = 0; shard < set.header.shards(); ++shard) {
    if (!set.places[shard].whole) info.missing_shards.push_back(shard);
  }
  info.restorable = set.LooksRestorable();
  info.survives = std::max(set.Whole(), set.header.code.data) - set.header.code.data;
  return info;
}

Result<std::vector<CheckpointInfo>> ListCheckpoints(Store& store) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  std::vector<CheckpointInfo> infos;
  for (const ShardSet& set : scan.sets) infos.push_back(InfoOf(set));
  return infos;
}

}  // namespace motley
