// SPDX-License-Identifier: Apache-2.0
// motley-sum: one server and N worker processes. The sum of their vectors is sent back to all of
// them. The data path is that of a job: answers in slices, the row collector with its stream
// decoder, the publisher. The server prints one JSON object. It starts the workers itself, unless
// --serve and --join start each process separately, on whatever machine. With --reduce, members
// sum without a server (sum_members.h, sum_mpi.h).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "benchmarks/sum_direct.h"
#include "benchmarks/sum_members.h"
#include "benchmarks/sum_mpi.h"
#include "benchmarks/sum_task.h"
#include "coding/gradient_code.h"
#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "collective/algorithm.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/answers.h"
#include "runtime/shard/publisher.h"
#include "runtime/uv_loop.h"
#include "transport/channel/stream_transport.h"

namespace motley {
namespace {

constexpr size_t kSlice = size_t{1} << 18;  // Floats, as in a job.
constexpr unsigned kLimitSeconds = 900;

constexpr auto kRetry = std::chrono::milliseconds(50);  // A worker may start before its server.

class Worker final : public Receiver {
 public:
  Worker(UvLoop& loop, const SumTask& task, uint32_t index)
      : loop_(loop),
        task_(task),
        index_(index),
        cut_(task.length, kSlice),
        own_(task.length),
        sum_(task.length),
        transport_(MakeStreamTransport(loop.handle())) {
    transport_->SetReceiver(this);
  }
  void Run(const std::string& address) {
    address_ = address;
    transport_->Connect(address_);
    loop_.Run();
  }

  void OnConnected(PeerId peer, const PeerIdentity&) override {
    server_ = peer;
    Say(0, 0);
  }
  void OnLost(PeerId, const Status& why) override {
    if (server_ != 0) Die("a worker: " + why.ToString());
    loop_.After(kRetry, [this] { transport_->Connect(address_); });
  }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    const auto slice = SliceOf(cut_, header);
    if (!slice.ok()) Die(slice.status().ToString());
    return std::as_writable_bytes(std::span(sum_).subspan(cut_.begin(*slice), cut_.size(*slice)));
  }
  void OnPayloadDone(PeerId, const Header& header, bool) override {
    if (header.length == 0) return OnOrder(header);
    if (++arrived_ < cut_.count()) return;
    end_ = NowNs();
    CheckSum(task_, sum_, header.step - 1, cut_);
    Say(begin_, end_);
  }

 private:
  // Handles "prepare" and "go".
  void OnOrder(const Header& order) {
    if (order.row_id == 2) {
      transport_->Disconnect(server_);
      return loop_.Stop();
    }
    if (order.row_id == 0) {
      for (size_t i = 0; i < own_.size(); ++i) own_[i] = ValueOf(i, index_, order.step);
      arrived_ = 0;
      return Say(0, 0);
    }
    begin_ = NowNs();
    Header header = AnswerTo(order.step);
    for (size_t slice = 0; slice < cut_.count(); ++slice) {
      header.offset = cut_.begin(slice);
      const std::span<const float> values(own_.data() + header.offset, cut_.size(slice));
      const Sketch sketch = SketchOf(values, SignsOf(header));
      header.norm = std::sqrt(sketch.squares) * (1 + 1e-5);
      header.sketch = sketch.projection;
      const BytesView piece = AsBytes(values);
      transport_->Send(server_, header, {&piece, 1}, Priority::kBulk, [](const Status&) {});
    }
  }
  Header AnswerTo(uint64_t step) const {
    Header header;
    header.kind = FrameKind::kGradient;
    header.step = header.version = step;
    header.row_id = index_ + 1;  // The server gives the first order of a step to the first worker.
    header.total = own_.size();
    return header;
  }
  void Say(uint64_t begin, uint64_t end) {
    Header header;
    header.row_id = index_;
    header.offset = begin;
    header.total = end;
    transport_->Send(server_, header, {}, Priority::kBulk, [](const Status&) {});
  }

