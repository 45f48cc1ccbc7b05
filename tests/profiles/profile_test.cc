// SPDX-License-Identifier: Apache-2.0
#include "profiles/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "test_paths.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

constexpr char kSmall[] = R"(name = "two"
model = "mlp:256"
gradient_bytes = "1MiB"
step_flops = 2.5e9

[[worker]]
name = "slow"
samples_per_second = 100
count = 2

[[worker]]
kind = "cuda"
samples_per_second = 1e4
overhead = "1ms"
jitter = 0.05
memory = "8GiB"
knee_samples = 256
max_samples = 4096
tail = { probability = 0.01, factor = 8 }
link = { latency = "0.2ms", bandwidth = "1Gbit/s" }

[worker.hardware]
vendor = "V"
model = "M 3"
driver = "D"
cores = 4
threads = 8
core_kinds = "2+2"
memory_bandwidth = "12GB/s"
)";

ClusterProfile Parsed(const std::string& text) {
  Result<ClusterProfile> profile = ParseClusterProfile(text, "test.toml");
  EXPECT_TRUE(profile.ok()) << profile.status().ToString();
  return profile.ok() ? *profile : ClusterProfile{};
}

// The error of a text that must not parse.
std::string Error(const std::string& text) {
  const Result<ClusterProfile> profile = ParseClusterProfile(text, "test.toml");
  EXPECT_FALSE(profile.ok()) << text;
  EXPECT_EQ(profile.code(), StatusCode::kDataError);
  return profile.ok() ? "" : profile.status().message();
}

TEST(Profile, ReadsWorkersWithUnitsCountsAndDefaults) {
  const ClusterProfile profile = Parsed(kSmall);
  EXPECT_EQ(profile.name, "two");
  EXPECT_EQ(profile.gradient_bytes, 1048576u);
  EXPECT_EQ(profile.step_flops, 2.5e9);
  ASSERT_EQ(profile.workers.size(), 3u);
  EXPECT_EQ(profile.workers[0].device.name, "slow-0");
  EXPECT_EQ(profile.workers[1].device.name, "slow-1");
  EXPECT_EQ(profile.workers[1].device.kind, "cpu");
  EXPECT_EQ(profile.workers[1].link.bytes_per_second, 0);
  const WorkerProfile& gpu = profile.workers[2];
  EXPECT_EQ(gpu.device.name, "worker-2");
  EXPECT_EQ(gpu.device.samples_per_second, 10000);
  EXPECT_EQ(gpu.device.overhead_seconds, 0.001);
  EXPECT_EQ(gpu.device.memory_bytes, 8ull << 30);
  EXPECT_EQ(gpu.link.latency_seconds, 0.0002);
  EXPECT_EQ(gpu.link.bytes_per_second, 125e6);
  EXPECT_EQ(gpu.link.Down(), gpu.link.Up());
  EXPECT_EQ(profile.model, "mlp:256");
  EXPECT_EQ(gpu.device.knee_samples, 256);
  EXPECT_EQ(gpu.device.max_samples, 4096u);
  EXPECT_EQ(gpu.device.tail_probability, 0.01);
  EXPECT_EQ(gpu.device.tail_factor, 8);
  const HardwareFacts facts = {"V", "M 3", "D", 4, 8, "2+2", 12e9};
  EXPECT_EQ(gpu.device.hardware, facts);
}

TEST(Profile, LinksMayDifferByDirection) {
  const std::string head = "[[worker]]\nsamples_per_second = 1\nlink = ";
  const LinkDirection slow = {0.002, 1e6}, fast = {0.001, 1e7};
  const auto link = [&](const std::string& text) { return Parsed(head + text).workers[0].link; };
  const std::string up = "up = { latency = \"2ms\", bandwidth = \"1MB/s\" }";
  const std::string down = "down = { latency = \"1ms\", bandwidth = \"10MB/s\" }";
  EXPECT_EQ(link("{ " + up + ", " + down + " }").Up(), slow);
  EXPECT_EQ(link("{ " + up + ", " + down + " }").Down(), fast);
  EXPECT_EQ(link("{ latency = \"2ms\", bandwidth = \"1MB/s\", " + down + " }").Up(), slow);
  EXPECT_EQ(link("{ latency = \"1ms\", bandwidth = \"10MB/s\", " + up + " }").Down(), fast);
  EXPECT_EQ(link("{ " + up + " }").Down(), LinkDirection{});
  EXPECT_EQ(link("{ latency = \"2ms\", bandwidth = \"1MB/s\" }").Down(), slow);
}

