// SPDX-License-Identifier: Apache-2.0
// The list of streams by the scheme of their address. Whoever listens, connects or checks an
// address that a user wrote reads it. To add a scheme: write a pair of files NAME_stream.{h,cc},
// and add one entry here; tests run the suite of streams on every entry. Transports inside one
// process are not in the list: nobody writes an address for them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/stream/connecting.h"

namespace motley {

struct StreamScheme {
  std::string_view name;  // "tcp" for "tcp://...". Empty: addresses without a scheme.
  std::string_view form;  // A whole address in words, for messages: "tcp://HOST:PORT".
  bool has_host = true;   // The address ends with HOST:PORT.
  // These get the address without the scheme and its "://".
  //
  // kInvalidArgument with an example when the address makes no sense.
  Status (*check)(const std::string& rest);
  // True if only processes of this machine reach a listener there.
  bool (*only_here)(const std::string& rest);
  // At least one listener. The address of the first is the one to connect to.
  Result<std::vector<std::unique_ptr<Listener>>> (*listen)(const StreamOptions& options,
                                                           const std::string& rest,
                                                           Listener::Handler& handler);
  std::shared_ptr<Dialing> (*dial)(const StreamOptions& options, const std::string& rest,
                                   Dialed done);
};

std::span<const StreamScheme> StreamSchemes();

struct SchemeAddress {
  const StreamScheme* scheme = nullptr;
  std::string rest;
};

// Finds the scheme of an address and checks the rest. kInvalidArgument names the schemes that exist
// or what is wrong with the address.
Result<SchemeAddress> ParseAddress(const std::string& address);

// True if only processes of this machine reach a listener at the address. False if it makes no
// sense.
bool ReachedOnlyFromHere(const std::string& address);

// Where a node that connects to `server` listens for other nodes of its job: at any port, with the
// same kind of stream if it has hosts, and for this machine alone if the server does so.
std::string ListenLike(const std::string& server);

// Where a worker reaches another one that announced `address`, if it knows the server as `server`.
// Workers beside the server announce the address at which the server sees them, which leads nowhere
// from other machines: "127.0.0.1:7001" is then "10.0.0.1:7001" with the server "10.0.0.1:7000". A
// local socket, "unix://NAME", has no other address.
std::string ReachableAt(const std::string& address, const std::string& server);

}  // namespace motley
