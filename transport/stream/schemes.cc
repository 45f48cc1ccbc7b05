// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/schemes.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "transport/stream/tcp_address.h"
#include "transport/stream/tcp_stream.h"
#include "transport/stream/unix_stream.h"

namespace motley {
namespace {

using Listeners = std::vector<std::unique_ptr<Listener>>;

// "host:port" without its port.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

Status CheckTcp(const std::string& rest) { return ParseHostPort(rest).status(); }

bool TcpOnlyHere(const std::string& rest) {
  const auto where = ParseHostPort(rest);
  const auto address = where.ok() ? NumericAddress(*where) : std::nullopt;
  return address && IsLoopback(*address);
}

Result<Listeners> ListenTcpOnly(const StreamOptions& options, const std::string& rest,
                                Listener::Handler& handler) {
  Listeners listeners;
  MOTLEY_ASSIGN_OR_RETURN(listeners.emplace_back(), ListenTcp(options, rest, handler));
  return listeners;
}

std::shared_ptr<Dialing> DialTcpOnly(const StreamOptions& options, const std::string& rest,
                                     Dialed done) {
  return DialTcp(options, rest, nullptr, std::move(done));
}

// Processes of this machine and user take the local socket beside the TCP one.
Result<Listeners> ListenBoth(const StreamOptions& options, const std::string& rest,
                             Listener::Handler& handler) {
  MOTLEY_ASSIGN_OR_RETURN(Listeners listeners, ListenTcpOnly(options, rest, handler));
  MOTLEY_ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(listeners.front()->address()));
  if (auto beside = ListenBeside(options.loop, *NumericAddress(where), handler)) {
    listeners.push_back(std::move(beside));
  }
  return listeners;
}

std::shared_ptr<Dialing> DialEither(const StreamOptions& options, const std::string& rest,
                                    Dialed done) {
  const auto beside = [loop = options.loop, rest](const sockaddr_storage& address) {
    return ConnectBeside(loop, address, rest);
  };
  return DialTcp(options, rest, beside, std::move(done));
}

bool AlwaysHere(const std::string& /*rest*/) { return true; }

Result<Listeners> ListenLocal(const StreamOptions& options, const std::string& rest,
                              Listener::Handler& handler) {
  Listeners listeners;
  MOTLEY_ASSIGN_OR_RETURN(listeners.emplace_back(), ListenUnix(options, rest, handler));
  return listeners;
}

constexpr std::array kStreamSchemes{
    StreamScheme{"", "HOST:PORT", true, CheckTcp, TcpOnlyHere, ListenBoth, DialEither},
    StreamScheme{"tcp", "tcp://HOST:PORT", true, CheckTcp, TcpOnlyHere, ListenTcpOnly, DialTcpOnly},
    StreamScheme{"unix", "unix://NAME", false, CheckUnixName, AlwaysHere, ListenLocal, DialUnix},
};

}  // namespace

std::span<const StreamScheme> StreamSchemes() { return kStreamSchemes; }

Result<SchemeAddress> ParseAddress(const std::string& address) {
  constexpr std::string_view kEnd = "://";
  const size_t end = address.find(kEnd);
  const std::string name = address.substr(0, end == std::string::npos ? 0 : end);
  const std::string rest = end == std::string::npos ? address : address.substr(end + kEnd.size());
  std::string forms;
  for (const StreamScheme& scheme : kStreamSchemes) {
    if (scheme.name == name && name.empty() == (end == std::string::npos)) {
      MOTLEY_RETURN_IF_ERROR(scheme.check(rest));
      return SchemeAddress{&scheme, rest};
    }
    forms += fmt::format("{}{}", forms.empty() ? "" : ", ", scheme.form);
  }
  constexpr size_t kMostShown = 100;
  return Status::InvalidArgument(
      fmt::format("\"{}\" is not an address: there is no scheme \"{}\"; write one of {}",
                  address.substr(0, kMostShown), name.substr(0, kMostShown), forms));
}

bool ReachedOnlyFromHere(const std::string& address) {
  const auto where = ParseAddress(address);
  return where.ok() && where->scheme->only_here(where->rest);
}

std::string ListenLike(const std::string& server) {
  const std::string host = ReachedOnlyFromHere(server) ? "127.0.0.1:0" : "0.0.0.0:0";
  const auto where = ParseAddress(server);
  if (!where.ok() || !where->scheme->has_host || where->scheme->name.empty()) return host;
  return fmt::format("{}://{}", where->scheme->name, host);
}

std::string ReachableAt(const std::string& address, const std::string& server) {
  const auto where = ParseAddress(address);
  if (!where.ok() || !where->scheme->only_here(where->rest)) return address;
  if (!where->scheme->has_host || ReachedOnlyFromHere(server)) return address;
  return HostOf(server) + address.substr(address.rfind(':'));
}

}  // namespace motley