  UvLoop& loop_;
  SumTask task_;
  uint32_t index_;
  Slicing cut_;
  std::vector<float> own_;
  std::vector<float> sum_;
  std::unique_ptr<Transport> transport_;
  std::string address_;
  PeerId server_ = 0;
  size_t arrived_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

class Server final : public Receiver {
 public:
  Server(UvLoop& loop, const SumTask& task, ParallelFor& parallel, CodeForm form)
      : loop_(loop),
        task_(task),
        form_(std::make_shared<const CodeForm>(std::move(form))),
        transport_(MakeStreamTransport(loop.handle(), &parallel)),
        publisher_(*transport_, Slicing(task.length, kSlice), 0,
                   [this](uint64_t version) {
                     return version == step_ + 1 ? ParameterCopy(sum_) : nullptr;
                   }),
        slices_(task.workers),
        sum_(std::make_shared<std::vector<float>>(task.length)),
        step_sum_(std::make_shared<UpdateSum>(*sum_, Route(task.length, 1), kSlice, parallel,
                                              /*keep_rows=*/false)),
        answers_(task.workers, /*partitions=*/1,
                 {[this](const Event& e) { OnEvent(e); }, nullptr,
                  [this]() -> Result<std::shared_ptr<UpdateSum>> { return step_sum_; },
                  [this] { return step_; }}) {
    transport_->SetReceiver(this);
  }
  Result<std::string> Listen() { return transport_->Listen(task_.listen); }
  const std::vector<double>& seconds() const { return seconds_; }

  void OnConnected(PeerId, const PeerIdentity&) override {}
  void OnLost(PeerId, const Status& why) override {
    if (step_ < task_.repetitions + task_.warmups) Die("the server: " + why.ToString());
    if (++gone_ == task_.workers) loop_.Stop();
  }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    const WorkerId worker = worker_of_.at(peer);
    const auto wanted = answers_.Begin(worker, header, false, slices_[worker]);
    if (!wanted.ok() || !*wanted) Die("a slice was refused: " + wanted.status().ToString());
    return std::as_writable_bytes(std::span(slices_[worker].values));
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool) override {
    if (header.length == 0) return OnMessage(peer, header);
    const WorkerId worker = worker_of_.at(peer);
    const Status fine = answers_.Finish(worker, slices_[worker]);
    if (!fine.ok()) Die(fine.ToString());
  }

 private:
  // Runs the phases: all have joined, all are prepared, all have the sum, all are prepared, and so
  // on.
  void OnMessage(PeerId peer, const Header& message) {
    worker_of_[peer] = message.row_id;
    peers_[message.row_id] = peer;
    std::unique_ptr<Publisher::Reader>& reader = readers_[message.row_id];
    if (reader == nullptr) {
      reader = std::make_unique<Publisher::Reader>(publisher_, peer, Header{});
    }
    first_begin_ = std::min(first_begin_, message.offset);
    last_end_ = std::max(last_end_, message.total);
    if (++messages_ < task_.workers) return;
    messages_ = 0;
    if (phase_ == 1) {
      if (sum_.use_count() > 1) Die("the last sum is still being sent");
      if (!answers_.Open({step_, step_}, form_).ok()) Die("the step was not opened");
      for (WorkerId worker = 0; worker < task_.workers; ++worker) {
        answers_.GiveRow(worker, step_, worker);
      }
    }
    if (phase_ == 2) {
      seconds_.push_back(static_cast<double>(last_end_ - first_begin_) * 1e-9);
      for (WorkerId worker = 0; worker < task_.workers; ++worker) {
        wire::AnswerEndT end;
        end.step = step_;
        end.order = worker + 1;
        end.finished = true;
        if (!answers_.OnEnd(worker, end).value()) Die("an answer ends that was not ordered");
      }
      phase_ = 0;
      if (++step_ == task_.repetitions + task_.warmups) return Order(2);
    }
    first_begin_ = UINT64_MAX;
    last_end_ = 0;
    Order(phase_++);
  }
  void Order(uint32_t what) {
    Header header;
    header.step = step_;
    header.row_id = what;
    for (const auto& [worker, peer] : peers_) {
      transport_->Send(peer, header, {}, Priority::kBulk, [](const Status&) {});
    }
  }
  void OnEvent(const Event& event) {
    if (!std::holds_alternative<StepDecodable>(event)) return;
    const auto summed = answers_.Close(step_);
    if (!summed.ok()) Die(summed.status().ToString());
    for (auto& [worker, reader] : readers_) reader->Publish(step_ + 1, sum_);
  }

