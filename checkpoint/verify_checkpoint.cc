// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "checkpoint/payload.h"
#include "checkpoint/stripe_reader.h"
#include "checkpoint/verify_set.h"

namespace motley {
namespace {

// A text like "3, 7-12 and 40 more".
std::string RangesText(const std::vector<uint64_t>& numbers) {
  constexpr size_t kMostRanges = 8;
  std::vector<std::string> ranges;
  size_t at = 0;
  while (at < numbers.size() && ranges.size() < kMostRanges) {
    size_t end = at + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    ranges.push_back(end - at == 1 ? fmt::format("{}", numbers[at])
                                   : fmt::format("{}-{}", numbers[at], numbers[end - 1]));
    at = end;
  }
  std::string text = fmt::format("{}", fmt::join(ranges, ", "));
  if (at < numbers.size()) text += fmt::format(" and {} more", numbers.size() - at);
  return text;
}

std::string ShardText(const ShardReport& shard, uint64_t stripes) {
  std::string text = shard.problem;
  if (!shard.damaged_blocks.empty()) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} of {} blocks damaged: {}", shard.damaged_blocks.size(), stripes,
                        RangesText(shard.damaged_blocks));
  }
  return fmt::format("shard {} ({}): {}", shard.shard, shard.path, text);
}

// Problem of the file's footer: it must match everything before it. Empty: none.
std::string FooterProblem(Store& store, const ShardHeader& header, const ShardPlace& place,
                          const HashStream& content, Status& read_error) {
  FooterBytes bytes{};
  const auto got = store.Read(place.path, ShardLayout(header).file_bytes() - kFooterBytes, bytes);
  if (!got.ok()) {
    if (got.code() != StatusCode::kNotFound && read_error.ok()) read_error = got.status();
    return got.status().ToString();
  }
  const bool right = *got == bytes.size() && bytes == PackFooter(header, content.Value());
  return right ? "" : "its footer is damaged";
}

// A text like "3, 7-12", with the number of stripes beyond the end of every file.
std::string LostText(const VerifyReport& report) {
  std::vector<uint64_t> named = report.lost_stripes;
  const uint64_t behind = report.lost - named.size();
  if (behind == 0) return RangesText(named);
  uint64_t first = named.back();
  const uint64_t last = first + behind;
  named.pop_back();
  for (; !named.empty() && named.back() + 1 == first; --first) named.pop_back();
  const std::string tail = fmt::format("{}-{}", first, last);
  return named.empty() ? tail : RangesText(named) + ", " + tail;
}

// Reads files once: it hashes each file while it checks a stripe's blocks.
class Verifier {
 public:
  Verifier(Store& store, const ShardSet& set, StripeReader reader)
      : store_(store),
        set_(set),
        reader_(std::move(reader)),
        contents_(set.places.size()),
        payload_(set.header) {}

  Result<VerifyReport> Run() {
    report_.info = InfoOf(set_);
    report_.stripes = reader_.layout().stripes();
    for (uint32_t shard = 0; shard < set_.places.size(); ++shard) {
      const ShardPlace& place = set_.places[shard];
      report_.shards.push_back({shard, store_.Describe(place.path), place.problem, {}, {}});
      contents_[shard].Add(PackHeader(HeaderOf(shard)));
    }
    const uint64_t there = reader_.stripes_there();
    for (uint64_t stripe = 0; stripe < there; ++stripe) CheckStripe(stripe);
    report_.lost = report_.lost_stripes.size();
    if (there < report_.stripes) {
      report_.lost_stripes.push_back(there);
      report_.lost += report_.stripes - there;
    }
    for (uint32_t shard = 0; shard < set_.places.size(); ++shard) {
      report_.shards[shard].read_error = reader_.read_error(shard);
      CheckFooter(shard);
    }
    if (!reader_.read_error().ok()) report_.read_error = reader_.read_error();
    if (report_.stripes == 0) most_lost_ = Unhealthy();
    if (report_.lost_stripes.empty() && payload_.Value() != set_.header.id) return NotTogether();
    report_.survives = set_.header.code.parity - std::min(most_lost_, set_.header.code.parity);
    return std::move(report_);
  }

 private:
  ShardHeader HeaderOf(uint32_t shard) const {
    ShardHeader header = set_.header;
    header.shard = shard;
    return header;
  }

