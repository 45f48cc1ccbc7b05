// SPDX-License-Identifier: Apache-2.0
#include "api/reports/saved_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "data/files/file_io.h"
#include "nlohmann/json.hpp"

namespace motley {

Status SaveVector(const std::string& path, std::span<const float> parameters) {
  const auto wrong = std::find_if(parameters.begin(), parameters.end(),
                                  [](float value) { return !std::isfinite(value); });
  if (wrong != parameters.end()) {
    return Status::InvalidArgument(
        fmt::format("{}: parameter {} is not a finite number", path, wrong - parameters.begin()));
  }
  const nlohmann::ordered_json json = {
      {"__metadata__", {{"format", "motley"}, {"model", "trainer"}}},
      {"parameters",
       {{"dtype", "F32"},
        {"shape", {parameters.size()}},
        {"data_offsets", {0, parameters.size_bytes()}}}}};
  std::string header = json.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');  // Aligns the data to 8 bytes.
  const uint64_t size = header.size();
  const BytesView pieces[] = {AsBytes(std::span<const uint64_t>(&size, 1)), AsBytes(header),
                              AsBytes(parameters)};
  return WriteFileAtomically(path, pieces);
}

}  // namespace motley
