// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

namespace motley {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kCancelled: return "cancelled";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kPermission: return "permission denied";
    case StatusCode::kConflict: return "conflict";
    case StatusCode::kDataError: return "data error";
    case StatusCode::kNotDecodable: return "not decodable";
    case StatusCode::kResource: return "out of resources";
    case StatusCode::kInternal: return "internal error";
    case StatusCode::kCallback: return "callback failed";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message)
    : state_(std::make_shared<const State>(State{code, std::move(message), nullptr})) {
  MOTLEY_ASSERT(code != StatusCode::kOk);
}

Status Status::Cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
Status Status::InvalidArgument(std::string m) {
  return {StatusCode::kInvalidArgument, std::move(m)};
}
Status Status::NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
Status Status::Unavailable(std::string m) { return {StatusCode::kUnavailable, std::move(m)}; }
Status Status::Permission(std::string m) { return {StatusCode::kPermission, std::move(m)}; }
Status Status::Conflict(std::string m) { return {StatusCode::kConflict, std::move(m)}; }
Status Status::DataError(std::string m) { return {StatusCode::kDataError, std::move(m)}; }
Status Status::NotDecodable(std::string m) { return {StatusCode::kNotDecodable, std::move(m)}; }
Status Status::Resource(std::string m) { return {StatusCode::kResource, std::move(m)}; }
Status Status::Internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }
Status Status::Callback(std::string m) { return {StatusCode::kCallback, std::move(m)}; }

StatusCode Status::code() const { return state_ ? state_->code : StatusCode::kOk; }

const std::string& Status::message() const {
  static const std::string kEmpty;
  return state_ ? state_->message : kEmpty;
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  std::string text = state_->message;
  for (auto cause = state_->cause; cause; cause = cause->cause) text += ": " + cause->message;
  return text;
}

Status Status::WithContext(std::string context) const {
  if (ok()) return *this;
  Status status(state_->code, std::move(context));
  status.state_ =
      std::make_shared<const State>(State{state_->code, status.state_->message, state_});
  return status;
}

}  // namespace motley