  void CheckStripe(uint64_t stripe) {
    reader_.ReadAll(stripe);
    uint32_t lost = 0;
    for (uint32_t shard = 0; shard < set_.places.size(); ++shard) {
      if (reader_.present()[shard]) {
        const BytesView block = reader_.block(shard);
        const uint64_t sum = BlockChecksum(set_.header.id, shard, stripe, block);
        contents_[shard].Add(block);
        contents_[shard].Add(std::as_bytes(std::span(&sum, 1)));
        continue;
      }
      ++lost;
      if (set_.places[shard].usable) report_.shards[shard].damaged_blocks.push_back(stripe);
    }
    if (lost > set_.header.code.parity || !reader_.Rebuild().ok()) {
      report_.lost_stripes.push_back(stripe);
      most_lost_ = set_.header.code.parity;
      return;
    }
    for (uint32_t i = 0; i < set_.header.code.data; ++i) payload_.Add(reader_.block(i));
    for (uint32_t shard = 0; shard < set_.places.size(); ++shard) {
      if (!reader_.wrong_parity()[shard]) continue;
      report_.shards[shard].damaged_blocks.push_back(stripe);
      ++lost;
    }
    most_lost_ = std::max(most_lost_, lost);
  }

  void CheckFooter(uint32_t shard) {
    ShardReport& report = report_.shards[shard];
    if (!report.healthy()) return;
    report.problem = FooterProblem(store_, HeaderOf(shard), set_.places[shard], contents_[shard],
                                   report.read_error);
    if (report_.read_error.ok()) report_.read_error = report.read_error;
  }

  uint32_t Unhealthy() const {
    return static_cast<uint32_t>(
        std::count_if(report_.shards.begin(), report_.shards.end(),
                      [](const ShardReport& shard) { return !shard.healthy(); }));
  }

  Store& store_;
  const ShardSet& set_;
  StripeReader reader_;
  std::vector<HashStream> contents_;
  PayloadHash payload_;
  VerifyReport report_;
  uint32_t most_lost_ = 0;  // Most blocks lost in one stripe.
};

}  // namespace

bool VerifyReport::healthy() const {
  return std::all_of(shards.begin(), shards.end(),
                     [](const ShardReport& shard) { return shard.healthy(); });
}

bool VerifyReport::restorable() const { return lost_stripes.empty() && !shards.empty(); }

std::string VerifyReport::ToText() const {
  const std::string name = fmt::format("step {} ({})", info.step, motley::ToText(info.code));
  if (healthy()) return fmt::format("{}: every shard is right\n", name);
  std::string text = restorable() ? fmt::format(
                                        "{}: can be restored exactly and {}; motley checkpoint "
                                        "restore rebuilds the shards\n",
                                        name, SurvivesText(survives))
                                  : fmt::format(
                                        "{}: cannot be restored: more than {} blocks are lost in "
                                        "{} of {} stripes: {}\n",
                                        name, info.code.parity, lost, stripes, LostText(*this));
  for (const ShardReport& shard : shards) {
    if (!shard.healthy()) text += ShardText(shard, stripes) + "\n";
  }
  return text;
}

Result<VerifyReport> VerifySet(Store& store, const ShardSet& set) {
  const auto verify = [&]() -> Result<VerifyReport> {
    MOTLEY_ASSIGN_OR_RETURN(StripeReader reader, StripeReader::Open(store, set));
    return Verifier(store, set, std::move(reader)).Run();
  };
  auto report = verify();
  if (report.ok()) return report;
  return report.status().WithContext(
      fmt::format("{}: checkpoint of step {}", store.Describe(""), set.header.step));
}

Status NotTogether() {
  return Status::DataError("each block is right, but they do not belong together");
}

bool IsReadError(const Status& status) {
  return status.code() == StatusCode::kResource || status.code() == StatusCode::kPermission;
}

Status TooMuchLost(const VerifyReport& report) {
  std::string text = report.ToText();
  text.pop_back();
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end)) {
    text.replace(end, 1, "; ");
  }
  if (!report.read_error.ok()) return report.read_error.WithContext(std::move(text));
  return Status::NotDecodable(std::move(text));
}

Result<bool> CanBeRestored(Store& store, const ShardSet& set) {
  if (!set.LooksRestorable()) {
    for (const ShardPlace& place : set.places) MOTLEY_RETURN_IF_ERROR(place.unread);
    return false;
  }
  const auto report = VerifySet(store, set);
  if (report.ok() && report->restorable()) return true;
  if (report.ok()) MOTLEY_RETURN_IF_ERROR(report->read_error);
  // Files that no program can read as this checkpoint are not one.
  if (!report.ok() && report.code() != StatusCode::kDataError) return report.status();
  return false;
}

Result<VerifyReport> VerifyCheckpoint(Store& store, std::optional<uint64_t> step) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_ASSIGN_OR_RETURN(const ShardSet set, ChooseSet(store, scan, step));
  return VerifySet(store, set);
}

}  // namespace motley
