// Certificates for tests, made by the openssl command, in a folder that goes when the
// test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

#include "millrace/adapters/http/tls.h"
#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::http {

// An authority of its own, and what it signed for "localhost" and 127.0.0.1.
class Certificates {
 public:
  explicit Certificates(const std::string& name)
      : folder_(base::StrCat(testing::TempDir(), "certificates_", name)) {
    std::filesystem::create_directories(folder_);
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-keyout ca.key -out ca.pem -subj /CN=authority");
    Run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key "
        "-out own.csr -subj /CN=localhost");
    Run("x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
        "-extfile names -out own.pem");
  }

  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  ~Certificates() { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name) const {
    return base::StrCat(folder_, "/", name);
  }

  // What a server has; a client too, with mutual TLS.
  TlsOptions Own() const {
    return {.certificate_file = File("own.pem"),
            .key_file = File("own.key"),
            .ca_file = ""};
  }

  // What a client trusts.
  TlsOptions Authority() const {
    return {.certificate_file = "", .key_file = "", .ca_file = File("ca.pem")};
  }

  TlsOptions Both() const {
    TlsOptions options = Own();
    options.ca_file = File("ca.pem");
    return options;
  }

 private:
  void Run(const std::string& arguments) const {
    const std::string command = base::StrCat(
        "cd '", folder_, "' && printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' ",
        "> names && openssl ", arguments, " 2>/dev/null");
    CHECK_EQ(std::system(command.c_str()), 0) << command;
  }

  const std::string folder_;
};

}  // namespace millrace::http
