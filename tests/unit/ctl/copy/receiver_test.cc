// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ctl/copy/protocol.h"
#include "ctl/hosts/frame_reader.h"
#include "graphd/error.h"

// Counts the calls of the C library's function of this name, which does the same.
static int syncs = 0;
int syncfs(int fd) noexcept {
  syncs++;
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}

namespace graphd::ctl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

std::string SumOf(const std::string& text) {
  Checksum sum;
  sum.Update(std::as_bytes(std::span(text)));
  return ChecksumText(sum.Digest());
}

std::string Read(const fs::path& path) { return ReadTextFile(path.string()); }

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  WriteFileAtomically(path.string(), text);
}

// A workspace in its own directory, with a file beside it that no copy may touch.
class ReceiverTest : public ::testing::Test {
 protected:
  ReceiverTest() {
    std::string name = (fs::temp_directory_path() / "receiver-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    top_ = name;
    ws_ = top_ / "ws";
    Write(top_ / "outside" / "secret", "untouched");
  }
  ~ReceiverTest() override {
    EXPECT_EQ(Read(top_ / "outside" / "secret"), "untouched");
    EXPECT_EQ(std::distance(fs::directory_iterator(top_ / "outside"), fs::directory_iterator()), 1);
    fs::remove_all(top_);
  }

  void Say(const json& header, const std::string& payload = {}) {
    receiver_->OnFrame(header, payload);
  }
  void Begin() {
    answers_.clear();
    receiver_.emplace(
        [this](const std::string& frame) {
          FrameReader([this](const json& header, std::string) { answers_.push_back(header); },
                      [](const std::string&) { FAIL(); })
              .Feed(frame);
        },
        0.05);
    Say({{"t", "copy"}, {"version", GRAPHD_VERSION}, {"workspace", ws_.string()}, {"timeout", 0u}});
  }
  void Want(const std::string& path, const std::string& text, unsigned mode = 0644) {
    Say({{"t", "want"},
         {"path", path},
         {"size", text.size()},
         {"mode", mode},
         {"xxh3", SumOf(text)}});
  }
  void List() { Say({{"t", "list"}}); }
  void Put(unsigned file, unsigned offset = 0) {
    Say({{"t", "put"}, {"file", file}, {"offset", offset}});
  }
  void Data(const std::string& bytes) { Say({{"t", "data"}}, bytes); }
  void Finish(bool verify = false) { Say({{"t", "finish"}, {"verify", verify}}); }

  // The answers by kind: "same", "lacks", "stored", ...
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const json& answer : answers_) kinds.push_back(answer["t"]);
    return kinds;
  }
  template <class F>
  std::string ErrorOf(ErrorCode code, F&& act) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  fs::path top_, ws_;
  std::optional<Receiver> receiver_;
  std::vector<json> answers_;
};

TEST_F(ReceiverTest, SyncsFilesThatAKilledCopyHasLeft) {
  Write(ws_ / "there", "all of it");
  Begin();
  Want("there", "all of it");
  List();
  syncs = 0;
  Finish();
  EXPECT_TRUE(receiver_->finished());
  EXPECT_EQ(syncs, 1);
}

TEST_F(ReceiverTest, StoresFilesOfAnySizeWithTheirPermissions) {
  Begin();
  Want("a/b/run.sh", "hello", 0755);
  Want("empty", "", 0600);
  List();
  Put(0);
  Data("hel");
  EXPECT_FALSE(fs::exists(ws_ / "a/b/run.sh")) << "it has its name only when it is whole";
  Data("lo");
  Put(1);
  EXPECT_FALSE(receiver_->finished());
  Finish(true);
  EXPECT_TRUE(receiver_->finished());
  EXPECT_THAT(Kinds(),
              ::testing::ElementsAre("lacks", "lacks", "listed", "stored", "stored", "finished"));
  EXPECT_EQ(Read(ws_ / "a/b/run.sh"), "hello");
  EXPECT_EQ(fs::status(ws_ / "a/b/run.sh").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(ws_ / "empty").permissions(), fs::perms(0600));
  EXPECT_FALSE(fs::exists(ws_ / "a/b/.run.sh.partial"));
}

TEST_F(ReceiverTest, EqualFilesAreKeptAndDifferentFilesAreReplaced) {
  Write(ws_ / "same", "12345");
  Write(ws_ / "other", "12345");
  Write(ws_ / "longer", "123456");
  const auto before = fs::last_write_time(ws_ / "same");
  Begin();
  Want("same", "12345", 0755);
  Want("other", "12x45");
  Want("longer", "12345");
  List();
  EXPECT_THAT(Kinds(), ::testing::ElementsAre("same", "lacks", "lacks", "listed"));
  EXPECT_EQ(fs::status(ws_ / "same").permissions(), fs::perms(0755));
  Put(1);
  Data("12x45");
  Put(2);
  Data("12345");
  Finish();
  EXPECT_EQ(Read(ws_ / "other"), "12x45");
  EXPECT_EQ(Read(ws_ / "longer"), "12345");
  EXPECT_EQ(fs::last_write_time(ws_ / "same"), before);
}

