#include "millrace/adapters/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/prov_ssl.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

// What OpenSSL has to say about the last failure of this thread.
std::string LastError() {
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type.
  const char* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason != nullptr ? reason : "the connection broke";
}

absl::Status FileError(std::string_view what, const std::string& file) {
  return absl::InvalidArgumentError(base::StrCat("TLS cannot use the ", what, " in ",
                                                 file, " (", LastError(),
                                                 "): name a readable PEM file"));
}

// OpenSSL's own way to use a socket raises SIGPIPE where the other side has gone.

int SocketOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool IsToRetry() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int SendBytes(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      send(SocketOf(bio), from, static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && IsToRetry()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int ReceiveBytes(BIO* bio, char* to, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = recv(SocketOf(bio), to, static_cast<size_t>(size), MSG_DONTWAIT);
  if (got < 0 && IsToRetry()) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

// NOLINTNEXTLINE(google-runtime-int): as OpenSSL declares it.
long Control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {  // Never freed.
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index(), "socket");
    CHECK(made != nullptr);
    BIO_meth_set_write(made, SendBytes);
    BIO_meth_set_read(made, ReceiveBytes);
    BIO_meth_set_ctrl(made, Control);
    return made;
  }();
  return method;
}

absl::StatusOr<SSL*> MakeSession(SSL_CTX* context, int socket) {
  SSL* const session = SSL_new(context);
  BIO* const bio = BIO_new(SocketMethod());
  if (session == nullptr || bio == nullptr) {
    SSL_free(session);
    BIO_free(bio);
    return absl::ResourceExhaustedError("no memory for a TLS session");
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what OpenSSL keeps is a pointer.
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session, bio, bio);
  SSL_set_mode(session,
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Messages say themselves where they end: a connection that was cut shows there.
  SSL_set_options(session, SSL_OP_IGNORE_UNEXPECTED_EOF);
  return session;
}

}  // namespace

void TlsSession::Free::operator()(ssl_st* session) const { SSL_free(session); }

void Tls::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

TlsSession::TlsSession(ssl_st* session) : session_(session) {}

absl::StatusOr<Progress> TlsSession::Outcome(int result) {
  if (result > 0) return Progress{.bytes = result};
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Progress{};
    case SSL_ERROR_WANT_WRITE:
      return Progress{.waits_to_write = true};
    case SSL_ERROR_ZERO_RETURN:
      return Progress{.ended = true};
    default:
      break;
  }
  const long verified = SSL_get_verify_result(session_.get());  // NOLINT: its type.
  std::string reason = LastError();
  if (verified != X509_V_OK) {
    reason = base::StrCat(reason, ": ", X509_verify_cert_error_string(verified));
  }
  return absl::UnavailableError(base::StrCat("TLS failed: ", reason));
}

absl::StatusOr<Progress> TlsSession::Handshake() {
  ERR_clear_error();
  return Outcome(SSL_do_handshake(session_.get()));
}

absl::StatusOr<Progress> TlsSession::Read(void* to, size_t size) {
  ERR_clear_error();
  size_t bytes = 0;
  const int result = SSL_read_ex(session_.get(), to, size, &bytes);
  if (result > 0) return Progress{.bytes = static_cast<int64_t>(bytes)};
  return Outcome(result);
}

absl::StatusOr<Progress> TlsSession::Write(const void* from, size_t size) {
  ERR_clear_error();
  size_t bytes = 0;
  const int result = SSL_write_ex(session_.get(), from, size, &bytes);
  if (result > 0) return Progress{.bytes = static_cast<int64_t>(bytes)};
  return Outcome(result);
}

void TlsSession::SayEnd() {
  ERR_clear_error();
  if (SSL_is_init_finished(session_.get()) != 0) (void)SSL_shutdown(session_.get());
  ERR_clear_error();
}

absl::Status Tls::Load(const TlsOptions& options) {
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ERR_clear_error();
  const std::string& certificate = options.certificate_file;
  if (!certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
      return FileError("certificate", certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(),
                                    SSL_FILETYPE_PEM) != 1) {
      return FileError("key", options.key_file);
    }
  }
  const std::string& ca = options.ca_file;
  if (!ca.empty() && SSL_CTX_load_verify_file(context, ca.c_str()) != 1) {
    return FileError("certificates of authorities", ca);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Tls>> Tls::ForServer(const TlsOptions& options) {
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return absl::InvalidArgumentError(
        "TLS needs a certificate and its key: name both files");
  }
  std::shared_ptr<Tls> tls(new Tls(SSL_CTX_new(TLS_server_method())));
  CHECK(tls->context_ != nullptr);
  TRY(tls->Load(options));
  if (!options.ca_file.empty()) {
    SSL_CTX_set_verify(tls->context_.get(),
                       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  // Sessions that are resumed would need a context's name, and save little here.
  SSL_CTX_set_session_cache_mode(tls->context_.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(tls->context_.get(), 0);
  return tls;
}

absl::StatusOr<std::shared_ptr<Tls>> Tls::ForClient(const TlsOptions& options) {
  std::shared_ptr<Tls> tls(new Tls(SSL_CTX_new(TLS_client_method())));
  CHECK(tls->context_ != nullptr);
  TRY(tls->Load(options));
  if (options.ca_file.empty()) SSL_CTX_set_default_verify_paths(tls->context_.get());
  SSL_CTX_set_verify(tls->context_.get(), SSL_VERIFY_PEER, nullptr);
  return tls;
}

absl::StatusOr<std::unique_ptr<TlsSession>> Tls::Accept(int socket) {
  SSL* const session = TRY(MakeSession(context_.get(), socket));
  SSL_set_accept_state(session);
  return std::make_unique<TlsSession>(session);
}

absl::StatusOr<std::unique_ptr<TlsSession>> Tls::Connect(int socket,
                                                         const std::string& host) {
  SSL* const session = TRY(MakeSession(context_.get(), socket));
  SSL_set_connect_state(session);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) != 1) {
    SSL_set1_host(session, host.c_str());  // It is a name.
    SSL_set_tlsext_host_name(session, host.c_str());
  }
  return std::make_unique<TlsSession>(session);
}

}  // namespace millrace::http
