// SPDX-License-Identifier: Apache-2.0
#include "data/formats/libsvm_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "data/files/text_scan.h"

namespace motley {
namespace {

// Removes the next token from the front of `line`; empty at its end.
std::string_view NextToken(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view token = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return token;
}

std::string_view WithoutComment(std::string_view line) { return line.substr(0, line.find('#')); }

// True if the second token of the first line that has one is INDEX:VALUE. A token with a delimiter
// inside is a name or time of day in a CSV file.
bool LooksLikeLibsvm(std::string_view content) {
  constexpr int kLinesToTry = 1000;
  LineScanner lines(content);
  std::string_view line;
  for (int i = 0; i < kLinesToTry && lines.Next(line); ++i) {
    line = WithoutComment(line);
    if (NextToken(line).empty()) continue;
    const std::string_view token = NextToken(line);
    if (token.empty()) continue;
    return token.find(':') != token.npos && token.find_first_of(",;") == token.npos;
  }
  return false;
}

Status AddEntry(std::string_view token, uint64_t first_entry, RawSamples& samples) {
  const size_t colon = token.find(':');
  uint32_t index = 0;
  const char* end = token.data() + std::min(colon, token.size());
  const auto [stop, error] = std::from_chars(token.data(), end, index);
  if (colon == std::string_view::npos || error == std::errc::invalid_argument || stop != end) {
    return Status::DataError(Quoted(token) + " is not INDEX:VALUE");
  }
  if (error != std::errc() || index > kMaxFeatures) {
    return Status::DataError(
        fmt::format("the index of {} is above {}", Quoted(token), kMaxFeatures));
  }
  if (index == 0) return Status::DataError("the index 0 is not allowed: indices start at 1");
  if (samples.column.size() > first_entry && index - 1 <= samples.column.back()) {
    return Status::DataError(fmt::format("index {} comes after {}: indices must ascend", index,
                                         samples.column.back() + 1));
  }
  MOTLEY_ASSIGN_OR_RETURN(const double value, ParseNumber(token.substr(colon + 1)));
  samples.column.push_back(index - 1);
  samples.value.push_back(static_cast<float>(value));
  samples.features = std::max(samples.features, index);
  return Status::Ok();
}

Status AddLine(std::string_view line, RawSamples& samples) {
  const std::string_view label = NextToken(line);
  if (label.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const double number, ParseNumber(label));
  const uint64_t first_entry = samples.column.size();
  for (std::string_view token = NextToken(line); !token.empty(); token = NextToken(line)) {
    MOTLEY_RETURN_IF_ERROR(AddEntry(token, first_entry, samples));
  }
  samples.label.push_back(number);
  samples.row_begin.push_back(samples.column.size());
  return Status::Ok();
}

Status ReadLibsvm(const InputFile& file, StreamReader& stream, const ReadOptions&,
                  SampleSink& sink) {
  RawSamples samples;
  samples.path = file.path;
  samples.sparse = true;
  LineReader lines(stream, file.path);
  std::string_view line;
  while (true) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, lines.Next(line));
    if (!more) return sink.Take(samples);
    const size_t rows = samples.rows();
    const Status added = AddLine(WithoutComment(line), samples);
    if (!added.ok()) {
      return added.WithContext(fmt::format("{}:{}", file.path, lines.number()));
    }
    if (samples.rows() > rows) samples.line.push_back(lines.number());
    MOTLEY_RETURN_IF_ERROR(TakeIfFull(samples, sink));
  }
}

}  // namespace

const FileFormat kLibsvmFormat = {"LIBSVM", LooksLikeLibsvm, ReadLibsvm};

}  // namespace motley
