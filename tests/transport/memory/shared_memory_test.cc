// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <utility>
#include <vector>

#include "base/sanitizer.h"
#include "tests/conformance/address_limit.h"
#include "tests/conformance/transport_suite.h"

namespace motley {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class SharedMemoryTest : public testing::Test {
 protected:
  SharedMemoryTest() : arena_(SharedArena::Create()) {
    if (arena_ != nullptr) view_ = SharedView::Map(dup(arena_->fd()));
  }
  void SetUp() override {
    if (arena_ == nullptr) GTEST_SKIP() << "this system has no sealed memory";
    ASSERT_NE(view_, nullptr);
  }
  std::optional<SharedPlace> Put(const Bytes& bytes) {
    const BytesView piece(bytes);
    arena_->Announce({&piece, 1});
    return arena_->Put({&piece, 1}, bytes.size());
  }
  void Retire(const Bytes& bytes) {
    const BytesView piece(bytes);
    arena_->Retire({&piece, 1});
  }
  bool Shows(const SharedPlace& place, const Bytes& bytes) const {
    const BytesView seen = view_->At(place, bytes.size()).value();
    return std::equal(seen.begin(), seen.end(), bytes.begin(), bytes.end()) && view_->Holds(place);
  }

  std::unique_ptr<SharedArena> arena_;
  std::unique_ptr<SharedView> view_;
};

TEST_F(SharedMemoryTest, PeersReadWhatTheOwnerWrites) {
  const Bytes small = Pattern(1, 1);
  const Bytes large = Pattern(5 * kMiB + 3, 2);
  const auto first = Put(small);
  const auto second = Put(large);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(Shows(*first, small));
  EXPECT_TRUE(Shows(*second, large));
}

TEST_F(SharedMemoryTest, PiecesLieOneBehindTheOther) {
  const Bytes a = Pattern(1000, 1);
  const Bytes b = Pattern(3000, 2);
  const std::array<BytesView, 2> pieces{a, b};
  arena_->Announce(pieces);
  const auto place = arena_->Put(pieces, 4000);
  ASSERT_TRUE(place);
  Bytes both = a;
  both.insert(both.end(), b.begin(), b.end());
  EXPECT_TRUE(Shows(*place, both));
}

TEST_F(SharedMemoryTest, OnePayloadForSeveralPeersIsWrittenOnce) {
  const Bytes bytes = Pattern(kMiB, 1);
  const auto first = Put(bytes);
  const auto second = Put(bytes);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->page, second->page);
  EXPECT_EQ(first->writing, second->writing);
  // The first reader and sender are done; the other reader's place stays.
  arena_->Release(first->page);
  Retire(bytes);
  const Bytes other = Pattern(kMiB, 2);
  ASSERT_TRUE(Put(other));
  EXPECT_TRUE(Shows(*second, bytes));
}

TEST_F(SharedMemoryTest, RetiredPayloadsAreWrittenAgain) {
  Bytes bytes = Pattern(kMiB, 1);
  const auto first = Put(bytes);
  ASSERT_TRUE(first);
  Retire(bytes);
  bytes = Pattern(kMiB, 2);  // At the same address.
  const auto second = Put(bytes);
  ASSERT_TRUE(second);
  EXPECT_NE(first->page, second->page);
  EXPECT_TRUE(Shows(*first, Pattern(kMiB, 1)));
  EXPECT_TRUE(Shows(*second, bytes));
}

TEST_F(SharedMemoryTest, ReadersWhoAreTooLateNotice) {
  const Bytes bytes = Pattern(kMiB, 1);
  const auto place = Put(bytes);
  ASSERT_TRUE(place);
  Retire(bytes);
  arena_->Release(place->page);
  EXPECT_TRUE(view_->Holds(*place));  // The page was not written yet.
  const Bytes next = Pattern(2 * kMiB, 2);
  ASSERT_TRUE(Put(next));
  EXPECT_FALSE(view_->Holds(*place));
}

TEST_F(SharedMemoryTest, FullUntilSomethingIsRead) {
  std::vector<Bytes> all(SharedArena::kBytes / kMiB, Bytes(kMiB));
  std::vector<SharedPlace> places;
  for (const Bytes& bytes : all) {
    const auto place = Put(bytes);
    ASSERT_TRUE(place);
    places.push_back(*place);
  }
  const Bytes one_more(kMiB);
  EXPECT_FALSE(Put(one_more));
  Retire(one_more);
  arena_->Release(places[7].page);  // Kept for other peers only, so it makes room.
  const auto place = Put(one_more);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->page, places[7].page);
}

TEST_F(SharedMemoryTest, PlacesThatAreNotThereAreEmpty) {
  constexpr auto kPages = static_cast<uint32_t>(SharedArena::kBytes / kSharedPage);
  EXPECT_TRUE(view_->At({0, 1}, 1)->empty());
  EXPECT_TRUE(view_->At({kPages + 1, 1}, 1)->empty());
  EXPECT_TRUE(view_->At({kPages, 1}, kSharedPage + 1)->empty());
  EXPECT_TRUE(view_->At({0x7fffffff, 1}, kMiB)->empty());
  EXPECT_EQ(view_->At({kPages, 1}, kSharedPage)->size(), kSharedPage);
}

