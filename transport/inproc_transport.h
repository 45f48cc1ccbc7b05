// SPDX-License-Identifier: Apache-2.0
// Transport between nodes of one process on one Loop, for tests and for all-in-one jobs.
#pragma once

#include <memory>

#include "base/loop/loop.h"
#include "transport/transport.h"

namespace motley {

// The registry through which the transports of one process find each other. It must outlive them.
// Loop thread only.
class InprocNetwork {
 public:
  explicit InprocNetwork(Loop& loop);
  ~InprocNetwork();
  std::unique_ptr<Transport> MakeTransport();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
