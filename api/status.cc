// SPDX-License-Identifier: Apache-2.0
#include "motley/status.h"

#include "base/status.h"

#define MOTLEY_TEXT_INNER_(x) #x
#define MOTLEY_TEXT_(x) MOTLEY_TEXT_INNER_(x)

// The codes of both enumerations must be equal.
static_assert(MOTLEY_OK == static_cast<int>(motley::StatusCode::kOk));
static_assert(MOTLEY_CANCELLED == static_cast<int>(motley::StatusCode::kCancelled));
static_assert(MOTLEY_INVALID_ARGUMENT == static_cast<int>(motley::StatusCode::kInvalidArgument));
static_assert(MOTLEY_NOT_FOUND == static_cast<int>(motley::StatusCode::kNotFound));
static_assert(MOTLEY_UNAVAILABLE == static_cast<int>(motley::StatusCode::kUnavailable));
static_assert(MOTLEY_PERMISSION == static_cast<int>(motley::StatusCode::kPermission));
static_assert(MOTLEY_CONFLICT == static_cast<int>(motley::StatusCode::kConflict));
static_assert(MOTLEY_DATA_ERROR == static_cast<int>(motley::StatusCode::kDataError));
static_assert(MOTLEY_NOT_DECODABLE == static_cast<int>(motley::StatusCode::kNotDecodable));
static_assert(MOTLEY_RESOURCE == static_cast<int>(motley::StatusCode::kResource));
static_assert(MOTLEY_INTERNAL == static_cast<int>(motley::StatusCode::kInternal));
static_assert(MOTLEY_CALLBACK == static_cast<int>(motley::StatusCode::kCallback));

const char* motley_status_name(motley_status status) {
  if (status < MOTLEY_OK || status > MOTLEY_CALLBACK) return "unknown";
  return motley::StatusCodeName(static_cast<motley::StatusCode>(status)).data();
}

const char* motley_version(void) {
  return MOTLEY_TEXT_(MOTLEY_VERSION_MAJOR) "." MOTLEY_TEXT_(MOTLEY_VERSION_MINOR) "." MOTLEY_TEXT_(
      MOTLEY_VERSION_PATCH);
}

uint32_t motley_abi_version(void) { return 1; }
