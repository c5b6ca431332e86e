// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Two hosts that serve a partition each, and have no fault.
std::vector<ExaminedHost> Healthy() {
  std::vector<ExaminedHost> hosts(2);
  for (int i = 0; i < 2; i++) {
    ExaminedHost& host = hosts[static_cast<size_t>(i)];
    host.name = host.server.address = "10.0.0." + std::to_string(i + 1);
    host.server.port = 30050;
    host.server.among_others = true;
    host.server.num_parts = 2;
    host.server.insecure = true;
    HostFacts facts;
    facts.kernel = "6.1.0-18-amd64";
    facts.memory_total = 16 * kGiB;
    facts.memory_available = 8 * kGiB;
    facts.descriptors = 1 << 20;
    facts.shmem_pages = "never";
    facts.memory_dir_free = facts.state_dir_free = 4 * kGiB;
    facts.graphd_version = "graphd " GRAPHD_VERSION;
    facts.part_config = "/srv/g.json";
    facts.graph = "g";
    facts.graph_checksum = "abc";
    facts.num_parts = 2;
    facts.partitions = {{static_cast<PartId>(i), kGiB, ""}};
    host.facts = facts;
  }
  return hosts;
}

// Returns "host severity: text" for each finding.
std::vector<std::string> Found(const std::vector<ExaminedHost>& hosts) {
  std::vector<std::string> texts;
  for (const Finding& finding : Diagnose(hosts)) {
    const bool is_fault = finding.severity == Finding::Severity::kFault;
    texts.push_back(std::to_string(finding.host) + (is_fault ? " fault: " : " warning: ") +
                    finding.text);
    EXPECT_NE(finding.remedy.empty(), hosts[finding.host].facts.has_value()) << finding.text;
  }
  return texts;
}

TEST(Diagnosis, HealthyHostsHaveNoFindings) { EXPECT_THAT(Found(Healthy()), IsEmpty()); }

TEST(Diagnosis, AHostThatDoesNotAnswerIsAFault) {
  auto hosts = Healthy();
  hosts[1].facts.reset();
  hosts[1].error = "it can't be reached";
  EXPECT_THAT(Found(hosts), ElementsAre("1 fault: it can't be reached"));
}

TEST(Diagnosis, ClocksMayDifferByASecond) {
  auto hosts = Healthy();
  hosts[0].clock_ahead = -0.9;
  hosts[1].clock_ahead = -1.5;
  EXPECT_THAT(Found(hosts), ElementsAre("1 warning: its clock is 1.5 s behind"));
  hosts[1].clock_ahead = 301;
  EXPECT_THAT(Found(hosts), ElementsAre("1 fault: its clock is 301.0 s ahead"));
}

TEST(Diagnosis, PartitionsMustFitIntoTheMemoryOfTheirMachine) {
  auto hosts = Healthy();
  hosts[0].facts->partitions[0].bytes = 9 * kGiB;
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 fault: its partitions need 9.0 GiB")));
  hosts[0].facts->is_running = true;  // it has loaded them
  hosts[0].facts->running_graph = "g";
  hosts[0].facts->running_parts = 2;
  EXPECT_THAT(Found(hosts), IsEmpty());
  // Two daemons on one machine need the sum.
  hosts = Healthy();
  hosts[1].server.address = hosts[0].server.address;
  for (auto& host : hosts) host.facts->partitions[0].bytes = 5 * kGiB;
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 fault: its partitions need 10.0 GiB")));
}