  UvLoop& loop_;
  SumTask task_;
  std::shared_ptr<const CodeForm> form_;
  std::unique_ptr<Transport> transport_;
  Publisher publisher_;
  std::vector<Answers::Slice> slices_;
  std::map<PeerId, WorkerId> worker_of_;
  std::map<WorkerId, PeerId> peers_;
  std::map<WorkerId, std::unique_ptr<Publisher::Reader>> readers_;
  std::shared_ptr<std::vector<float>> sum_;  // Output buffer of the sums, like a job's gradient.
  std::shared_ptr<UpdateSum> step_sum_;      // It is formed there.
  Answers answers_;
  uint64_t step_ = 0;
  uint32_t phase_ = 0;
  uint32_t messages_ = 0;
  uint32_t gone_ = 0;
  uint64_t first_begin_ = UINT64_MAX;
  uint64_t last_end_ = 0;
  std::vector<double> seconds_;
};

void RunWorker(const SumTask& task, uint32_t index, const std::string& address) {
  auto loop = UvLoop::Create();
  if (!loop.ok()) Die(loop.status().ToString());
  Worker(**loop, task, index).Run(address);
}

// Starts a worker before the server has any thread. The worker gets the address through a pipe.
pid_t StartWorker(const SumTask& task, uint32_t index, int& address_pipe) {
  int ends[2];
  if (pipe(ends) != 0) Die("no pipe");
  const pid_t child = fork();
  if (child < 0) Die("no process");
  if (child > 0) {
    close(ends[0]);
    address_pipe = ends[1];
    return child;
  }
  close(ends[1]);
  alarm(kLimitSeconds);
  std::string address(256, '\0');
  const ssize_t count = read(ends[0], address.data(), address.size());
  if (count <= 0) _exit(1);
  address.resize(static_cast<size_t>(count));
  RunWorker(task, index, address);
  _exit(0);
}

Result<std::vector<double>> Serve(const SumTask& task, const std::vector<int>& pipes) {
  CodeRequest request;
  request.speeds.assign(task.workers, 1);
  request.stragglers = 0;
  request.partitions = task.workers;
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildCode("none", request));
  MOTLEY_ASSIGN_OR_RETURN(const auto loop, UvLoop::Create());
  const auto parallel = MakeTbbParallelFor(task.threads);
  Server server(*loop, task, *parallel, std::move(form));
  MOTLEY_ASSIGN_OR_RETURN(const std::string address, server.Listen());
  for (const int pipe : pipes) {
    if (write(pipe, address.data(), address.size()) < 0) Die("a worker is gone");
    close(pipe);
  }
  loop->Run();
  return std::vector<double>(server.seconds().begin() + task.warmups, server.seconds().end());
}

void Report(const SumTask& task, const std::vector<double>& seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double server_cpu =
      static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
      static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  PrintTimes(task, seconds,
             fmt::format(", \"server_cpu_ms\": {:.3f}",
                         server_cpu * 1e3 / static_cast<double>(task.repetitions + task.warmups)));
}

// Runs the server here, and starts a process for each worker if `local`.
int RunServer(const SumTask& task, bool local) {
  std::vector<int> pipes(local ? task.workers : 0);
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < pipes.size(); ++i) children.push_back(StartWorker(task, i, pipes[i]));
  Result<std::vector<double>> seconds = Serve(task, pipes);
  if (!seconds.ok()) Die(seconds.status().ToString());
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) Die("a worker failed");
  }
  Report(task, *std::move(seconds));
  return 0;
}

// Ends the process unless there is a number for each member, or none.
void CheckCount(const char* option, const std::vector<double>& numbers, uint32_t members) {
  if (numbers.empty() || numbers.size() == members) return;
  Die(fmt::format("{} has {} numbers, and there are {} members", option, numbers.size(), members));
}

int Reduce(SumTask task, MemberTask members, const std::vector<double>& links, uint32_t index) {
  if (!members.addresses.empty()) {
    const auto all = static_cast<uint32_t>(members.addresses.size());
    if (index >= all) Die("--index is not one of the --members");
    if (members.spares >= all) Die("--spares leaves no member with a vector");
    task.workers = all - members.spares;
  }
  const uint32_t all = task.workers + members.spares;
  const bool direct = members.reduce == kDirectSum;
  if (!direct && !(members.shares.empty() && links.empty() && members.spares == 0 &&
                   task.wire == WireFormat::kFloat32)) {
    Die("--shares, --links, --spares and --wire need --reduce direct");
  }
  if (!(members.groups.empty() && members.topology.empty())) {
    const auto found = FindCollective(members.reduce);
    if (!found.ok() || !(*found)->uses_groups)
      Die("--groups and --topology need --reduce hierarchical");
  }
  CheckCount("--shares", members.shares, all);
  CheckCount("--links", links, all);
  if (!links.empty()) members.shares = SharesOver(links, members.spares, task.length);
  if (direct && members.shares.empty()) members.shares.assign(all, 1);
  if (direct && *std::max_element(members.shares.begin(), members.shares.end()) == 0) {
    Die("--shares needs a number that is not 0");
  }
  if (members.addresses.empty()) {
    RunLocalMembers(task, members);
  } else {
    RunMember(task, members, index);
  }
  return 0;
}

