// SPDX-License-Identifier: Apache-2.0
#include "cli/run/process.h"

#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "base/loop/loop_guard.h"
#include "cli/run/tied.h"
#include "fmt/core.h"

namespace motley {
namespace {

// A process may end while a child of its own still holds its pipes. This is how long they are read.
constexpr Duration kLastLines = std::chrono::seconds(1);
constexpr size_t kLongestLine = 65536;

// What a process learns from this command, and not from one that runs it.
constexpr std::string_view kOurs[] = {
    "MOTLEY_ROLE=",   "MOTLEY_LISTEN=", "MOTLEY_ADDRESS_FILE=", "MOTLEY_WORKERS=",
    "MOTLEY_SERVER=", "MOTLEY_TOKEN=",  "MOTLEY_WORKER_NAME=",  "MOTLEY_WORKER_INDEX="};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more) {
  const auto replaced = [&more](std::string_view variable) {
    const auto named = [variable](std::string_view name) { return variable.starts_with(name); };
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    return std::any_of(std::begin(kOurs), std::end(kOurs), named) ||
           std::any_of(more.begin(), more.end(),
                       [name](const std::string& one) { return one.starts_with(name); });
  };
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!replaced(*variable)) all.emplace_back(*variable);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string ThisProgram() {
  const char* const running = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(running, error);
  if (error || !std::filesystem::exists(path, error)) return running;
  return std::filesystem::equivalent(path, running, error) ? running : path.string();
}

std::string ProcessExit::Text() const {
  if (signal != 0) return fmt::format("by signal {} ({})", signal, strsignal(signal));
  return fmt::format("with exit code {}", code);
}

int ProcessExit::ShellCode() const { return signal != 0 ? 128 + signal : static_cast<int>(code); }

struct Process::Impl {
  // What a handle belongs to.
  struct Part {
    Impl* owner = nullptr;
  };
  // One of the two pipes that are read.
  struct Output : Part {
    uv_pipe_t pipe{};
    std::array<char, 16384> buffer{};
    std::string text;
    bool error = false;
    bool open = false;
  };

  explicit Impl(UvLoop& on) : loop(on), part{this} {
    for (Output& output : outputs) output.owner = this;
  }
  Status Start(const ProcessOptions& options);
  void Feed(const std::string& text);
  void Read(Output& output);
  void Add(Output& output, size_t size);
  void PassLine(Output& output, std::string_view line) const;
  void CloseOutput(Output& output);
  void Close(uv_handle_t* handle);
  void CheckEnd();
  void SignalGroup(int number) const;

  UvLoop& loop;
  Part part;  // The process and its input.
  uv_process_t process{};
  uv_pipe_t input{};
  uv_write_t writing{};
  std::string fed;
  bool input_open = false;
  std::array<Output, 2> outputs;
  int open_handles = 0;
  bool running = false;
  bool orphaned = false;  // Its Process is gone.
  std::optional<ProcessExit> exit;
  std::optional<TimerId> last_lines;
  std::function<void(std::string_view, bool)> line;
  Ended ended;
};

Status Process::Impl::Start(const ProcessOptions& options) {
  process.data = input.data = &part;
  std::array<uv_stdio_container_t, 3> stdio{};
  const auto pipe = [](uv_stdio_container_t& out, uv_pipe_t& end, int flag) {
    out.flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | flag);
    out.data.stream = reinterpret_cast<uv_stream_t*>(&end);
  };
  if (options.input != nullptr) {
    uv_pipe_init(loop.handle(), &input, 0);
    ++open_handles;
    input_open = true;
    pipe(stdio[0], input, UV_READABLE_PIPE);
  } else {
    stdio[0].flags = options.inherits_input ? UV_INHERIT_FD : UV_IGNORE;
    stdio[0].data.fd = 0;
  }
  for (int fd : {1, 2}) {
    Output& output = outputs[static_cast<size_t>(fd - 1)];
    uv_stdio_container_t& end = stdio[static_cast<size_t>(fd)];
    if (!line) {
      end.flags = UV_INHERIT_FD;
      end.data.fd = fd;
      continue;
    }
    output.error = fd == 2;
    output.pipe.data = static_cast<Part*>(&output);
    uv_pipe_init(loop.handle(), &output.pipe, 0);
    ++open_handles;
    output.open = true;
    pipe(end, output.pipe, UV_WRITABLE_PIPE);
  }
  const std::vector<std::string> command = TiedCommand(options.command);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(options.environment);
  uv_process_options_t spawn{};
  spawn.file = command.front().c_str();
  spawn.args = const_cast<char**>(arguments.data());
  spawn.env = const_cast<char**>(variables.data());
  spawn.flags = UV_PROCESS_DETACHED;  // A process group of its own.
  spawn.stdio_count = static_cast<int>(stdio.size());
  spawn.stdio = stdio.data();
  spawn.exit_cb = [](uv_process_t* handle, int64_t code, int signal) {
    RunGuarded(handle->loop->data, [&] {
      Impl& owner = *static_cast<Part*>(handle->data)->owner;
      owner.SignalGroup(SIGKILL);  // What it left behind.
      owner.running = false;
      owner.exit = ProcessExit{code, signal};
      owner.Close(reinterpret_cast<uv_handle_t*>(handle));
      owner.CheckEnd();
    });
  };
  const int error = uv_spawn(loop.handle(), &process, &spawn);
  ++open_handles;
  if (error != 0) {
    Close(reinterpret_cast<uv_handle_t*>(&process));
    const bool files = error == UV_EMFILE || error == UV_ENFILE;
    return Status::Resource(
        fmt::format("cannot start {}: {}{}", options.command.front(), uv_strerror(error),
                    files ? "; raise the limit of open files (ulimit -n)" : ""));
  }
  running = true;
  if (options.input != nullptr) Feed(*options.input);
  for (Output& output : outputs) {
    if (output.open) Read(output);
  }
  return Status::Ok();
}

