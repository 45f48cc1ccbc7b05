// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files.
#pragma once

#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

// The bytes of a file, not unpacked. kNotFound, kPermission, kInvalidArgument (a folder),
// kResource.
Result<std::string> ReadRawFile(const std::string& path);

// The regular file, existing or not, that writing to `path` creates or replaces: `path` itself, or
// the target of its links. kInvalidArgument: it is a folder, device, pipe or socket, or the links
// form a cycle. Also kPermission, kResource.
Result<std::string> ReplaceTarget(const std::string& path);

// Checks that WriteFileAtomically can create its file now, with an empty file beside the target.
Status CheckReplaceable(const std::string& path);

// Replaces the target of `path` by the concatenation of `pieces`. The content is written beside it,
// synced and renamed, and the folder is synced. On failure the old file is unchanged. Errors are
// those of ReplaceTarget, and kNotFound: no such folder.
Status WriteFileAtomically(const std::string& path, std::span<const BytesView> pieces);

// The same, with the permissions 0600: only the user reads the file, even while it is written.
Status WritePrivateFile(const std::string& path, const std::string& content);

// Runs `body`, which returns a Result or Status, and turns running out of memory in it into
// kResource.
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
