// SPDX-License-Identifier: Apache-2.0
// Chrome trace events of a job (open in ui.perfetto.dev): one track per worker with an event per
// assigned row, from assignment to arrival, and one for the server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "motley/motley.h"

namespace motley {

class TraceRecorder {
 public:
  void OnEvent(const motley_event& event);

  // {"traceEvents": [...]}; rows still open end at the last time seen.
  std::string Json();

 private:
  struct Event {
    std::string name;
    uint32_t track = 0;  // 0: the server; worker + 1.
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    uint64_t step = 0;
  };
  struct OpenRow {
    uint32_t row = 0;
    uint64_t step = 0;
    uint64_t begin_ns = 0;
  };

  void Arrive(const motley_event& event);
  void Close(uint32_t worker, const char* how, uint64_t now_ns);
  void AddServerEvent(const char* what, const motley_event& event, uint64_t begin_ns);

  std::vector<Event> events_;
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, OpenRow> open_;
  uint64_t opened_ns_ = 0;
  uint64_t decoded_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace motley