TEST(Diagnosis, DescriptorsDisksAndTmpfsHaveLeastSizes) {
  auto hosts = Healthy();
  hosts[0].facts->descriptors = 1024;
  hosts[0].facts->state_dir_free = 10 << 20;
  hosts[0].facts->memory_dir_free = 64 << 20;
  hosts[1].facts->state_dir_free = 500 << 20;
  EXPECT_THAT(Found(hosts),
              ElementsAre(HasSubstr("0 fault: a process may have 1024 descriptors"),
                          HasSubstr("0 fault: --state_dir"), HasSubstr("0 warning: the tmpfs"),
                          HasSubstr("1 warning: --state_dir")));
  hosts = Healthy();
  hosts[0].facts->state_dir_error = "can't write";
  hosts[1].facts->memory_dir_error = "can't write";
  EXPECT_THAT(Found(hosts),
              ElementsAre(HasSubstr("0 fault: --state_dir"), HasSubstr("1 fault: --memory_dir")));
}

TEST(Diagnosis, HugePagesAreNamedWhereTheKernelRefusesThem) {
  auto hosts = Healthy();
  hosts[0].facts->shmem_pages = "deny";
  hosts[1].facts->kernel = "5.10.0";  // it can't be asked for single ones
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 warning: its kernel (6.1.0-18-amd64)"),
                                        HasSubstr("1 warning: its kernel (5.10.0)")));
  hosts[0].facts->shmem_pages = hosts[1].facts->shmem_pages = "advise";
  EXPECT_THAT(Found(hosts), IsEmpty());
}

TEST(Diagnosis, ProgramsPortsKeysAndPeersAreFaultsOfTheHost) {
  auto hosts = Healthy();
  hosts[0].facts->graphd_version = "graphd 0.0.1";
  hosts[0].facts->port_error = "port 30050 is in use by another program (nc, pid 3)";
  hosts[1].facts->graphd_error = "can't run /usr/bin/graphd";
  hosts[1].facts->keys_error = "/etc/graphd/keys/x/ca.pem does not exist";
  hosts[1].facts->unreachable = {"10.0.0.1:30050: No route to host"};
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("is 'graphd 0.0.1'"), HasSubstr("(nc, pid 3)"),
                                        HasSubstr("can't run /usr/bin/graphd"), HasSubstr("ca.pem"),
                                        HasSubstr("it can't reach 10.0.0.1:30050: No route")));
}

TEST(Diagnosis, ServersThatOthersReachNeedAnAddressAndAGuard) {
  auto hosts = Healthy();
  hosts[0].server.address = "vm";
  hosts[0].facts->is_loopback = true;
  hosts[1].server.insecure = false;
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 fault: vm is a loopback address on this host"),
                                        HasSubstr("1 fault: nothing says who may connect")));
  hosts[0].server.among_others = false;
  hosts[1].server.keys = "default";
  EXPECT_THAT(Found(hosts), IsEmpty());
  // Without a guard, a server of this machine has only its Unix socket.
  hosts[0].facts->port_error = "port 30050 is in use by another program";
  hosts[0].server.insecure = false;
  EXPECT_THAT(Found(hosts), IsEmpty());
  hosts[0].server.insecure = true;
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 fault: no server can listen at vm:30050")));
}

TEST(Diagnosis, AllHostsMustHaveTheSameGraph) {
  auto hosts = Healthy();
  hosts.push_back(hosts[1]);
  hosts[2].name = "10.0.0.3";
  hosts[0].facts->graph_checksum = "other";
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("0 fault: /srv/g.json describes another graph, "
                                                  "'g', than that of 10.0.0.2")));
  hosts = Healthy();
  hosts[0].facts->num_parts = 4;
  hosts[0].facts->part_config_error = "";
  hosts[1].facts->partitions[0].error = "part1/graph.seg does not exist";
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("has 4 partitions, and ip_config 2 lines"),
                                        HasSubstr("1 fault: part1/graph.seg")));
  hosts = Healthy();
  hosts[0].facts->part_config_error = "/srv/g.json does not exist";
  hosts[0].facts->graph_checksum.clear();
  EXPECT_THAT(Found(hosts), ElementsAre("0 fault: /srv/g.json does not exist"));
}

