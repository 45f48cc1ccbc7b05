// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/store/store_path.h"

namespace motley {

struct SimStore::Content {
  Bytes bytes;             // The bytes that readers see.
  size_t synced_size = 0;  // Files only grow; this many of the first bytes are on the disk.
};

struct SimStore::Folder {
  std::map<std::string, ContentPtr> files;
  std::map<std::string, ContentPtr> synced_files;
  std::set<std::string> folders;
  std::set<std::string> synced_folders;
};

class SimStore::File final : public StoreFile {
 public:
  File(SimStore& store, ContentPtr content, std::string path)
      : store_(store), content_(std::move(content)), path_(std::move(path)), life_(store.life_) {}

  Status Append(BytesView bytes) override {
    MOTLEY_RETURN_IF_ERROR(Step("write"));
    uint64_t room = bytes.size();
    if (const std::optional<uint64_t> capacity = store_.faults.capacity) {
      room = std::min(room, *capacity - std::min(store_.stored_bytes(), *capacity));
    }
    content_->bytes.insert(content_->bytes.end(), bytes.begin(),
                           bytes.begin() + static_cast<ptrdiff_t>(room));
    if (room == bytes.size()) return Status::Ok();
    return Status::Resource(
        fmt::format("cannot write {}: no space left on the simulated disk; "
                    "free some space or choose another folder",
                    store_.Describe(path_)));
  }

  Status Sync() override {
    Status status = Step("sync");
    if (status.ok()) {
      content_->synced_size = content_->bytes.size();
    } else if (store_.powered_ && life_ == store_.life_) {
      store_.Crash(*content_);  // Systems mark the pages clean, and their data are gone.
    }
    return status;
  }

 private:
  Status Step(const char* what) {
    if (life_ != store_.life_) {
      return Status::Resource(fmt::format("cannot {} {}: it was opened before the power cut", what,
                                          store_.Describe(path_)));
    }
    return store_.Step(what, path_);
  }

  SimStore& store_;
  ContentPtr content_;
  std::string path_;
  uint64_t life_;
};

namespace {

// Counts one call, and returns true, once, for the call after that many others.
bool CountDown(std::optional<uint64_t>& calls) {
  if (!calls) return false;
  if (*calls > 0) {
    --*calls;
    return false;
  }
  calls.reset();
  return true;
}

std::string NameOf(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == std::string::npos ? path : path.substr(end + 1);
}

std::string Join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

// Takes each name independently from the disk or from memory.
template <typename Map, typename Choose>
Map Mixed(const Map& synced, const Map& seen, const Choose& choose) {
  Map result;
  Map all = synced;
  all.insert(seen.begin(), seen.end());
  for (const auto& entry : all) {
    if constexpr (requires { entry.first; }) {
      const Map& source = choose() ? seen : synced;
      if (const auto it = source.find(entry.first); it != source.end()) result.insert(*it);
    } else {
      const Map& source = choose() ? seen : synced;
      if (source.contains(entry)) result.insert(entry);
    }
  }
  return result;
}

}  // namespace

SimStore::SimStore(uint64_t seed) : random_(seed, Stream::kSimulation) { folders_[""]; }
SimStore::~SimStore() = default;

Status SimStore::Step(const std::string& what, const std::string& path) {
  if (powered_ && CountDown(faults.cut_power_after)) powered_ = false;
  if (!powered_) {
    return Status::Resource(fmt::format("cannot {} {}: the power is off", what, Describe(path)));
  }
  const bool once = CountDown(faults.fail_operation_after);
  const bool always = !faults.unwritable.empty() && path.starts_with(faults.unwritable);
  ++operations_;
  if (!once && !always) return Status::Ok();
  return Status::Resource(
      fmt::format("cannot {} {}: simulated input/output error", what, Describe(path)));
}

Status SimStore::ReadStep(const std::string& what, const std::string& path) {
  if (!powered_) {
    return Status::Resource(fmt::format("cannot {} {}: the power is off", what, Describe(path)));
  }
  const bool once = CountDown(faults.fail_read_after);
  const bool always = !faults.unreadable.empty() && path.starts_with(faults.unreadable);
  ++reads_;
  if (!once && !always) return Status::Ok();
  return Status::Resource(
      fmt::format("cannot {} {}: simulated input/output error", what, Describe(path)));
}

// Keeps nothing, everything or some length of the bytes that were not synced. In the last case,
// each sector is whole, torn or empty.
void SimStore::Crash(Content& content) {
  Bytes& bytes = content.bytes;
  const size_t synced = content.synced_size;
  const size_t unsynced = bytes.size() - synced;
  content.synced_size = 0;
  const uint64_t fate = random_.Below(4);
  if (fate == 0) bytes.resize(synced);
  if (fate >= 2 && unsynced > 0) {
    bytes.resize(synced + random_.Below(unsynced + 1));
    for (size_t begin = synced; begin < bytes.size(); begin += kSectorBytes) {
      const size_t end = std::min(bytes.size(), begin + kSectorBytes);
      const uint64_t sector = random_.Below(3);
      size_t kept = end;
      if (sector == 0) kept = begin;
      if (sector == 1) kept = begin + random_.Below(end - begin + 1);
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(kept),
                bytes.begin() + static_cast<ptrdiff_t>(end), std::byte{0});
    }
  }
  content.synced_size = bytes.size();
}

