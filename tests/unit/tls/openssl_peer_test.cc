// SPDX-License-Identifier: Apache-2.0
// Tests of TlsSession against OpenSSL's own records, with which it has to agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include <cstring>
#include <string>

#include "tests/unit/tls/random_bytes.h"
#include "tests/unit/tls/test_keys.h"
#include "tls/tls_session.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A connection of OpenSSL in memory, with the keys of one side.
class Peer {
 public:
  explicit Peer(const std::shared_ptr<const TlsCredentials>& credentials)
      // Certificates are judged by a session, in whose place this stands.
      : judge_(credentials, "the other side"), ssl_(SSL_new(credentials->context.get())) {
    SSL_set_app_data(ssl_.get(), &judge_);
    SSL_set_msg_callback(ssl_.get(), CountKeyUpdates);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (credentials->side == TlsSide::kServer) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
    }
  }
  SSL* ssl() { return ssl_.get(); }
  // Returns how often the other side has changed its key.
  int key_updates() const { return key_updates_; }
  void Receive(std::span<const std::byte> bytes) {
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string TakeOutput() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &data);
    std::string output(data, static_cast<size_t>(size));
    (void)BIO_reset(SSL_get_wbio(ssl_.get()));
    return output;
  }
  void Write(const std::string& text) {
    size_t written = 0;
    for (size_t at = 0; at < text.size(); at += written) {
      ASSERT_EQ(SSL_write_ex(ssl_.get(), text.data() + at, text.size() - at, &written), 1);
    }
  }
  std::string Read(size_t most = size_t{1} << 20) {
    std::string text(most, '\0');
    size_t total = 0, count = 0;
    while (SSL_read_ex(ssl_.get(), text.data() + total, text.size() - total, &count) == 1) {
      total += count;
    }
    text.resize(total);
    return text;
  }
  // Reads, and returns OpenSSL's reason of the failure.
  int LastError() {
    ERR_clear_error();
    EXPECT_EQ(Read(), "");
    return ERR_GET_REASON(ERR_peek_last_error());
  }

 private:
  static void CountKeyUpdates(int is_written, int, int content_type, const void* data, size_t size,
                              SSL*, void* peer) {
    if (is_written == 0 && content_type == SSL3_RT_HANDSHAKE && size > 0 &&
        *static_cast<const unsigned char*>(data) == SSL3_MT_KEY_UPDATE) {
      static_cast<Peer*>(peer)->key_updates_++;
    }
  }

  TlsSession judge_;
  SslPtr ssl_;
  int key_updates_ = 0;
};

// Our session and OpenSSL's, after their handshake.
class OpenSslPeer : public ::testing::TestWithParam<TlsSide> {
 protected:
  OpenSslPeer() {
    if (GetParam() == TlsSide::kServer) {
      Connect(keys_.Server(), keys_.Client());
    } else {
      Connect(keys_.Client(), keys_.Server());
    }
  }
  void Connect(const std::shared_ptr<const TlsCredentials>& ours,
               const std::shared_ptr<const TlsCredentials>& theirs) {
    session_ = std::make_unique<TlsSession>(ours, "OpenSSL", kRecordsOfAKey);
    peer_ = std::make_unique<Peer>(theirs);
    for (int i = 0; i < 10 && !(done_ && SSL_is_init_finished(peer_->ssl())); i++) {
      done_ = session_->Handshake();
      Send();
      SSL_do_handshake(peer_->ssl());
      Receive();
    }
    ASSERT_TRUE(done_ && SSL_is_init_finished(peer_->ssl()));
  }
  // Passes on what our session and OpenSSL want to send.
  void Send() {
    peer_->Receive(session_->Output());
    session_->Sent();
  }
  void Receive() { Receive(peer_->TakeOutput()); }
  // Returns what our session decrypts, in steps of a read of `room` bytes.
  std::string Receive(std::string bytes, size_t room = size_t{1} << 20) {
    std::string text, out(room, '\0');
    while (true) {
      const auto free = session_->InputRoom();
      const size_t count = std::min(free.size(), bytes.size());
      std::memcpy(free.data(), bytes.data(), count);
      bytes.erase(0, count);
      session_->Received(count);
      if (!done_) return "";
      while (const size_t got = session_->Decrypt(std::as_writable_bytes(std::span(out)))) {
        text.append(out, 0, got);
      }
      if (bytes.empty()) return text;
    }
  }
  void Encrypt(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      at += session_->Encrypt(BytesOf(text).subspan(at));
      Send();
    }
  }

  static constexpr uint64_t kRecordsOfAKey = 100;
  TestKeys keys_{"products"};
  std::unique_ptr<TlsSession> session_;
  std::unique_ptr<Peer> peer_;
  bool done_ = false;  // our session's handshake
};

TEST_P(OpenSslPeer, ExchangesMessagesOfAllSizes) {
  for (const size_t size : {1UL, 100UL, 16383UL, 16384UL, 16385UL, 500000UL}) {
    const std::string ours = RandomBytes<std::string>(size, size),
                      theirs = RandomBytes<std::string>(size, size + 1);
    Encrypt(ours);
    EXPECT_EQ(peer_->Read(), ours) << size;
    for (const size_t room : {size_t{1} << 20, 1000UL, 16384UL}) {
      peer_->Write(theirs);
      EXPECT_EQ(Receive(peer_->TakeOutput(), room), theirs) << size << " by " << room;
    }
  }
}