TEST_F(ReceiverTest, AnInterruptedFileContinuesWhereItStopped) {
  Begin();
  Want("d/f", "0123456789");
  List();
  Put(0);
  Data("0123");
  receiver_.reset();
  Begin();
  Want("d/f", "0123456789");
  List();
  EXPECT_EQ(answers_[0]["have"], 4);
  EXPECT_EQ(answers_[0]["xxh3"], SumOf("0123"));
  Put(0, 4);
  Data("456789");
  Finish();
  EXPECT_EQ(Read(ws_ / "d/f"), "0123456789");
}

TEST_F(ReceiverTest, APartialFileWithOtherContentCanBeOverwritten) {
  Write(ws_ / ".f.partial", "xxxx");
  Begin();
  Want("f", "0123");
  List();
  EXPECT_EQ(answers_[0]["have"], 4);
  Put(0);
  Data("0123");
  EXPECT_EQ(Read(ws_ / "f"), "0123");
}

TEST_F(ReceiverTest, APartialFileThatIsTooLongIsNotUsed) {
  Write(ws_ / ".f.partial", "012345");
  Begin();
  Want("f", "0123");
  List();
  EXPECT_EQ(answers_[0]["have"], 0);
  Put(0);
  Data("0123");
  EXPECT_EQ(Read(ws_ / "f"), "0123");
}

TEST_F(ReceiverTest, BytesWithAWrongChecksumAreDiscarded) {
  Write(ws_ / "f", "old");
  Begin();
  Want("f", "0123");
  List();
  Put(0);
  EXPECT_THAT(ErrorOf(ErrorCode::kCorrupt, [&] { Data("01x3"); }), HasSubstr((ws_ / "f").string()));
  EXPECT_EQ(Read(ws_ / "f"), "old");
  EXPECT_FALSE(fs::exists(ws_ / ".f.partial"));
}

TEST_F(ReceiverTest, VerifyingReadsTheDiskAgain) {
  Begin();
  Want("f", "0123");
  List();
  Put(0);
  Data("0123");
  Write(ws_ / "f", "01x3");
  EXPECT_THAT(ErrorOf(ErrorCode::kCorrupt, [&] { Finish(true); }), HasSubstr("read again"));
}

TEST_F(ReceiverTest, PathsThatLeaveTheWorkspaceAreRejected) {
  for (const std::string path : {"../outside/x", "a/../../outside/x", "/etc/x", "", "."}) {
    Begin();
    ErrorOf(ErrorCode::kInvalid, [&] {
      Want(path, "x");
      List();
    });
  }
}

TEST_F(ReceiverTest, SymbolicLinksAreNotFollowed) {
  fs::create_directories(ws_);
  fs::create_directory_symlink(top_ / "outside", ws_ / "link");
  fs::create_symlink(top_ / "outside" / "secret", ws_ / "file");
  fs::create_symlink(top_ / "outside" / "new", ws_ / ".f.partial");
  for (const std::string path : {"link/x", "link/secret", "file", "f"}) {
    Begin();
    EXPECT_THAT(ErrorOf(ErrorCode::kDenied,
                        [&] {
                          Want(path, "x");
                          List();
                        }),
                HasSubstr("symbolic link"));
  }
}

TEST_F(ReceiverTest, ALinkCreatedAfterTheListingIsNotFollowed) {
  Begin();
  Want("d/f", "x");
  Want("g", "x");
  List();
  fs::create_directory_symlink(top_ / "outside", ws_ / "d");
  ErrorOf(ErrorCode::kDenied, [&] { Put(0); });
  Put(1);
  fs::create_symlink(top_ / "outside" / "secret", ws_ / "g");
  ErrorOf(ErrorCode::kDenied, [&] { Data("x"); });
}

TEST_F(ReceiverTest, DirectoriesAndFilesDoNotReplaceEachOther) {
  Write(ws_ / "a/b", "x");
  Begin();
  EXPECT_THAT(ErrorOf(ErrorCode::kExists,
                      [&] {
                        Want("a", "x");
                        List();
                      }),
              HasSubstr("not a regular file"));
  Begin();
  EXPECT_THAT(ErrorOf(ErrorCode::kExists,
                      [&] {
                        Want("a/b/c", "x");
                        List();
                      }),
              HasSubstr("not a directory"));
}