TEST(Diagnosis, AServerThatRunsWithAnotherGraphIsAFault) {
  auto hosts = Healthy();
  hosts[0].facts->is_running = true;
  hosts[0].facts->running_graph = "other";
  hosts[0].facts->running_parts = 2;
  EXPECT_THAT(Found(hosts), ElementsAre(HasSubstr("runs with graph 'other' in 2 partitions")));
  hosts[0].facts->running_graph = "g";
  EXPECT_THAT(Found(hosts), IsEmpty());
}

TEST(HostFacts, CrossToGraphctlAsJson) {
  const HostFacts facts = *Healthy()[1].facts;
  const nlohmann::json json = facts;
  const nlohmann::json again = json.get<HostFacts>();
  EXPECT_EQ(json, again);
  EXPECT_EQ(again["partitions"][0]["part"], 1);
  EXPECT_THROW(nlohmann::json::object().get<HostFacts>(), nlohmann::json::exception);
}

TEST(Diagnosis, OfAHostThatOnlyComputesAsksForNoServer) {
  std::vector<ExaminedHost> hosts = Healthy();
  ExaminedHost& last = hosts.emplace_back();
  last.name = last.server.address = "10.0.0.9";
  last.server.among_others = true;
  last.only_trainers = true;
  last.facts = HostFacts();
  last.facts->descriptors = 1 << 20;
  EXPECT_THAT(Found(hosts), IsEmpty());
  last.facts->unreachable = {"10.0.0.1:30050: no answer within 3 seconds"};
  last.facts->keys_error = "no keys";
  EXPECT_THAT(Found(hosts),
              ElementsAre("2 fault: no keys", HasSubstr("2 fault: it can't reach 10.0.0.1:30050")));
}

TEST(HostFacts, OfAHostThatOnlyComputesAreThoseOfItsMachineAndItsKeys) {
  ServerSpec server;
  server.server_name = "no_such_server";
  server.keys = "/no/such/keys";
  const HostFacts facts = CollectTrainerFacts(server, {"no-such-host.invalid:1"});
  EXPECT_GT(facts.memory_available, 0u);
  EXPECT_GT(facts.descriptors, 0u);
  EXPECT_GT(facts.clock, 1.7e9);
  EXPECT_THAT(facts.keys_error, HasSubstr("/no/such/keys"));
  EXPECT_THAT(facts.unreachable, ElementsAre(HasSubstr("can't be resolved")));
  EXPECT_EQ(facts.graphd_error, "");
}

TEST(HostFacts, AreThoseOfThisMachine) {
  ServerSpec server;
  server.server_name = "no_such_server";
  server.address = "127.0.0.1";
  server.graphd = "/no/such/graphd";
  server.state_dir = "/etc/passwd/state";
  server.part_config = "/no/such.json";
  const HostFacts facts = CollectHostFacts(server, {"127.0.0.1:1"});
  EXPECT_GT(facts.memory_available, 0u);
  EXPECT_GE(facts.memory_total, facts.memory_available);
  EXPECT_GT(facts.descriptors, 0u);
  EXPECT_GT(facts.clock, 1.7e9);
  EXPECT_EQ(facts.port_error, "");  // port 0 is always free
  EXPECT_THAT(facts.unreachable, IsEmpty());
  EXPECT_THAT(facts.graphd_error, HasSubstr("/no/such/graphd"));
  EXPECT_TRUE(facts.is_loopback);
  // A program that prints without end is not waited for.
  const testing::ScratchDirectory scratch;
  server.graphd = scratch / "endless";
  WriteFileAtomically(server.graphd, "#!/bin/sh\nexec yes graphd\n");
  EXPECT_EQ(::chmod(server.graphd.c_str(), 0755), 0);
  EXPECT_EQ(CollectHostFacts(server, {}).graphd_version, "graphd");
  EXPECT_THAT(facts.state_dir_error, HasSubstr("/etc/passwd is not a directory"));
  EXPECT_THAT(facts.part_config_error, HasSubstr("/no/such.json"));
}

}  // namespace
}  // namespace graphd::ctl
