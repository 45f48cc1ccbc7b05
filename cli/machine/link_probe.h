// SPDX-License-Identifier: Apache-2.0
// Measures links with the transport that jobs use (runtime/links/link_prober.h). SIGPIPE must be
// ignored.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "runtime/links/link_prober.h"

namespace motley {

// Measures between two processes of this machine. Takes about `seconds` and a second thread.
// kUnavailable, kResource: this machine cannot connect to itself.
Result<LinkProbe> ProbeLocalLink(double seconds);
// Measures the link to a server elsewhere.
Result<LinkProbe> ProbeLink(const LinkProbeOptions& options);
// Lets other machines measure their link to `address` until the program ends. `listening` receives
// the address in use. Returns only on failure.
Status ServeProbes(const std::string& address, const std::string& token,
                   const std::function<void(const std::string&)>& listening);

}  // namespace motley
