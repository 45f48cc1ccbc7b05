// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out.
#pragma once

#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

// The bytes of a file as they are. kNotFound, kPermission, kInvalidArgument (a folder), kResource.
Result<std::string> ReadRawFile(const std::string& path);

// The regular file, existing or not, that writing to `path` creates or replaces: `path` itself, or
// what it links to. kInvalidArgument: a folder, device, pipe or socket is there, or links go round;
// kPermission; kResource.
Result<std::string> ReplaceTarget(const std::string& path);

// Whether WriteFileAtomically can make its file now; tries it with an empty one beside the target.
Status CheckReplaceable(const std::string& path);

// Replaces the target of `path` by the pieces, one after the other: written beside it, synced,
// renamed, folder synced. On failure the old file is as it was. Errors as of ReplaceTarget, and
// kNotFound: no such folder.
Status WriteFileAtomically(const std::string& path, std::span<const BytesView> pieces);

// Runs `body`, which returns a Result or Status; running out of memory in it is kResource.
template <typename Body>
auto WithinMemory(const std::string& path, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status::Resource(path + ": not enough memory to hold it");
  } catch (const std::length_error&) {
    return Status::Resource(path + ": larger than memory can ever be");
  }
}

}  // namespace motley
