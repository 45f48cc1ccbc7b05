// SPDX-License-Identifier: Apache-2.0
#include "cli/local_job.h"

#include <signal.h>
#include <uv.h>

#include <array>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "api/local_workers.h"
#include "api/observers.h"
#include "fmt/core.h"
#include "runtime/server_node.h"
#include "transport/tcp_transport.h"

namespace motley {
namespace {

constexpr Duration kGrace = std::chrono::seconds(2);

std::string FreshToken() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

uint32_t FreshJobId() {
  std::random_device random;
  uint32_t id = 0;
  while (id == 0) id = random();
  return id;
}

class UvLocalJob final : public LocalJob {
 public:
  UvLocalJob(UvLoop& loop, JobPlan plan, LocalJobOptions options, JobObserver& observer);
  ~UvLocalJob() override;

  Status Open(Device& device, const DataSource& data);
  Result<LocalJobResult> Run() override;

 private:
  // Who joined, and whether training began.
  struct StartWatch final : JobObserver {
    void OnWorkerJoined(WorkerId worker, const std::string&) override { joined.insert(worker); }
    void OnStepOpened(StepId, const CodeForm&, Time) override { started = true; }
    std::set<WorkerId> joined;
    bool started = false;
  };

  void Strike(const Fault& fault) {
    observers_.OnNotice(fmt::format("fault: {}", FormatFault(fault)));
    cluster_->Strike(fault);
  }
  void OnExited(WorkerId worker, const std::string& how);
  void OnFinished(JobResult result);
  void WatchSignals();
  void OnSignal(int number);

  UvLoop& loop_;
  JobPlan plan_;
  LocalJobOptions options_;
  StartWatch start_;
  FaultScript faults_;
  ObserverList observers_;
  std::string address_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ServerNode> server_;
  std::unique_ptr<LocalCluster> cluster_;
  std::array<uv_signal_t, 2> signals_{};
  int open_signals_ = 0;
  Status failure_;  // Why this end stopped the job.
  bool finished_ = false;
  LocalJobResult result_;
};

UvLocalJob::UvLocalJob(UvLoop& loop, JobPlan plan, LocalJobOptions options, JobObserver& observer)
    : loop_(loop),
      plan_(std::move(plan)),
      options_(std::move(options)),
      faults_(plan_.faults, [this](const Fault& fault) { Strike(fault); }) {
  observers_.Add(&start_);
  observers_.Add(&observer);
  observers_.Add(&faults_);
  plan_.job.token = FreshToken();
  plan_.job.job_id = FreshJobId();
}

UvLocalJob::~UvLocalJob() {
  cluster_.reset();
  server_.reset();
  transport_.reset();
  for (uv_signal_t& signal : signals_) {
    if (signal.data == nullptr) continue;
    uv_close(reinterpret_cast<uv_handle_t*>(&signal),
             [](uv_handle_t* handle) { --static_cast<UvLocalJob*>(handle->data)->open_signals_; });
  }
  while (open_signals_ > 0) uv_run(loop_.handle(), UV_RUN_ONCE);
}

Status UvLocalJob::Open(Device& device, const DataSource& data) {
  transport_ = MakeTcpTransport(loop_.handle());
  MOTLEY_ASSIGN_OR_RETURN(
      server_, ServerNode::Create(Env{loop_, *transport_, device}, plan_.job, data, &observers_));
  MOTLEY_ASSIGN_OR_RETURN(address_, transport_->Listen(options_.listen));
  return Status::Ok();
}

Result<LocalJobResult> UvLocalJob::Run() {
  LocalClusterOptions options;
  options.server = address_;
  options.token = plan_.job.token;
  options.workers = plan_.job.workers;
  options.threads = options_.threads;
  options.speeds = plan_.speeds;
  options.sample_time = options_.sample_time;
  WatchSignals();
  MOTLEY_ASSIGN_OR_RETURN(
      cluster_,
      LocalCluster::Start(loop_, options, [this](WorkerId worker, const std::string& how) {
        OnExited(worker, how);
      }));
  server_->Start([this](JobResult result) { OnFinished(std::move(result)); });
  loop_.Run();
  return std::move(result_);
}

void UvLocalJob::OnExited(WorkerId worker, const std::string& how) {
  // Once training began the server itself misses them; before, it would wait for others to come.
  if (start_.started || finished_) return;
  if (cluster_->running() == 0) {
    const std::string last_exit = fmt::format("the process of worker {} {}", worker, how);
    observers_.OnNotice(last_exit + " before training began");
    failure_ = Status::Unavailable(fmt::format("no worker is left to start with: {}", last_exit));
    return server_->Stop(failure_.message());
  }
  observers_.OnNotice(
      fmt::format("worker {}'s process ended before {} ({}); starting without it", worker,
                  start_.joined.contains(worker) ? "training began" : "it joined", how));
  server_->DoNotExpect(worker);
}

void UvLocalJob::OnFinished(JobResult result) {
  finished_ = true;
  result_.job = std::move(result);
  if (!failure_.ok()) result_.job.status = failure_;
  cluster_->Shutdown(kGrace, [this] { loop_.Stop(); });
}

void UvLocalJob::WatchSignals() {
  constexpr std::array<int, 2> kNumbers = {SIGINT, SIGTERM};
  for (size_t i = 0; i < signals_.size(); ++i) {
    uv_signal_init(loop_.handle(), &signals_[i]);
    signals_[i].data = this;
    ++open_signals_;
    uv_signal_start(
        &signals_[i],
        [](uv_signal_t* handle, int number) {
          static_cast<UvLocalJob*>(handle->data)->OnSignal(number);
        },
        kNumbers[i]);
  }
}

void UvLocalJob::OnSignal(int number) {
  const bool again = result_.signal != 0 || finished_;
  result_.signal = number;
  // Without a cluster the workers are still being started, or are killed as that failed.
  if (again && cluster_ == nullptr) return;
  if (again) return cluster_->Shutdown(Duration::zero(), [this] { loop_.Stop(); });
  server_->Stop(number == SIGINT ? "interrupted" : "terminated");
}

}  // namespace

Result<std::unique_ptr<LocalJob>> LocalJob::Create(UvLoop& loop, Device& device, JobPlan plan,
                                                   const DataSource& data, JobObserver& observer,
                                                   const LocalJobOptions& options) {
  auto job = std::make_unique<UvLocalJob>(loop, std::move(plan), options, observer);
  MOTLEY_RETURN_IF_ERROR(job->Open(device, data));
  return std::unique_ptr<LocalJob>(std::move(job));
}

}  // namespace motley