TEST(Profile, TheServersLinkIsReadOrAsWideAsTheWidestWorkers) {
  const auto rates = [](const std::string& server, const std::string& second) {
    return ServerRatesOf(Parsed(server +
                                "[[worker]]\nsamples_per_second = 1\n"
                                "link = { up = { bandwidth = \"2MB/s\" }, down = { bandwidth = "
                                "\"10MB/s\" } }\n[[worker]]\nsamples_per_second = 1\n" +
                                second));
  };
  const std::string wide = "link = { latency = \"1ms\", bandwidth = \"5MB/s\" }\n";
  EXPECT_EQ(rates("", wide), (ServerRates{5e6, 10e6}));
  EXPECT_EQ(rates("", ""), ServerRates());  // The second worker's has no limit.
  const std::string server = "[server]\nlink = ";
  EXPECT_EQ(rates(server + "{ bandwidth = \"1MB/s\" }\n", wide), (ServerRates{1e6, 1e6}));
  EXPECT_EQ(rates(server + "{ bandwidth = 0 }\n", wide), ServerRates());
  // Up is what it sends, as for a worker.
  EXPECT_EQ(rates(server + "{ up = { bandwidth = \"3MB/s\" }, down = { bandwidth = 0 } }\n", wide),
            (ServerRates{0, 3e6}));
}

TEST(Profile, TheServerHasALinkWithoutLatencyAndNothingElse) {
  const auto error = [](const std::string& server) {
    const auto read = ParseClusterProfile(
        "[server]\n" + server + "\n[[worker]]\nsamples_per_second = 1\n", "here");
    return read.ok() ? std::string("fine") : read.status().ToString();
  };
  EXPECT_NE(error("link = { latency = \"1ms\" }").find("no latency of its own"), std::string::npos);
  EXPECT_NE(error("link = { bandwith = \"1MB/s\" }").find("bandwidth"), std::string::npos);
  EXPECT_NE(error("").find("'link' is missing"), std::string::npos);
  EXPECT_NE(error("samples_per_second = 1").find("unknown key"), std::string::npos);
  EXPECT_NE(error("link = \"1MB/s\"").find("'link' must be"), std::string::npos);
}

TEST(Profile, WhatIsWrittenReadsBackTheSame) {
  const ClusterProfile small = Parsed(kSmall);
  EXPECT_EQ(Parsed(FormatClusterProfile(small)), small);
}

TEST(Profile, OddValuesReadBackTheSame) {
  Random random(3, Stream::kTest);
  for (int round = 0; round < 100; ++round) {
    ClusterProfile profile;
    profile.name = "a \"quoted\" \\ name\n\t\x01 \u00fc";
    profile.gradient_bytes = random.Next64() >> 14;
    profile.step_flops = random.NextDouble() * 1e20;
    WorkerProfile& worker = profile.workers.emplace_back();
    worker.device.name = "";
    worker.device.kind = "opencl";
    worker.device.samples_per_second = 1e-9 + random.NextDouble();
    worker.device.overhead_seconds = random.NextDouble() / 3;
    worker.device.jitter = random.NextDouble();
    worker.device.memory_bytes = random.Next64() >> 2;
    worker.link.latency_seconds = random.NextDouble() / 1000;
    worker.link.bytes_per_second = random.NextDouble() * 1e9;
    if (random.Chance(0.5)) {
      worker.link.down.emplace();
      if (random.Chance(0.5)) worker.link.down->bytes_per_second = 1 + random.NextDouble();
    }
    worker.device.knee_samples = random.NextDouble() * 1000;
    worker.device.max_samples = random.Next64() >> 3;
    worker.device.tail_probability = random.NextDouble();
    worker.device.tail_factor = 1 + random.NextDouble();
    worker.device.hardware.model = "\"M\" \t";
    worker.device.hardware.cores = 1 + static_cast<uint32_t>(random.Below(1000));
    worker.device.hardware.bytes_per_second = random.NextDouble() * 1e10;
    if (random.Chance(0.5)) {
      profile.server = ServerRates{1 + random.NextDouble() * 1e9, 0};
      if (random.Chance(0.5)) profile.server->out = profile.server->in;
      if (random.Chance(0.5)) profile.server->out = 1 + random.NextDouble();
    }
    const std::string text = FormatClusterProfile(profile);
    EXPECT_EQ(Parsed(text), profile) << text;
  }
}

