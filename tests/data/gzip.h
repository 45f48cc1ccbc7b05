// SPDX-License-Identifier: Apache-2.0
// Packs a text in the format of gzip.
#pragma once

#include <zlib.h>

#include <string>

#include "base/assert.h"

namespace motley {

inline std::string GzipText(const std::string& text) {
  z_stream stream{};
  MOTLEY_ASSERT(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  MOTLEY_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace motley
