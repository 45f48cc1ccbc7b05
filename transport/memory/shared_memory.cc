// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace motley {
namespace {

constexpr size_t kPages = SharedArena::kBytes / kSharedPage;
// The number of each page's last writing follows the pages.
constexpr size_t kMappedBytes = SharedArena::kBytes + kPages * sizeof(uint64_t);

uint64_t* Writings(std::byte* data) {
  return reinterpret_cast<uint64_t*>(data + SharedArena::kBytes);
}

// The kernel raises a signal when a file grows beyond the limit, so this checks first.
bool MayGrowTo(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes;
}

// Allocates this part of the file: without memory for it, writing would raise a signal.
bool Populate(int fd, size_t begin, size_t bytes) {
  int failed = 0;
  do {
    failed = fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

// Closes the descriptor unless it was handed on.
struct Descriptor {
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

}  // namespace

void CopyBytes(ParallelFor* parallel, BytesView from, std::byte* to) {
  constexpr size_t kGrain = size_t{64} << 10;
  if (from.empty()) return;
  if (parallel == nullptr || from.size() < 4 * kGrain) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  parallel->For(from.size(), kGrain, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from.data() + begin, end - begin);
  });
}

std::unique_ptr<SharedArena> SharedArena::Create(ParallelFor* parallel) {
  Descriptor memory{memfd_create("motley", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (memory.fd < 0 || !MayGrowTo(kMappedBytes)) return nullptr;
  if (ftruncate(memory.fd, kMappedBytes) != 0) return nullptr;
  if (!Populate(memory.fd, kBytes, kMappedBytes - kBytes)) return nullptr;
  void* data = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
  if (data == MAP_FAILED) return nullptr;
  // This is the only writable mapping there will ever be. Peers can rely on the file's size.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (fcntl(memory.fd, F_ADD_SEALS, kSeals) != 0) {
    munmap(data, kMappedBytes);
    return nullptr;
  }
  return std::unique_ptr<SharedArena>(
      new SharedArena(std::exchange(memory.fd, -1), static_cast<std::byte*>(data), parallel));
}

SharedArena::~SharedArena() {
  munmap(data_, kMappedBytes);
  close(fd_);
}

void SharedArena::Announce(std::span<const BytesView> pieces) {
  if (pieces.size() == 1) ++announced_[{pieces[0].data(), pieces[0].size()}].senders;
}

void SharedArena::Retire(std::span<const BytesView> pieces) {
  if (pieces.size() != 1) return;
  const auto it = announced_.find({pieces[0].data(), pieces[0].size()});
  MOTLEY_ASSERT(it != announced_.end());
  if (--it->second.senders > 0) return;
  const uint32_t page = it->second.page;
  announced_.erase(it);
  if (page == 0) return;
  Block& block = blocks_.at(page);
  block.key.reset();
  if (block.readers == 0) blocks_.erase(page);
}

std::optional<SharedPlace> SharedArena::Put(std::span<const BytesView> pieces, size_t length) {
  Announced* announced = nullptr;
  if (pieces.size() == 1) announced = &announced_.at({pieces[0].data(), pieces[0].size()});
  if (announced != nullptr && announced->page != 0) {
    Block& block = blocks_.at(announced->page);
    ++block.readers;
    return SharedPlace{announced->page, block.writing};
  }
  const std::optional<uint32_t> page = Take((length + kSharedPage - 1) / kSharedPage);
  if (!page) return std::nullopt;
  Block& block = blocks_.at(*page);
  block.readers = 1;
  block.writing = ++writings_;
  if (announced != nullptr) {
    announced->page = *page;
    block.key = Key(pieces[0].data(), pieces[0].size());
  }
  Write(*page, block, pieces);
  return SharedPlace{*page, block.writing};
}

// Writes the numbers first, so that a peer still reading the old payload notices.
void SharedArena::Write(uint32_t page, const Block& block, std::span<const BytesView> pieces) {
  for (size_t i = 0; i < block.pages; ++i) {
    std::atomic_ref(Writings(data_)[size_t{page} - 1 + i])
        .store(block.writing, std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_release);
  std::byte* to = data_ + (size_t{page} - 1) * kSharedPage;
  for (const BytesView piece : pieces) {
    CopyBytes(parallel_, piece, to);
    to += piece.size();
  }
}

void SharedArena::Release(uint32_t page) {
  Block& block = blocks_.at(page);
  if (--block.readers == 0 && !block.key) blocks_.erase(page);
}

std::optional<uint32_t> SharedArena::Take(size_t pages) {
  if (const auto page = TakeFree(pages)) return page;
  // Blocks without readers are kept only for peers to be sent the same payload; drop them.
  bool freed = false;
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    if (it->second.readers > 0) {
      ++it;
      continue;
    }
    announced_.at(*it->second.key).page = 0;
    it = blocks_.erase(it);
    freed = true;
  }
  return freed ? TakeFree(pages) : std::nullopt;
}

// Takes the first gap that is large enough: low pages are reused and stay in the caches.
std::optional<uint32_t> SharedArena::TakeFree(size_t pages) {
  uint32_t begin = 1;
  auto next = blocks_.begin();
  while (next != blocks_.end() && next->first - begin < pages) {
    begin = next->first + static_cast<uint32_t>(next->second.pages);
    ++next;
  }
  const size_t end = begin - 1 + pages;
  if (end > kPages || !PopulateTo(end)) return std::nullopt;
  blocks_[begin].pages = pages;
  return begin;
}

bool SharedArena::PopulateTo(size_t pages) {
  constexpr size_t kStep = (size_t{1} << 20) / kSharedPage;
  if (pages <= populated_) return true;
  const size_t end = std::min(kPages, (pages + kStep - 1) / kStep * kStep);
  if (!Populate(fd_, populated_ * kSharedPage, (end - populated_) * kSharedPage)) return false;
  populated_ = end;
  return true;
}

std::unique_ptr<SharedView> SharedView::Map(int fd) {
  Descriptor memory{fd};
  struct stat about {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return nullptr;
  if (fstat(fd, &about) != 0 || about.st_size != off_t{kMappedBytes}) return nullptr;
  void* data = mmap(nullptr, kMappedBytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return std::unique_ptr<SharedView>(new SharedView(nullptr, std::exchange(memory.fd, -1)));
  }
  return std::unique_ptr<SharedView>(new SharedView(static_cast<const std::byte*>(data), -1));
}

SharedView::~SharedView() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), kMappedBytes);
  if (fd_ >= 0) close(fd_);
}