TEST_P(OpenSslPeer, PaddingIsTakenAway) {
  SSL_set_block_padding(peer_->ssl(), 4096);
  for (const size_t size : {1UL, 4095UL, 4096UL, 16384UL}) {
    const std::string theirs = RandomBytes<std::string>(size, size);
    for (const size_t room : {size_t{1} << 20, size_t{10}}) {
      peer_->Write(theirs);
      const std::string record = peer_->TakeOutput();
      EXPECT_GE(record.size(), 4096U);
      EXPECT_EQ(Receive(record, room), theirs) << size;
    }
  }
}

TEST_P(OpenSslPeer, KeysChangeInBothDirections) {
  for (int i = 0; i < 5; i++) {
    const int kind = i % 2 == 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
    ASSERT_EQ(SSL_key_update(peer_->ssl(), kind), 1);
    const std::string theirs = RandomBytes<std::string>(1000, 1),
                      ours = RandomBytes<std::string>(1000, 2);
    peer_->Write(theirs);
    EXPECT_EQ(Receive(peer_->TakeOutput()), theirs);
    Encrypt(ours);
    EXPECT_EQ(peer_->Read(), ours);
    EXPECT_EQ(peer_->key_updates(), i / 2 + 1) << "ours changes if it is asked for";
  }
}

TEST_P(OpenSslPeer, OurKeyChangesAfterSoManyRecords) {
  // Buffers are full when some of the changes are due.
  const std::string ours = RandomBytes<std::string>(250 * TlsSession::kRecordBytes + 1, 1);
  Encrypt(ours);
  EXPECT_EQ(peer_->Read(size_t{5} << 20), ours);
  EXPECT_EQ(peer_->key_updates(), 2);
}

TEST_P(OpenSslPeer, ChangesOfKeysWithoutDataEndTheConnection) {
  for (int i = 0; i < 2; i++) {
    ASSERT_EQ(SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(peer_->ssl()), 1);  // sends it
  }
  try {
    Receive(peer_->TakeOutput());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("changes its key without sending anything"));
  }
  Send();
  EXPECT_EQ(peer_->LastError(), SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE);
}

TEST_P(OpenSslPeer, ChangesOfKeysWithHardlyAnyDataEndTheConnection) {
  int changes = 0;
  try {
    for (; changes < 1000; changes++) {
      ASSERT_EQ(SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      peer_->Write("a");
      EXPECT_EQ(Receive(peer_->TakeOutput()), "a");
    }
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("changes its key again and again"));
  }
  EXPECT_EQ(changes, 64);
  Send();
  EXPECT_EQ(peer_->LastError(), SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE);
}

TEST_P(OpenSslPeer, KeysMayChangeForEachKibibyteOfData) {
  for (int i = 0; i < 200; i++) {
    ASSERT_EQ(SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    const std::string theirs = RandomBytes<std::string>(1024, 1);
    peer_->Write(theirs);
    ASSERT_EQ(Receive(peer_->TakeOutput()), theirs);
  }
}

TEST_P(OpenSslPeer, EachSideSeesTheOthersEnd) {
  session_->Close();
  Send();
  EXPECT_EQ(peer_->Read(), "");
  EXPECT_EQ(SSL_get_shutdown(peer_->ssl()), SSL_RECEIVED_SHUTDOWN);
  EXPECT_FALSE(session_->is_closed());
  SSL_shutdown(peer_->ssl());
  Receive();
  EXPECT_TRUE(session_->is_closed());
}

TEST_P(OpenSslPeer, NothingIsReadAfterADamagedRecordAndThePeerIsTold) {
  peer_->Write("first");
  std::string records = peer_->TakeOutput();
  records.back() = static_cast<char>(records.back() ^ 1);
  EXPECT_THROW(Receive(records), Error);
  peer_->Write("second");
  EXPECT_THROW(Receive(peer_->TakeOutput()), Error);
  EXPECT_THROW(session_->Encrypt(BytesOf("text")), Error);
  Send();
  EXPECT_EQ(peer_->LastError(), SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
}

TEST_P(OpenSslPeer, AlertsAndOtherMessagesAreErrors) {
  // OpenSSL reports a record that was changed on its way.
  session_->Encrypt(BytesOf("text"));
  const auto output = session_->Output();
  std::string record(reinterpret_cast<const char*>(output.data()), output.size());
  record.back() = static_cast<char>(record.back() ^ 1);
  session_->Sent();
  peer_->Receive(BytesOf(record));
  EXPECT_EQ(peer_->Read(), "");
  try {
    Receive();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("is broken: the peer reports: bad record mac"));
  }
  EXPECT_TRUE(session_->Output().empty()) << "an alert is not answered";
}

TEST(OpenSslPeers, ASessionTicketIsAnError) {
  TestKeys keys("products");
  const auto server = keys.Server();
  SSL_CTX_set_num_tickets(server->context.get(), 1);
  SSL_CTX_clear_options(server->context.get(), SSL_OP_NO_TICKET);
  TlsSession session(keys.Client(), "OpenSSL");
  Peer peer(server);
  try {
    for (int i = 0; i < 10; i++) {
      if (session.Handshake()) {
        std::byte byte{};
        session.Decrypt({&byte, 1});
      }
      peer.Receive(session.Output());
      session.Sent();
      SSL_do_handshake(peer.ssl());
      const std::string answer = peer.TakeOutput();
      const auto room = session.InputRoom();
      std::memcpy(room.data(), answer.data(), answer.size());
      session.Received(answer.size());
    }
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a message of the handshake came after it"));
  }
}

INSTANTIATE_TEST_SUITE_P(Sides, OpenSslPeer, ::testing::Values(TlsSide::kServer, TlsSide::kClient),
                         [](const auto& each) {
                           return each.param == TlsSide::kServer ? "AsServer" : "AsClient";
                         });

}  // namespace
}  // namespace graphd::testing
