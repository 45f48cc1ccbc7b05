// SPDX-License-Identifier: Apache-2.0
// Errors as values. A Status is fine or carries a code, a message for people and the Status that
// caused it. A Result<T> is a value or a Status. Both are plain values: any thread, no exceptions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace motley {

// A code exists only where a caller can react to it. The numbers never change.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,        // Somebody asked for it to stop.
  kInvalidArgument = 2,  // The caller's mistake.
  kNotFound = 3,         // A file, worker or column that is not there.
  kUnavailable = 4,      // A peer or resource that may come back; also time-outs.
  kPermission = 5,       // Wrong or missing credentials.
  kConflict = 6,         // Versions or states that do not fit together.
  kDataError = 7,        // Bytes from a file or peer that do not mean what they should.
  kNotDecodable = 8,     // Too few answers for the gradient code; more may come.
  kResource = 9,         // Out of memory, disk or descriptors.
  kInternal = 10,        // Ours to fix.
  kCallback = 11,        // What the caller gave to be called failed.
};

// Name of the code as people write it: "invalid argument".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // Fine.
  [[gnu::cold]] Status(StatusCode code, std::string message);

  static Status Ok() { return Status(); }
  // Cold: compilers keep what leads to them apart from what is run when all is well.
  [[gnu::cold]] static Status Cancelled(std::string message);
  [[gnu::cold]] static Status InvalidArgument(std::string message);
  [[gnu::cold]] static Status NotFound(std::string message);
  [[gnu::cold]] static Status Unavailable(std::string message);
  [[gnu::cold]] static Status Permission(std::string message);
  [[gnu::cold]] static Status Conflict(std::string message);
  [[gnu::cold]] static Status DataError(std::string message);
  [[gnu::cold]] static Status NotDecodable(std::string message);
  [[gnu::cold]] static Status Resource(std::string message);
  [[gnu::cold]] static Status Internal(std::string message);
  [[gnu::cold]] static Status Callback(std::string message);

  bool ok() const { return state_ == nullptr; }
  StatusCode code() const;
  // This Status alone, without its cause; empty when fine.
  const std::string& message() const;
  // "message: cause: cause of the cause"; "ok" when fine.
  std::string ToString() const;

  // The same code with `context` in front, this Status becoming the cause. Fine stays fine.
  Status WithContext(std::string context) const;

 private:
  struct State {
    StatusCode code;
    std::string message;
    std::shared_ptr<const State> cause;
  };
  std::shared_ptr<const State> state_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(runtime/explicit)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(runtime/explicit)
    MOTLEY_ASSERT(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  StatusCode code() const { return status_.code(); }

  // Only when ok().
  T& value() & {
    MOTLEY_ASSERT(ok());
    return *value_;
  }
  const T& value() const& {
    MOTLEY_ASSERT(ok());
    return *value_;
  }
  T&& value() && {
    MOTLEY_ASSERT(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace motley

// Leaves the function with the Status of `expression` unless it is fine.
#define MOTLEY_RETURN_IF_ERROR(expression)                                    \
  do {                                                                        \
    if (::motley::Status motley_status_ = (expression); !motley_status_.ok()) \
      return motley_status_;                                                  \
  } while (false)

#define MOTLEY_CONCAT_INNER_(a, b) a##b
#define MOTLEY_CONCAT_(a, b) MOTLEY_CONCAT_INNER_(a, b)
#define MOTLEY_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                                \
  if (!temporary.ok()) return temporary.status();               \
  target = std::move(temporary).value()

// MOTLEY_ASSIGN_OR_RETURN(auto x, Function()): x gets the value, or the function returns the
// Status.
#define MOTLEY_ASSIGN_OR_RETURN(target, expression) \
  MOTLEY_ASSIGN_OR_RETURN_(MOTLEY_CONCAT_(motley_result_, __LINE__), target, expression)
