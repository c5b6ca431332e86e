// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/requests/job_registry.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Peer kFromHere{false, 0, 1000, {}, "127.0.0.1:5"};
const Peer kFromAfar{false, 0, std::nullopt, {}, "10.0.0.1:5"};

// Begins a job, and returns what the log says about it.
std::string WarningOf(const std::string& secret, const Peer& peer) {
  JobRegistry registry(false, [] {});
  JobMember member;
  member.job_id = "a";
  member.secret = secret;
  member.world_size = 2;
  ::testing::internal::CaptureStderr();
  const auto first = registry.Join(member, peer);
  member.rank = 1;
  const auto second = registry.Join(member, peer);
  return ::testing::internal::GetCapturedStderr();
}

TEST(JobCredentials, AJobThatAnyClientCanJoinIsNamedInTheLog) {
  const std::string warning = WarningOf("", kFromAfar);
  EXPECT_THAT(warning, AllOf(HasSubstr("warning job a of 10.0.0.1:5 has no secret"),
                             HasSubstr("set GRAPHD_JOB_SECRET to the same text")));
  EXPECT_EQ(warning.find("has no secret"), warning.rfind("has no secret")) << "said once";
}

TEST(JobCredentials, AJobWithASecretOrAKnownOwnerNeedsNoWarning) {
  EXPECT_THAT(WarningOf("secret", kFromAfar), IsEmpty());
  EXPECT_THAT(WarningOf("", kFromHere), IsEmpty());
  Peer certified = kFromAfar;
  certified.certificate = "alice";
  EXPECT_THAT(WarningOf("", certified), IsEmpty());
  Peer insider = kFromAfar;  // the holders of a server's shared secret trust one another
  insider.has_secret = true;
  EXPECT_THAT(WarningOf("", insider), IsEmpty());
}

}  // namespace
}  // namespace graphd
