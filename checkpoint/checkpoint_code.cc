// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_format.h"

namespace motley {
namespace {

// Parses all of `text` as a number; false if that fails.
bool ReadNumber(std::string_view text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Status BadCode(std::string_view text, const std::string& why) {
  return Status::InvalidArgument(fmt::format(
      "'{}' is not a checkpoint code: {}. Use DATA+PARITY, like 4+2: six shards of which any four "
      "are enough; or cauchy:10+4",
      text, why));
}

}  // namespace

Result<CheckpointCode> ParseCheckpointCode(std::string_view text) {
  CheckpointCode code;
  std::string_view rest = text;
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    const std::string_view name = rest.substr(0, colon);
    if (name == ErasureTechniqueName(ErasureTechnique::kCauchy)) {
      code.technique = ErasureTechnique::kCauchy;
    } else if (name != ErasureTechniqueName(ErasureTechnique::kVandermonde)) {
      return BadCode(text, "techniques are vandermonde and cauchy");
    }
    rest.remove_prefix(colon + 1);
  }
  const size_t plus = rest.find('+');
  if (plus == std::string_view::npos || !ReadNumber(rest.substr(0, plus), code.data) ||
      !ReadNumber(rest.substr(plus + 1), code.parity)) {
    return BadCode(text, "it needs two numbers with a + between them");
  }
  if (code.data < 1) return BadCode(text, "at least one shard must hold data");
  if (uint64_t{code.data} + code.parity > kMostShards) {
    return BadCode(text, fmt::format("at most {} shards are possible", kMostShards));
  }
  return code;
}

std::string ToText(const CheckpointCode& code) {
  const std::string numbers = fmt::format("{}+{}", code.data, code.parity);
  if (code.technique == ErasureTechnique::kVandermonde) return numbers;
  return fmt::format("{}:{}", ErasureTechniqueName(code.technique), numbers);
}

std::string SurvivesText(uint32_t losses) {
  if (losses == 0) return "survives no more losses";
  return fmt::format("survives {} more {}", losses, losses == 1 ? "loss" : "losses");
}

}  // namespace motley
