// SPDX-License-Identifier: Apache-2.0
// Hands out the ranges of a sum that a call of the caller's own function has finished, while it
// works on the rest (GradientWork::final).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tally.h"

namespace motley {

class EarlyRanges {
 public:
  using Final = std::function<void(size_t begin, size_t end, const Tally& tally)>;
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };

  // An empty `final` hands out nothing. `prepare` (may be empty) makes the values of a range, whose
  // ends are even, before it is handed out.
  EarlyRanges(size_t parameters, Final final, std::function<void(const Range&)> prepare = nullptr);

  // The call does not change [begin, end) any more, and its tally stays `tally`. Ranges may overlap
  // earlier ones, and what is beyond the parameters does not count. Any thread, one at a time.
  void Add(size_t begin, size_t end, const Tally& tally);

  // --- After the call ---
  // What was not handed out; complex numbers are whole.
  std::vector<Range> Rest() const { return Missing({0, length_}); }
  // kCallback: ranges were handed out with another tally. `where` names the work.
  Status Check(const Tally& tally, const std::string& where) const;

 private:
  using Ranges = std::map<size_t, size_t>;  // Their ends, by their begins. They do not overlap.

  Range Join(Range range);
  std::vector<Range> Missing(Range range) const;

  const size_t parameters_;
  const size_t length_;  // With the zero that makes it even.
  const Final final_;
  const std::function<void(const Range&)> prepare_;
  Ranges ready_;
  Ranges handed_out_;
  std::optional<Tally> tally_;  // What was handed out has this one.
};

}  // namespace motley