void AddMemberOptions(CLI::App& app, SumTask& task, MemberTask& members,
                      std::vector<double>& links) {
  app.add_option("--reduce", members.reduce,
                 "No server: ring, tree, butterfly, hierarchical, direct, or mpi under mpirun");
  app.add_option("--groups", members.groups,
                 "With --reduce hierarchical: such as 0,1/2,3, or \"latency\"; two halves if not "
                 "given")
      ->needs("--reduce");
  app.add_option("--topology", members.topology, "A file with a group of members in each line")
      ->needs("--reduce")
      ->excludes("--groups");
  app.add_option("--shares", members.shares,
                 "With --reduce direct: what each member owns, in proportion; equal if not given")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e9))
      ->needs("--reduce");
  app.add_option("--links", links, "The best shares for members with links of these Mbit/s")
      ->delimiter(',')
      ->check(CLI::Range(0.001, 1e9))
      ->needs("--reduce")
      ->excludes("--shares");
  app.add_option("--spares", members.spares,
                 "With --reduce direct: so many members, the last ones, have no vector")
      ->check(CLI::Range(0U, 64U))
      ->needs("--reduce");
  app.add_option_function<std::string>(
         "--wire", [&task](const std::string& name) { task.wire = *FindWireFormat(name); },
         "With --reduce direct: how vectors travel, as in a job; float32 if not given")
      ->check(CLI::IsMember(WireFormatNames()))
      ->needs("--reduce");
  app.add_option("--members", members.addresses, "Only one member; the addresses of all, in order")
      ->delimiter(',')
      ->needs("--reduce");
}

// mpirun decides how many processes there are, and how they reach each other.
void CheckMpiOptions(const CLI::App& app) {
  for (const char* option : {"--groups", "--topology", "--shares", "--links", "--spares", "--wire",
                             "--members", "--index", "--tcp", "--serve", "--join"}) {
    if (app.count(option) > 0) Die(fmt::format("{} has no meaning with --reduce mpi", option));
  }
}

int Main(int argc, char** argv) {
  SumTask task;
  double megabytes = 100;
  bool tcp = false;
  std::string serve, join;
  uint32_t index = 0;
  MemberTask members;
  std::vector<double> links;
  CLI::App app("Sums vectors of processes at one server, and gives all the sum.", "motley-sum");
  const CLI::Option* workers =
      app.add_option("--workers", task.workers)->check(CLI::Range(1U, 64U));
  app.add_option("--megabytes", megabytes)->check(CLI::Range(0.001, 10000.0));
  app.add_option("--repetitions", task.repetitions)->check(CLI::Range(1U, 100000U));
  app.add_option("--warmups", task.warmups, "Repetitions that come first and are not counted")
      ->check(CLI::Range(0U, 100U));
  app.add_option("--threads", task.threads, "Of the server's decoder")->check(CLI::Range(1U, 64U));
  app.add_flag("--tcp", tcp, "No shared memory");
  app.add_option("--serve", serve, "Only the server, at this address");
  app.add_option("--join", join, "Only a worker of the server at this address")
      ->excludes("--serve");
  AddMemberOptions(app, task, members, links);
  app.add_option("--index", index, "The number of this worker or member, from 0");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  task.length = static_cast<size_t>(megabytes * 1e6 / sizeof(float));
  if (tcp) task.listen = "tcp://127.0.0.1:0";
  if (!serve.empty()) task.listen = serve;
  alarm(kLimitSeconds);
  if (members.reduce == kMpiSum) {
    CheckMpiOptions(app);
    if (workers->empty()) task.workers = 0;
    RunMpiMember(task);
    return 0;
  }
  if (!members.reduce.empty()) return Reduce(task, members, links, index);
  if (join.empty()) return RunServer(task, serve.empty());
  RunWorker(task, index, join);
  return 0;
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // A peer that went away is an error value.
  return motley::Main(argc, argv);
}
