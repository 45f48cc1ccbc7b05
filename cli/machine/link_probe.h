// SPDX-License-Identifier: Apache-2.0
// Links that are measured with the transport that jobs use (runtime/links/link_prober.h). SIGPIPE
// must be ignored.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "runtime/links/link_prober.h"

namespace motley {

// Between two processes of this machine; takes about `seconds` and a second thread. kUnavailable,
// kResource: no connection to this machine itself.
Result<LinkProbe> ProbeLocalLink(double seconds);
// To a server elsewhere.
Result<LinkProbe> ProbeLink(const LinkProbeOptions& options);
// Lets others measure their link to `address`, until the program ends; `listening` is told the
// address in use. Returns only when it cannot.
Status ServeProbes(const std::string& address, const std::string& token,
                   const std::function<void(const std::string&)>& listening);

}  // namespace motley