TEST_F(SharedMemoryTest, PeersCannotWriteNorShrinkIt) {
  EXPECT_EQ(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, arena_->fd(), 0), MAP_FAILED);
  EXPECT_NE(ftruncate(arena_->fd(), 0), 0);
  const char byte = 1;
  EXPECT_LT(pwrite(arena_->fd(), &byte, 1, 0), 0);
}

// Makes fallocate fail as on a machine out of memory. Returns false if the system has no such
// filters.
bool LetFallocateFail() {
  std::array<sock_filter, 4> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(SharedMemoryTest, MemoryThatIsNotThereIsAnAnswerAndNoSignal) {
  const Bytes first = Pattern(100, 1);
  ASSERT_TRUE(Put(first));
  const Bytes bytes = Pattern(2 * kMiB, 1);
  const auto exit_code = [&] {
    if (!LetFallocateFail()) return 2;
    if (Put(bytes)) return 1;
    return Put(first) && SharedArena::Create() == nullptr ? 0 : 3;
  };
  EXPECT_EXIT(
      _exit(exit_code()),
      [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) % 2 == 0; }, "");
}

TEST_F(SharedMemoryTest, ProcessesThatMayNotHaveAsMuchDoWithout) {
  const auto exit_code = [] {
    const rlimit little = {kMiB, kMiB};
    setrlimit(RLIMIT_FSIZE, &little);
    return SharedArena::Create() == nullptr ? 0 : 1;
  };
  EXPECT_EXIT(_exit(exit_code()), testing::ExitedWithCode(0), "");
}

// Takes the addresses that this process would need to map another arena.
void MapNoMore() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + 32 * kMiB;
  const rlimit little = {bytes, bytes};
  setrlimit(RLIMIT_AS, &little);
}

TEST_F(SharedMemoryTest, ProcessesThatMayNotMapItReadItAllTheSame) {
  if (!conformance::AddressesCanBeLimited()) GTEST_SKIP() << conformance::kNoAddressLimit;
  const Bytes small = Pattern(1, 1);
  const Bytes large = Pattern(3 * kMiB + 5, 2);
  const auto first = Put(small);
  const auto second = Put(large);
  ASSERT_TRUE(first && second);
  const auto exit_code = [&] {
    MapNoMore();
    if (mmap(nullptr, SharedArena::kBytes, PROT_READ, MAP_SHARED, arena_->fd(), 0) != MAP_FAILED) {
      return 1;  // The test would show nothing.
    }
    view_ = SharedView::Map(dup(arena_->fd()));
    if (view_ == nullptr) return 2;
    if (!Shows(*first, small) || !Shows(*second, large) || !Shows(*first, small)) return 3;
    Retire(small);
    arena_->Release(first->page);
    const Bytes other = Pattern(1, 3);
    const auto third = Put(other);
    if (!third || third->page != first->page || !Shows(*third, other)) return 4;
    return view_->Holds(*first) || !view_->At({0, 1}, 1)->empty() ? 5 : 0;
  };
  EXPECT_EXIT(_exit(exit_code()), testing::ExitedWithCode(0), "");
}

TEST_F(SharedMemoryTest, NoMemoryForACopyIsAnErrorAndTheNextIsRead) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process when memory runs out";
#endif
  if (!conformance::AddressesCanBeLimited()) GTEST_SKIP() << conformance::kNoAddressLimit;
  const Bytes small = Pattern(1000, 1);
  const Bytes large = Pattern(48 * kMiB, 2);
  const auto first = Put(small);
  const auto second = Put(large);
  ASSERT_TRUE(first && second);
  const auto exit_code = [&] {
    view_.reset();  // Its addresses would suffice for the copy.
    MapNoMore();
    view_ = SharedView::Map(dup(arena_->fd()));
    if (view_ == nullptr) return 1;
    const auto none = view_->At(*second, large.size());
    if (none.code() != StatusCode::kResource) return 2;
    if (none.status().message().find("a payload of 50331648 bytes can neither be mapped") ==
        std::string::npos) {
      return 3;
    }
    return Shows(*first, small) ? 0 : 4;
  };
  EXPECT_EXIT(_exit(exit_code()), testing::ExitedWithCode(0), "");
}

TEST_F(SharedMemoryTest, OtherDescriptorsAreRefused) {
  EXPECT_EQ(SharedView::Map(open("/dev/null", O_RDONLY)), nullptr);
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_GE(unsealed, 0);
  struct stat real {};
  ASSERT_EQ(fstat(arena_->fd(), &real), 0);
  ASSERT_EQ(ftruncate(unsealed, real.st_size), 0);
  EXPECT_EQ(SharedView::Map(dup(unsealed)), nullptr) << "it can shrink while we read";
  ASSERT_EQ(ftruncate(unsealed, real.st_size - 1), 0);
  ASSERT_EQ(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(SharedView::Map(dup(unsealed)), nullptr) << "reads beyond its end would crash";
  ASSERT_EQ(ftruncate(unsealed, real.st_size), 0);
  EXPECT_NE(SharedView::Map(unsealed), nullptr) << "otherwise the tests above show nothing";
}

}  // namespace
}  // namespace motley