TEST_F(ReceiverTest, MoreThanTheFreeSpaceIsRejectedBeforeAnythingIsWritten) {
  Begin();
  Say({{"t", "want"},
       {"path", "data/big"},
       {"size", uint64_t{1} << 43},
       {"mode", 0644u},
       {"xxh3", SumOf("")}});
  EXPECT_THAT(ErrorOf(ErrorCode::kOverloaded, [&] { List(); }),
              AllOf(HasSubstr((ws_ / "data").string()), HasSubstr("8796093022208 bytes"),
                    HasSubstr("are free")));
  EXPECT_FALSE(fs::exists(ws_ / "data"));
}

TEST_F(ReceiverTest, OnlyOneCopyAtATimeUsesTheWorkspace) {
  Begin();
  EXPECT_THAT(ErrorOf(ErrorCode::kExists, [&] { const Workspace second(ws_.string(), 0.05); }),
              HasSubstr("another graphctl copy"));
  receiver_.reset();
  const Workspace third(ws_.string(), 0.05);
}

TEST_F(ReceiverTest, UnexpectedFramesAreRejected) {
  Begin();
  for (const char* kind : {"copy", "put", "data", "finish", "", "nonsense"}) {
    ErrorOf(ErrorCode::kInvalid, [&] { Say({{"t", kind}}, "x"); });
  }
  Want("f", "0123");
  List();
  ErrorOf(ErrorCode::kInvalid, [&] { Finish(); });  // f does not exist
  for (const char* kind : {"want", "list", "data"}) {
    ErrorOf(ErrorCode::kInvalid, [&] { Say({{"t", kind}}, "x"); });
  }
  Put(0);
  ErrorOf(ErrorCode::kInvalid, [&] { Put(0); });
  ErrorOf(ErrorCode::kInvalid, [&] { Finish(); });
}

TEST_F(ReceiverTest, InvalidNumbersAreRejected) {
  Begin();
  for (const json& size : {json(-1), json("4"), json(1.5), json(uint64_t{1} << 60), json()}) {
    ErrorOf(ErrorCode::kInvalid, [&] {
      Say({{"t", "want"}, {"path", "f"}, {"size", size}, {"mode", 0644u}, {"xxh3", SumOf("")}});
    });
  }
  for (const json& sum : {json("xyz"), json("0123456789abcdeg"), json(5), json("")}) {
    ErrorOf(ErrorCode::kInvalid, [&] {
      Say({{"t", "want"}, {"path", "f"}, {"size", 1u}, {"mode", 0644u}, {"xxh3", sum}});
    });
  }
  ErrorOf(ErrorCode::kInvalid, [&] {
    Say({{"t", "want"}, {"path", "f"}, {"size", 1u}, {"mode", 04755u}, {"xxh3", SumOf("")}});
  });
  Write(ws_ / "there", "x");
  Want("f", "0123");
  Want("there", "x");
  List();
  ErrorOf(ErrorCode::kInvalid, [&] { Put(1); });     // it is not missing
  ErrorOf(ErrorCode::kInvalid, [&] { Put(2); });     // unknown file
  ErrorOf(ErrorCode::kInvalid, [&] { Put(0, 2); });  // no partial file to continue
  ErrorOf(ErrorCode::kInvalid, [&] { Put(0, 9); });
  Put(0);
  ErrorOf(ErrorCode::kInvalid, [&] { Data(""); });
  ErrorOf(ErrorCode::kInvalid, [&] { Data("01234"); });  // larger than announced
  EXPECT_FALSE(fs::exists(ws_ / "f"));
}

TEST_F(ReceiverTest, TheErrorNamesAnUnsupportedVersion) {
  receiver_.emplace([](const std::string&) {}, 0.05);
  EXPECT_THAT(
      ErrorOf(
          ErrorCode::kVersion,
          [&] {
            Say({{"t", "copy"}, {"version", "9.9"}, {"workspace", ws_.string()}, {"timeout", 0u}});
          }),
      HasSubstr("9.9"));
  EXPECT_FALSE(fs::exists(ws_));
}

TEST_F(ReceiverTest, AFailedWriteNamesTheFileAndKeepsItsBeginning) {
  Begin();
  const std::string text(1 << 16, 'x');
  Want("f", text + text);
  List();
  Put(0);
  Data(text);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT(ErrorOf(ErrorCode::kIo, [&] { Data(text); }), HasSubstr((ws_ / "f").string()));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(fs::file_size(ws_ / ".f.partial"), text.size());
}

}  // namespace
}  // namespace graphd::ctl