TEST(Profile, UnknownKeysNameTheirPlaceAndWhatWasMeant) {
  EXPECT_EQ(Error("nmae = \"x\"\n[[worker]]\nsamples_per_second = 1\n"),
            "test.toml:1:1: unknown key 'nmae'; did you mean 'name'?");
  EXPECT_EQ(Error("[[worker]]\nsamples_per_second = 1\njiter = 0.1\n"),
            "test.toml:3:1: unknown key 'jiter'; did you mean 'jitter'?");
  EXPECT_THAT(Error("[[worker]]\nsamples_per_second = 1\nlink = { latncy = 1 }\n"),
              HasSubstr("3:10: unknown key 'latncy'; did you mean 'latency'?"));
  EXPECT_THAT(Error("[[wroker]]\nsamples_per_second = 1\n"), HasSubstr("did you mean 'worker'?"));
}

TEST(Profile, WrongValuesNameTheirPlaceAndTheRange) {
  const std::string worker = "[[worker]]\n";
  const std::pair<std::string, std::string> cases[] = {
      {"name = \"empty\"", "no workers"},
      {"worker = 3", "no workers"},
      {"worker = [1]\n", "must be a [[worker]] table"},
      {worker + "name = \"x\"", "'samples_per_second' is missing"},
      {worker + "samples_per_second = 0", "at least 1e-06"},
      {worker + "samples_per_second = -5", "at least 1e-06"},
      {worker + "samples_per_second = nan", "at least 1e-06"},
      {worker + "samples_per_second = 1e-300", "at least 1e-06"},
      {worker + "samples_per_second = inf", "at most"},
      {worker + "samples_per_second = \"fast\"", "must be a number"},
      {worker + "samples_per_second = 1\nname = 5", "must be a text"},
      {worker + "samples_per_second = 1\nkind = \"cdua\"", "did you mean 'cuda'?"},
      {worker + "samples_per_second = 1\ncount = 0", "from 1 to 100000"},
      {worker + "samples_per_second = 1\ncount = 100001", "from 1 to 100000"},
      {worker + "samples_per_second = 1\ncount = 1.5", "from 1 to 100000"},
      {worker + "samples_per_second = 1\noverhead = \"1 hour\"", "not a duration"},
      {worker + "samples_per_second = 1\noverhead = -1", "at least 0"},
      {worker + "samples_per_second = 1\noverhead = \"2000min\"", "at most"},
      {worker + "samples_per_second = 1\nmemory = -1", "at least 0"},
      {worker + "samples_per_second = 1\nmemory = \"1e30TB\"", "at most"},
      {"gradient_bytes = 9223372036854775807\n" + worker + "samples_per_second = 1",
       "'gradient_bytes' is 9.223372036854776e+18; it must be at least 0 and at most "
       "1125899906842624"},
      {"gradient_bytes = 1e16\n" + worker + "samples_per_second = 1", "is 1e+16; it must be"},
      {"gradient_bytes = \"1025TiB\"\n" + worker + "samples_per_second = 1", "at most 1024TiB"},
      {worker + "samples_per_second = 1\njitter = 11", "at most 10"},
      {worker + "samples_per_second = 1\nlink = 5", "'link' must be"},
      {worker + "samples_per_second = 1\nlink = { down = 5 }", "'down' must be"},
      {worker + "samples_per_second = 1\nlink = { up = { latncy = 1 } }",
       "did you mean 'latency'?"},
      {worker + "samples_per_second = 1\nknee_samples = -1", "at least 0"},
      {worker + "samples_per_second = 1\nknee_sampels = 1", "did you mean 'knee_samples'?"},
      {worker + "samples_per_second = 1\nmax_samples = 0", "from 1 to"},
      {worker + "samples_per_second = 1\ntail = 0.1", "'tail' must be"},
      {worker + "samples_per_second = 1\ntail = { probability = 0.1 }", "'factor' is missing"},
      {worker + "samples_per_second = 1\ntail = { probability = 2, factor = 2 }", "at most 1"},
      {worker + "samples_per_second = 1\ntail = { probability = 1, factor = 0.5 }", "at least 1"},
      {worker + "samples_per_second = 1\nlink = { bandwidth = 1e-9 }", "0 for no limit"},
      {worker + "samples_per_second = 1\nlink = { up = { bandwidth = \"1bit/s\" } }",
       "0.125 bytes per second"},
      {worker + "samples_per_second = 1\nhardware = \"x\"", "'hardware' must be"},
      {worker + "samples_per_second = 1\nhardware = { coers = 4 }", "did you mean 'cores'?"},
      {worker + "samples_per_second = 1\nhardware = { cores = -4 }", "from 1 to"},
      {worker + "samples_per_second = 1\nlink = { bandwidth = \"1ms\" }", "not a rate"},
      {worker + "samples_per_second = 1\ncount = 99000\n" + worker +
           "samples_per_second = 1\ncount = 1001",
       "more than 100000 workers"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Error(text), HasSubstr(message)) << text;
    EXPECT_THAT(Error(text), HasSubstr("test.toml:")) << text;
  }
}

