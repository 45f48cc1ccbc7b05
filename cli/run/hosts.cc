// SPDX-License-Identifier: Apache-2.0
#include "cli/run/hosts.h"

#include <sys/stat.h>

#include "data/files/file_io.h"
#include "fmt/core.h"

namespace motley {
namespace {

// Quotes text for a POSIX shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> Split(std::string_view text, char separator, bool comments) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    if (comments) part = part.substr(0, part.find('#'));
    if (part = Trimmed(part); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace

Result<std::vector<std::string>> ReadHosts(const std::string& text) {
  struct stat info {};
  const bool file = stat(text.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  std::vector<std::string> hosts;
  if (file) {
    MOTLEY_ASSIGN_OR_RETURN(const std::string content, ReadRawFile(text));
    hosts = Split(content, '\n', /*comments=*/true);
  } else {
    hosts = Split(text, ',', /*comments=*/false);
  }
  if (hosts.empty()) {
    return Status::InvalidArgument(fmt::format(
        "--hosts {} names no host. Give names like a,b,c or a file with one per line", text));
  }
  for (const std::string& host : hosts) {
    if (!host.starts_with('-') && host.find_first_of(" \t'\"") == std::string::npos) continue;
    return Status::InvalidArgument(
        fmt::format("--hosts: '{}' is not the name of a host. {}", host,
                    file ? "The file has one name per line, like user@host"
                         : "Give names like a,b,c or a file with one per line"));
  }
  return hosts;
}

std::vector<std::string> SshCommand(const std::string& host) {
  // Nobody can answer a question, and a dead link must not look like a slow worker.
  return {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", host, "sh"};
}

std::string RemoteScript(const std::vector<std::string>& command, const std::string& folder,
                         const std::vector<std::string>& variables) {
  std::string program, exports;
  for (const std::string& word : command) program += Quoted(word) + " ";
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    exports += fmt::format("export {}={}\n", variable.substr(0, equals),
                           Quoted(std::string_view(variable).substr(equals + 1)));
  }
  // The braces make the shell read all of it before it runs any.
  return fmt::format(
      "{{\n"
      "exec 3<&0 </dev/null\n"
      "cd {} 2>/dev/null || {{ echo motley: this host has no folder {} >&2; exit 126; }}\n"
      "{}"
      "{}3<&- &\n"
      "program=$!\n"
      "{{ cat <&3; kill -TERM $program; sleep 10; kill -KILL $program; }} >/dev/null 2>&1 &\n"
      "watcher=$!\n"
      "wait $program\n"
      "code=$?\n"
      "kill $watcher 2>/dev/null\n"
      "exit $code\n"
      "}}\n",
      Quoted(folder), Quoted(folder), exports, program);
}

}  // namespace motley
