// SPDX-License-Identifier: Apache-2.0
#include "collective/groups.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kLeap = 2;

struct Edge {
  double seconds;
  Rank a, b;
};

class Forest {
 public:
  explicit Forest(uint32_t members) : parent_(members) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  Rank RootOf(Rank rank) const {
    while (parent_[rank] != rank) rank = parent_[rank];
    return rank;
  }
  bool Join(const Edge& edge) {
    const Rank a = RootOf(edge.a), b = RootOf(edge.b);
    parent_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }

 private:
  std::vector<Rank> parent_;
};

// The edges of the minimum spanning tree, shortest first (Kruskal).
std::vector<Edge> SpanningTree(std::span<const double> seconds, uint32_t members) {
  std::vector<Edge> edges, tree;
  for (Rank a = 0; a < members; ++a) {
    for (Rank b = a + 1; b < members; ++b) {
      edges.push_back({std::max(seconds[a * members + b], seconds[b * members + a]), a, b});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& x, const Edge& y) { return x.seconds < y.seconds; });
  Forest forest(members);
  for (const Edge& edge : edges) {
    if (forest.Join(edge)) tree.push_back(edge);
  }
  return tree;
}

}  // namespace

Status CheckGroups(const Groups& groups, uint32_t members) {
  std::vector<uint32_t> named(members, 0);
  for (const std::vector<Rank>& group : groups) {
    if (group.empty()) return Status::InvalidArgument("a group has no members");
    for (const Rank rank : group) {
      if (rank >= members) {
        return Status::InvalidArgument(fmt::format(
            "there is no member {}: they are numbered from 0 to {}", rank, members - 1));
      }
      if (++named[rank] > 1) {
        return Status::InvalidArgument(fmt::format("member {} is in the groups twice", rank));
      }
    }
  }
  const auto missing = std::find(named.begin(), named.end(), 0);
  if (missing == named.end()) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("member {} is in none of the groups", missing - named.begin()));
}

Result<Groups> ParseGroups(std::string_view text, uint32_t members) {
  Groups groups(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    Rank rank = 0;
    const auto [after, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || (after != end && *after != ',' && *after != '/')) {
      return Status::InvalidArgument(
          fmt::format("\"{}\" is not a list of groups such as \"0,1/2,3\"", text));
    }
    groups.back().push_back(rank);
    if (after == end) break;
    if (*after == '/') groups.emplace_back();
    at = after + 1;
  }
  MOTLEY_RETURN_IF_ERROR(CheckGroups(groups, members));
  return groups;
}

Result<Groups> ParseTopology(std::string_view text, uint32_t members) {
  Groups groups;
  for (size_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string_view list = whole.substr(0, whole.find('#'));
    std::vector<Rank> group;
    constexpr std::string_view kBetween = ", \t\r";
    size_t at = 0;
    while ((at = list.find_first_not_of(kBetween, at)) != std::string_view::npos) {
      const size_t end = std::min(list.find_first_of(kBetween, at), list.size());
      Rank& rank = group.emplace_back();
      const auto [after, error] = std::from_chars(list.data() + at, list.data() + end, rank);
      if (error != std::errc() || after != list.data() + end) {
        return Status::InvalidArgument(fmt::format(
            "line {}: \"{}\" is not the number of a member. A line has a group, such as \"0 1 2\"",
            line, list.substr(at, end - at)));
      }
      at = end;
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  MOTLEY_RETURN_IF_ERROR(CheckGroups(groups, members));
  return groups;
}

Groups SingleMembers(uint32_t members) {
  Groups groups;
  for (Rank rank = 0; rank < members; ++rank) groups.push_back({rank});
  return groups;
}

Groups GroupsByLatency(std::span<const double> seconds, uint32_t members) {
  const std::vector<Edge> tree = SpanningTree(seconds, members);
  size_t joined = 0;  // Edges before the leap.
  double largest = kLeap;
  for (size_t i = 1; i < tree.size(); ++i) {
    const double leap = tree[i].seconds / std::max(tree[i - 1].seconds, 1e-9);
    if (leap <= largest) continue;
    largest = leap;
    joined = i;
  }
  Forest forest(members);
  for (size_t i = 0; i < joined; ++i) forest.Join(tree[i]);
  Groups by_root(members), groups;
  for (Rank rank = 0; rank < members; ++rank) by_root[forest.RootOf(rank)].push_back(rank);
  for (std::vector<Rank>& group : by_root) {
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace motley