bool SharedView::Read(size_t begin, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    begin += static_cast<size_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return true;
}

Result<BytesView> SharedView::At(const SharedPlace& place, size_t length) {
  const size_t begin = (size_t{place.page} - 1) * kSharedPage;
  constexpr size_t kBytes = SharedArena::kBytes;
  if (place.page == 0 || begin >= kBytes || length > kBytes - begin) return BytesView();
  if (data_ != nullptr) return BytesView(data_ + begin, length);
  try {
    if (copy_.size() < length) {
      copy_ = {};
      copy_.resize(length);
    }
  } catch (const std::bad_alloc&) {
    return Status::Resource(fmt::format(
        "out of memory: a payload of {} bytes can neither be mapped nor copied; give this "
        "process more memory, or start fewer processes on this machine",
        length));
  }
  const auto copy = std::span(copy_).first(length);
  return Read(begin, copy) ? BytesView(copy) : BytesView();
}

bool SharedView::Holds(const SharedPlace& place) const {
  std::atomic_thread_fence(std::memory_order_acquire);
  if (data_ == nullptr) {
    uint64_t writing = 0;
    const size_t begin = SharedArena::kBytes + (size_t{place.page} - 1) * sizeof(writing);
    return Read(begin, std::as_writable_bytes(std::span(&writing, 1))) && writing == place.writing;
  }
  uint64_t* writings = Writings(const_cast<std::byte*>(data_));
  return std::atomic_ref(writings[size_t{place.page} - 1]).load(std::memory_order_relaxed) ==
         place.writing;
}

}  // namespace motley
