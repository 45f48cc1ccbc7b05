// SPDX-License-Identifier: Apache-2.0
// Errors as values. A Status is either fine or carries a code, a message for the user and the
// Status that caused it. A Result<T> is a value or a Status. Both are plain values for any thread;
// there are no exceptions.
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
  kCancelled = 1,        // The user or the caller asked to stop.
  kInvalidArgument = 2,  // The caller's mistake.
  kNotFound = 3,         // A file, worker or column does not exist.
  kUnavailable = 4,      // A peer or resource that may come back; also timeouts.
  kPermission = 5,       // Wrong or missing credentials.
  kConflict = 6,         // Versions or states do not fit together.
  kDataError = 7,        // Malformed bytes from a file or peer.
  kNotDecodable = 8,     // Too few answers for the gradient code; more may come.
  kResource = 9,         // Out of memory, disk or descriptors.
  kInternal = 10,        // A bug in Motley.
  kCallback = 11,        // A function provided by the caller failed.
};

// The code in words: "invalid argument".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // Fine.
  [[gnu::cold]] Status(StatusCode code, std::string message);

  static Status Ok() { return Status(); }
  // Cold, so that compilers keep the error paths apart from the normal ones.
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
  // This Status's own message, without its cause; empty when fine.
  const std::string& message() const;
  // "message: cause: cause of the cause"; "ok" when fine.
  std::string ToString() const;

  // A Status with the same code, the message `context`, and this Status as its cause. Fine stays
  // fine.
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

  // Precondition: ok().
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

// Returns the Status of `expression` from the function unless it is fine.
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

// MOTLEY_ASSIGN_OR_RETURN(auto x, Function()) assigns the value to x, or returns the Status from
// the function.
#define MOTLEY_ASSIGN_OR_RETURN(target, expression) \
  MOTLEY_ASSIGN_OR_RETURN_(MOTLEY_CONCAT_(motley_result_, __LINE__), target, expression)