void SimStore::Crash(Folder& folder) {
  const auto choose = [this] { return random_.Chance(0.5); };
  folder.files = Mixed(folder.synced_files, folder.files, choose);
  folder.synced_files = folder.files;
  folder.folders = Mixed(folder.synced_folders, folder.folders, choose);
  folder.synced_folders = folder.folders;
}

void SimStore::Restart() {
  faults.cut_power_after.reset();
  faults.fail_operation_after.reset();
  faults.fail_read_after.reset();
  powered_ = true;
  ++life_;
}

void SimStore::PowerOn() {
  Restart();
  std::set<const Content*> crashed;
  std::set<std::string> there = {""};
  for (auto& [path, folder] : folders_) {  // Parents come before their subfolders.
    if (!there.contains(path)) continue;
    Crash(folder);
    for (const std::string& name : folder.folders) there.insert(Join(path, name));
    for (auto& [name, content] : folder.files) {
      if (crashed.insert(content.get()).second) Crash(*content);
    }
  }
  std::erase_if(folders_, [&](const auto& entry) { return !there.contains(entry.first); });
}

uint64_t SimStore::stored_bytes() const {
  std::set<const Content*> seen;
  uint64_t total = 0;
  for (const auto& [path, folder] : folders_) {
    for (const auto& [name, content] : folder.files) {
      if (seen.insert(content.get()).second) total += content->bytes.size();
    }
  }
  return total;
}

Result<SimStore::ContentPtr> SimStore::Find(const std::string& path) const {
  MOTLEY_RETURN_IF_ERROR(CheckStorePath(path));
  if (const auto folder = folders_.find(FolderOf(path)); folder != folders_.end()) {
    const auto file = folder->second.files.find(NameOf(path));
    if (file != folder->second.files.end()) return file->second;
  }
  return Status::NotFound(fmt::format("cannot open {}: no such file", Describe(path)));
}

Result<SimStore::Folder*> SimStore::FolderFor(const std::string& path) {
  MOTLEY_RETURN_IF_ERROR(CheckStorePath(path));
  const auto folder = folders_.find(FolderOf(path));
  if (folder != folders_.end()) return &folder->second;
  return Status::NotFound(fmt::format("cannot reach {}: no such folder", Describe(path)));
}

Status SimStore::FlipBit(const std::string& path, uint64_t bit) {
  MOTLEY_ASSIGN_OR_RETURN(const ContentPtr content, Find(path));
  if (bit / 8 >= content->bytes.size()) return Status::NotFound("no such bit");
  content->bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  return Status::Ok();
}

Result<uint64_t> SimStore::Size(const std::string& path) const {
  MOTLEY_ASSIGN_OR_RETURN(const ContentPtr content, Find(path));
  return uint64_t{content->bytes.size()};
}

Status SimStore::Truncate(const std::string& path, uint64_t size_bytes) {
  MOTLEY_ASSIGN_OR_RETURN(const ContentPtr content, Find(path));
  content->bytes.resize(std::min<uint64_t>(size_bytes, content->bytes.size()));
  content->synced_size = std::min<size_t>(content->synced_size, content->bytes.size());
  return Status::Ok();
}

void SimStore::RemoveFolder(const std::string& folder) {
  std::erase_if(folders_, [&](const auto& entry) {
    return entry.first == folder || entry.first.starts_with(folder + "/");
  });
  const auto parent = folders_.find(FolderOf(folder));
  if (parent == folders_.end()) return;
  parent->second.folders.erase(NameOf(folder));
  parent->second.synced_folders.erase(NameOf(folder));
}