TEST(Profile, BrokenTomlNamesLineAndColumn) {
  EXPECT_THAT(Error("name = \"x\"\nworker = [\n"), HasSubstr("test.toml:2:12:"));
  EXPECT_THAT(Error("name = \"x\"\nname = \"y\"\n"), HasSubstr("test.toml:2:"));
  EXPECT_THAT(Error("name = \"\xff\xfe\"\n"), HasSubstr("test.toml:1:"));
}

// No bytes may do more than fail: cut and damaged files of every kind.
TEST(Profile, DamagedFilesFailCleanly) {
  const std::string whole = kSmall;
  Random random(9, Stream::kTest);
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    (void)ParseClusterProfile(whole.substr(0, cut), "cut");
    std::string text = whole;
    for (int damage = 0; damage < 3; ++damage) {
      const size_t at = random.Below(text.size());
      text[at] = static_cast<char>(random.Below(256));
    }
    const Result<ClusterProfile> profile = ParseClusterProfile(text, "damaged");
    if (!profile.ok()) {
      EXPECT_EQ(profile.code(), StatusCode::kDataError);
    }
  }
}

TEST(Profile, AMissingFileSaysWhich) {
  const Result<ClusterProfile> profile = LoadClusterProfile("/nonexistent/cluster.toml");
  EXPECT_EQ(profile.code(), StatusCode::kNotFound);
  EXPECT_THAT(profile.status().message(), HasSubstr("/nonexistent/cluster.toml"));
}

TEST(Profile, EverySampleFileLoads) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MOTLEY_SOURCE_DIR "/profiles")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const Result<ClusterProfile> profile = LoadClusterProfile(entry.path().string());
    ASSERT_TRUE(profile.ok()) << profile.status().ToString();
    EXPECT_EQ(profile->name, entry.path().stem().string());
    EXPECT_GE(profile->workers.size(), 2u);
    // So that they can be simulated without a model and its data.
    EXPECT_GT(profile->gradient_bytes, 0u) << entry.path();
    EXPECT_GT(profile->step_flops, 0) << entry.path();
  }
  EXPECT_GE(files, 6u);
}

TEST(Profile, TheMixedLabHasTheSpeedsOfThePaper) {
  const auto profile = LoadClusterProfile(MOTLEY_SOURCE_DIR "/profiles/lab-mixed.toml");
  ASSERT_TRUE(profile.ok());
  std::vector<double> speeds;
  for (const WorkerProfile& worker : profile->workers) {
    speeds.push_back(worker.device.samples_per_second / 100);
  }
  EXPECT_EQ(speeds, (std::vector<double>{2, 2, 4, 4, 8, 8, 8, 12}));
}

}  // namespace
}  // namespace motley
