// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/link_probe.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/links/probe_desk.h"
#include "runtime/uv_loop.h"
#include "transport/channel/stream_transport.h"

namespace motley {
namespace {

constexpr const char* kLocalToken = "this program's own";

// A host on its own loop. Closing it takes one more run of the loop.
class ProbeServer {
 public:
  static Result<std::unique_ptr<ProbeServer>> Listen(const std::string& address,
                                                     const std::string& token) {
    MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<UvLoop> loop, UvLoop::Create());
    std::unique_ptr<ProbeServer> server(new ProbeServer(std::move(loop), token));
    MOTLEY_ASSIGN_OR_RETURN(server->address_, server->transport_->Listen(address));
    return server;
  }
  ~ProbeServer() { transport_->Close(); }

  const std::string& address() const { return address_; }
  void Run() { loop_->Run(); }
  void Stop() {  // Any thread.
    loop_->Post([this] { loop_->Stop(); });
  }

 private:
  ProbeServer(std::unique_ptr<UvLoop> loop, const std::string& token)
      : loop_(std::move(loop)),
        transport_(MakeStreamTransport(loop_->handle())),
        host_(*loop_, *transport_, token, nullptr) {}

  const std::unique_ptr<UvLoop> loop_;
  const std::unique_ptr<Transport> transport_;
  ProbeHost host_;
  std::string address_;
};

}  // namespace

Result<LinkProbe> ProbeLink(const LinkProbeOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  const std::unique_ptr<Transport> transport = MakeStreamTransport(loop->handle());
  std::optional<Result<LinkProbe>> result;
  {
    LinkProber prober(*loop, *transport, options);
    prober.Start([&](const Result<LinkProbe>& probe) {
      result = probe;
      loop->Stop();
    });
    loop->Run();
  }
  transport->Close();
  return *result;
}

Result<LinkProbe> ProbeLocalLink(double seconds) {
  std::promise<Result<std::string>> address;
  std::unique_ptr<ProbeServer> server;
  const auto serve = [&] {
    auto made = ProbeServer::Listen("127.0.0.1:0", kLocalToken);
    if (made.ok()) server = std::move(*made);
    const bool ok = server != nullptr;
    address.set_value(ok ? Result<std::string>(server->address()) : made.status());
    if (ok) server->Run();
  };
  std::thread thread;
  try {
    thread = std::thread(serve);
  } catch (const std::system_error& error) {
    return Status::Resource(
        fmt::format("cannot start a thread for the link's other end: {}", error.what()));
  }
  const Result<std::string> at = address.get_future().get();
  Result<LinkProbe> probe =
      at.ok() ? ProbeLink({.server = *at, .token = kLocalToken, .seconds = seconds}) : at.status();
  if (at.ok()) server->Stop();
  thread.join();
  // Between processes of one machine there are no queues except for its cores.
  if (probe.ok()) {
    probe->link.latency_seconds = probe->loaded_latency_seconds;
    probe->link.down->latency_seconds = probe->loaded_latency_seconds;
  }
  return probe;
}

Status ServeProbes(const std::string& address, const std::string& token,
                   const std::function<void(const std::string&)>& listening) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<ProbeServer> server,
                          ProbeServer::Listen(address, token));
  listening(server->address());
  server->Run();
  return Status::Internal("the loop that serves probes has ended. This is a bug of motley");
}

}  // namespace motley