std::vector<std::string> SimStore::Files() const {
  std::vector<std::string> files;
  for (const auto& [path, folder] : folders_) {
    for (const auto& [name, content] : folder.files) files.push_back(Join(path, name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::unique_ptr<StoreFile>> SimStore::Create(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(Folder* const folder, FolderFor(path));
  MOTLEY_RETURN_IF_ERROR(Step("create", path));
  const std::string name = NameOf(path);
  if (folder->files.contains(name) || folder->folders.contains(name)) {
    return Status::Conflict(fmt::format("cannot create {}: it is there", Describe(path)));
  }
  auto content = std::make_shared<Content>();
  folder->files[name] = content;
  return std::unique_ptr<StoreFile>(new File(*this, std::move(content), path));
}

Status SimStore::Rename(const std::string& from, const std::string& to) {
  MOTLEY_ASSIGN_OR_RETURN(const ContentPtr content, Find(from));
  MOTLEY_ASSIGN_OR_RETURN(Folder* const source, FolderFor(from));
  MOTLEY_ASSIGN_OR_RETURN(Folder* const target, FolderFor(to));
  MOTLEY_RETURN_IF_ERROR(Step("rename", from));
  source->files.erase(NameOf(from));
  target->files[NameOf(to)] = content;
  return Status::Ok();
}

Status SimStore::SyncFolder(const std::string& folder) {
  MOTLEY_RETURN_IF_ERROR(CheckStorePath(folder));
  const auto it = folders_.find(folder);
  if (it == folders_.end()) {
    return Status::NotFound(fmt::format("cannot sync {}: no such folder", Describe(folder)));
  }
  MOTLEY_RETURN_IF_ERROR(Step("sync", folder));
  it->second.synced_files = it->second.files;
  it->second.synced_folders = it->second.folders;
  return Status::Ok();
}

Result<size_t> SimStore::Read(const std::string& path, uint64_t offset, std::span<std::byte> to) {
  MOTLEY_ASSIGN_OR_RETURN(const ContentPtr content, Find(path));
  MOTLEY_RETURN_IF_ERROR(ReadStep("read", path));
  const Bytes& bytes = content->bytes;
  if (offset >= bytes.size()) return size_t{0};
  const size_t count = std::min<size_t>(to.size(), bytes.size() - offset);
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), count, to.begin());
  return count;
}

Result<std::vector<StoreEntry>> SimStore::List(const std::string& folder) {
  MOTLEY_RETURN_IF_ERROR(CheckStorePath(folder));
  const auto it = folders_.find(folder);
  if (it == folders_.end()) {
    return Status::NotFound(fmt::format("cannot list {}: no such folder", Describe(folder)));
  }
  MOTLEY_RETURN_IF_ERROR(ReadStep("list", folder));
  std::vector<StoreEntry> entries;
  for (const auto& [name, content] : it->second.files) {
    entries.push_back({name, false, content->bytes.size()});
  }
  for (const std::string& name : it->second.folders) entries.push_back({name, true, 0});
  std::sort(entries.begin(), entries.end(),
            [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
  return entries;
}

Status SimStore::MakeFolder(const std::string& path) {
  MOTLEY_RETURN_IF_ERROR(CheckStorePath(path));
  if (folders_.contains(path)) return Status::Ok();
  if (Find(path).ok()) {
    return Status::Conflict(
        fmt::format("cannot make the folder {}: a file is there", Describe(path)));
  }
  MOTLEY_RETURN_IF_ERROR(MakeFolder(FolderOf(path)));
  MOTLEY_RETURN_IF_ERROR(Step("make the folder", path));
  folders_[FolderOf(path)].folders.insert(NameOf(path));
  folders_[path];
  return Status::Ok();
}

Status SimStore::Remove(const std::string& path) {
  MOTLEY_RETURN_IF_ERROR(Find(path).status());
  MOTLEY_RETURN_IF_ERROR(Step("remove", path));
  folders_[FolderOf(path)].files.erase(NameOf(path));
  return Status::Ok();
}

Status SimStore::Lock() {
  if (!faults.locked_elsewhere) return Status::Ok();
  return Status::Conflict("another program is writing into " + Describe(""));
}

std::string SimStore::Describe(const std::string& path) const { return "disk:/" + path; }

}  // namespace motley
