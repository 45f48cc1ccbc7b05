// SPDX-License-Identifier: Apache-2.0
// Calls the C API in any order, with any arguments that a program may pass by mistake.
#include <motley/motley.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {
namespace {

// Every result must be one of the codes, and failures must have a message.
motley_status Check(motley_status status) {
  MOTLEY_ASSERT(status >= MOTLEY_OK && status <= MOTLEY_CALLBACK);
  MOTLEY_ASSERT(status == MOTLEY_OK || std::strlen(motley_last_error()) > 0);
  return status;
}

class Caller {
 public:
  explicit Caller(std::string_view input) : input_(input) {}
  ~Caller() {
    for (Slot& slot : slots_) motley_job_destroy(slot.job);
  }

  void CallAll() {
    while (!input_.empty()) Call();
  }

 private:
  struct Slot {
    motley_job* job = nullptr;
    bool ends = false;  // Its run ends soon and by itself.
    bool ran = false;
  };
  // Larger than any struct, so that memory up to any accepted struct_size can be read.
  struct alignas(8) Room {
    std::array<unsigned char, 8192> bytes{};
  };

  uint8_t Next() {
    if (input_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(input_.front());
    input_.remove_prefix(1);
    return byte;
  }
  template <typename T, size_t n>
  T Pick(const T (&choices)[n]) {
    return choices[Next() % n];
  }
  uint32_t Size(size_t right) {
    const auto size = static_cast<uint32_t>(right);
    return Pick({size, size, size, size, 0U, 8U, 12U, 40U, size + 8, 4096U, 5000U});
  }

  void Create(Slot& slot) {
    motley_job_destroy(slot.job);
    slot = Slot();
    motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
    options.struct_size = Size(sizeof(options));
    options.role = Pick({0, 0, 0, 1, 2, 3, -1});
    const uint8_t samples = Next();
    constexpr uint64_t kTooMany[] = {uint64_t{1} << 32, uint64_t{1} << 40, UINT64_MAX};
    options.sample_count = samples < 240 ? samples % 40 : kTooMany[samples % 3];
    options.data = Pick<const char*>({nullptr, nullptr, nullptr, "", "/nowhere:test=/nowhere"});
    options.model = Pick<const char*>({nullptr, nullptr, "mlp:3", "resnet", ""});
    options.code = Pick<const char*>({nullptr, "cyclic", "rs", "repetition", "`code`"});
    options.tolerate = Next() % 4;
    // The last exceeds the limit of every role. A code for hundreds of workers takes seconds under
    // sanitizers.
    options.workers = Pick({0U, 1U, 3U, 2000U});
    options.steps = 1 + Next() % 2;
    options.batch = Next();
    options.learning_rate = Pick({0.0, 0.5, -1.0, 1e300});
    options.threads = 1;
    options.faults = Pick<const char*>({nullptr, nullptr, "kill:0@step=1", " \t", "pause:0"});
    options.server = Pick<const char*>({nullptr, "127.0.0.1:1"});
    options.token = Pick<const char*>({nullptr, "t"});
    options.forever = Next() == 1 ? 1 : 0;
    Room room;
    std::memcpy(room.bytes.data(), &options, sizeof(options));
    room.bytes[sizeof(options)] = Next() == 1 ? 1 : 0;
    const auto* given = reinterpret_cast<const motley_job_options*>(room.bytes.data());
    const motley_status made = Check(motley_job_create(given, &slot.job));
    MOTLEY_ASSERT((made == MOTLEY_OK) == (slot.job != nullptr));
    // A smaller struct leaves the number of steps at its default.
    slot.ends = options.role == MOTLEY_ALL_IN_ONE && options.struct_size >= sizeof(options);
  }

  void CreateNothing() {
    motley_job* job = nullptr;
    MOTLEY_ASSERT(Check(motley_job_create(nullptr, Next() % 2 == 0 ? nullptr : &job)) != MOTLEY_OK);
    MOTLEY_ASSERT(job == nullptr);
  }

  void SetTrainer(Slot& slot) {
    motley_trainer trainer MOTLEY_TRAINER_INIT;
    trainer.struct_size = Size(sizeof(trainer));
    trainer.parameter_count = Pick<uint64_t>({3, 3, 1, 0, uint64_t{1} << 40, UINT64_MAX});
    const auto fine = [](void*, const motley_work* work) {
      for (uint64_t i = 0; i < work->parameter_count; ++i) work->sum[i] += 1;
      return motley_status{MOTLEY_OK};
    };
    const auto fails = [](void*, const motley_work*) { return motley_status{99}; };
    trainer.accumulate = Pick<decltype(trainer.accumulate)>({+fine, +fine, +fails, nullptr});
    Room room;
    std::memcpy(room.bytes.data(), &trainer, sizeof(trainer));
    Check(motley_job_set_trainer(slot.job,
                                 reinterpret_cast<const motley_trainer*>(room.bytes.data())));
  }

  void Run(Slot& slot) {
    // Once per input, because it takes longer than everything else.
    if (slot.job != nullptr && !slot.ran && (!slot.ends || has_run_)) return;
    const motley_status status = Check(motley_job_run(slot.job));
    if (slot.ran) MOTLEY_ASSERT(status == MOTLEY_CONFLICT);
    if (slot.job == nullptr) return;
    slot.ran = has_run_ = true;
  }

  void Ask(Slot& slot) {
    Room room;
    auto* metrics = reinterpret_cast<motley_metrics*>(room.bytes.data());
    metrics->struct_size = Size(sizeof(motley_metrics));
    Check(motley_job_metrics(slot.job, metrics));
    const char* report = motley_job_report(slot.job);
    MOTLEY_ASSERT(report == nullptr || report[0] == '{');
    std::array<float, 2> values{};
    uint64_t all = 0;
    Check(motley_job_parameters(slot.job, values.data(), values.size(), &all));
    Check(motley_job_parameters(slot.job, nullptr, Next(), nullptr));
    MOTLEY_ASSERT(Check(motley_job_save(slot.job, "/nowhere/model")) != MOTLEY_OK);
  }

  void Call() {
    Slot& slot = slots_[Next() % slots_.size()];
    switch (Next() % 8) {
      case 0: return Create(slot);
      case 1: return SetTrainer(slot);
      case 2:
        Check(motley_job_set_events(
            slot.job, [](void*, const motley_event*) {}, nullptr));
        return;
      case 3:
        motley_job_stop(slot.job);
        slot.ends = true;
        return;
      case 4: return Run(slot);
      case 5: return Ask(slot);
      case 6:
        motley_job_destroy(slot.job);
        slot = Slot();
        return;
      default: return CreateNothing();
    }
  }

  std::string_view input_;
  std::array<Slot, 3> slots_;
  bool has_run_ = false;
};

}  // namespace

void Calls(std::string_view input) { Caller(input).CallAll(); }

}  // namespace motley::fuzz
