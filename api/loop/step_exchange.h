// SPDX-License-Identifier: Apache-2.0
// Where the threads of a job meet the threads of the caller's own loop (motley/step.h). A thread of
// the job offers one piece of work and waits. A thread of the caller takes it, works on it, and
// hands it back.
//
//   job's thread    Offer .............................. returns the caller's status
//   caller's thread          Begin, Partial ..., End
//
// One mutex guards all that is here. Nothing waits for the caller while it is held, and the only
// foreign call under it is `progress`, which posts a task to a loop. `ready` may have to work on a
// range first, so it runs without the mutex, and Offer returns only after it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "base/status.h"
#include "motley/step.h"

namespace motley {

class StepExchange {
 public:
  StepExchange() = default;
  ~StepExchange();  // Nobody uses the exchange any more.
  StepExchange(const StepExchange&) = delete;
  StepExchange& operator=(const StepExchange&) = delete;

  // --- The job ---
  struct Offered {
    motley_step step{};                      // Without ticket and struct_size.
    std::function<bool()> unwanted;          // Any thread: nobody needs the work any more.
    std::function<void(uint64_t)> progress;  // Any thread. May be empty.
    // Any thread. Empty: the step has no sums.
    std::function<void(size_t begin, size_t end)> ready;
  };
  // Offers the work, and waits until it was handed back; returns the caller's status. kCancelled:
  // nobody took the work before it was unwanted. Once it is taken, only the caller ends it.
  Result<motley_status> Offer(Offered work);
  void Open();   // The job has started.
  void Close();  // The job has ended, and offers nothing more.

  // --- The caller, any thread ---
  // Errors are those of motley_step_begin.
  Status Begin(double timeout_seconds, motley_step& step);
  // True: nobody needs the step any more. kConflict: it is not out.
  Result<bool> Partial(const motley_step& step, uint64_t samples_done);
  // Errors are those of motley_step_ready.
  Status Ready(const motley_step& step, uint64_t begin, uint64_t end);
  Status End(const motley_step& step, motley_status status);
  // Errors are those of motley_job_descriptor.
  Result<int> Descriptor();

 private:
  struct Entry;  // On the stack of the thread in Offer.

  Entry* FirstWanted() const;
  Result<Entry*> FindOut(const motley_step& step) const;
  void Signal();

  std::mutex mutex_;
  std::condition_variable offered_;  // For threads in Begin: there is work, or the end.
  std::condition_variable ended_;    // For threads in Offer: a step was handed back.
  std::deque<Entry*> waiting_;       // Work that nobody has taken, in the order of the offers.
  std::map<uint64_t, Entry*> out_;   // Work that the caller has, by ticket.
  int descriptor_ = -1;              // An eventfd, which is readable while signalled_.
  bool signalled_ = false;
  bool open_ = false;
  bool closed_ = false;
};

}  // namespace motley
