// SPDX-License-Identifier: Apache-2.0
// Every call of the C API begins and ends here. No exception leaves a call, and the message of a
// failure becomes the thread's last error.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "base/status.h"
#include "motley/status.h"

namespace motley {

// Keeps the message of a Status that is not OK for motley_last_error, and returns its code.
motley_status Report(const Status& status) noexcept;
// Report an exception that the library threw.
motley_status ReportNoMemory() noexcept;
motley_status ReportThrown(const char* what) noexcept;

// Runs `body`, which returns a Status, as one call.
template <typename Body>
motley_status Enter(Body&& body) noexcept {
  try {
    return Report(std::forward<Body>(body)());
  } catch (const std::bad_alloc&) {
    return ReportNoMemory();
  } catch (const std::exception& error) {
    return ReportThrown(error.what());
  } catch (...) {
    return ReportThrown("of an unknown kind");
  }
}

// kInvalidArgument: "motley_job_create: options is NULL".
Status CheckNotNull(const char* function, const char* argument, const void* pointer);
// kInvalidArgument unless [begin, end) is a range of a sum of so many values.
Status CheckRange(uint64_t begin, uint64_t end, uint64_t values);

}  // namespace motley