void Process::Impl::Feed(const std::string& text) {
  fed = text;
  const uv_buf_t buffer = uv_buf_init(fed.data(), static_cast<unsigned>(fed.size()));
  uv_write(&writing, reinterpret_cast<uv_stream_t*>(&input), &buffer, 1, [](uv_write_t*, int) {});
}

void Process::Impl::Read(Output& output) {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&output.pipe),
      [](uv_handle_t* handle, size_t, uv_buf_t* out) {
        auto& buffer = static_cast<Output*>(static_cast<Part*>(handle->data))->buffer;
        *out = uv_buf_init(buffer.data(), static_cast<unsigned>(buffer.size()));
      },
      [](uv_stream_t* stream, ssize_t size, const uv_buf_t*) {
        RunGuarded(stream->loop->data, [&] {
          auto& from = *static_cast<Output*>(static_cast<Part*>(stream->data));
          if (size > 0) return from.owner->Add(from, static_cast<size_t>(size));
          if (size == 0) return;
          from.owner->CloseOutput(from);
          from.owner->CheckEnd();
        });
      });
}

void Process::Impl::Add(Output& output, size_t size) {
  output.text.append(output.buffer.data(), size);
  size_t begin = 0;
  for (size_t end; (end = output.text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    PassLine(output, std::string_view(output.text).substr(begin, end - begin));
  }
  output.text.erase(0, begin);
  if (output.text.size() < kLongestLine) return;
  PassLine(output, output.text);
  output.text.clear();
}

void Process::Impl::PassLine(Output& output, std::string_view text) const {
  while (text.ends_with('\r')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\r') + 1);  // npos + 1 is 0.
  if (!orphaned) line(text, output.error);
}

void Process::Impl::CloseOutput(Output& output) {
  if (!std::exchange(output.open, false)) return;
  if (!output.text.empty()) PassLine(output, output.text);
  output.text.clear();
  Close(reinterpret_cast<uv_handle_t*>(&output.pipe));
}

// Every handle's data is its Part.
void Process::Impl::Close(uv_handle_t* handle) {
  uv_close(handle, [](uv_handle_t* closed) {
    Impl* owner = static_cast<Part*>(closed->data)->owner;
    if (--owner->open_handles == 0 && owner->orphaned) delete owner;
  });
}

// Reports the end once the last lines were read.
void Process::Impl::CheckEnd() {
  if (!exit || orphaned) return;
  if (outputs[0].open || outputs[1].open) {
    if (last_lines) return;
    last_lines = loop.After(kLastLines, [this] {
      for (Output& output : outputs) CloseOutput(output);
      CheckEnd();
    });
    return;
  }
  if (last_lines) loop.Cancel(*last_lines);
  if (!ended) return;
  const Ended notify = std::exchange(ended, nullptr);
  notify(*exit);
}

void Process::Impl::SignalGroup(int number) const {
  if (process.pid > 0) kill(-process.pid, number);
}

Result<std::unique_ptr<Process>> Process::Start(UvLoop& loop, const ProcessOptions& options,
                                                Ended ended) {
  std::unique_ptr<Process> process(new Process(new Impl(loop)));
  process->impl_->line = options.line;
  process->impl_->ended = std::move(ended);
  MOTLEY_RETURN_IF_ERROR(process->impl_->Start(options));
  return process;
}

Process::~Process() {
  impl_->orphaned = true;
  if (impl_->last_lines) impl_->loop.Cancel(*impl_->last_lines);
  if (impl_->running) {
    impl_->SignalGroup(SIGKILL);
    impl_->Close(reinterpret_cast<uv_handle_t*>(&impl_->process));
  }
  CloseInput();
  for (Impl::Output& output : impl_->outputs) impl_->CloseOutput(output);
  if (impl_->open_handles == 0) delete impl_;
}

bool Process::running() const { return impl_->running; }

void Process::Signal(int number) {
  if (impl_->running) impl_->SignalGroup(number);
}

void Process::CloseInput() {
  if (std::exchange(impl_->input_open, false)) {
    impl_->Close(reinterpret_cast<uv_handle_t*>(&impl_->input));
  }
}

}  // namespace motley
