// TLS, by OpenSSL: certificates read once, and one session for each connection. Errors
// name the file that is wrong. A context may be used from any thread, a session from
// one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// OpenSSL's own types, so that its headers stay in tls.cc.
struct ssl_ctx_st;
struct ssl_st;

namespace millrace::http {

struct TlsOptions {
  std::string certificate_file;  // PEM, with those that signed it. A server needs one.
  std::string key_file;          // PEM; the certificate's.
  std::string ca_file;  // PEM; who may sign the other side's. A server that has one
                        // takes only clients with a certificate (mutual TLS); a client
                        // without takes what the system trusts.
};

// What became of reading or writing without waiting.
struct Progress {
  int64_t bytes = 0;            // Read or written; 0 means that it has to wait.
  bool ended = false;           // The other side sends nothing more.
  bool waits_to_write = false;  // Wait until the socket takes bytes, not gives them.
};

class TlsSession {
 public:
  explicit TlsSession(ssl_st* session);

  // Goes on with the first exchange; one byte of progress means that it is complete.
  absl::StatusOr<Progress> Handshake();

  absl::StatusOr<Progress> Read(void* to, size_t size);
  absl::StatusOr<Progress> Write(const void* from, size_t size);

  // Tells the other side that this is the end.
  void SayEnd();

 private:
  absl::StatusOr<Progress> Outcome(int result);

  struct Free {
    void operator()(ssl_st* session) const;
  };

  std::unique_ptr<ssl_st, Free> session_;
};

class Tls {
 public:
  static absl::StatusOr<std::shared_ptr<Tls>> ForServer(const TlsOptions& options);
  static absl::StatusOr<std::shared_ptr<Tls>> ForClient(const TlsOptions& options);

  // Begins on a socket that does not block, which must outlive the session.
  absl::StatusOr<std::unique_ptr<TlsSession>> Accept(int socket);

  // The same on the other side; `host` must be what its certificate names.
  absl::StatusOr<std::unique_ptr<TlsSession>> Connect(int socket,
                                                      const std::string& host);

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  explicit Tls(ssl_ctx_st* context) : context_(context) {}

  absl::Status Load(const TlsOptions& options);

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace millrace::http
