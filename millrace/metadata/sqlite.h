// SQLite behind statuses: a connection to one file, and prepared statements. Its errors
// get the code that tells the caller what to do, the file's name, and a remedy. Only
// this layer sees SQLite. One thread at a time.
//
//   auto file = TRY(Connection::Open(path));
//   Statement insert = TRY(file->Prepare("INSERT INTO events VALUES (?, ?)"));
//   TRY(file->InTransaction([&]() -> absl::Status {
//     return insert.BindNumber(1, 7).BindBytes(2, bytes).Run();
//   }));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace millrace::metadata {

class Connection;

// The error for content that no store of ours would have written.
absl::Status Damaged(std::string_view what);

// Places and columns: of a statement's question marks from 1, of a row's values from 0.
// Bytes bound must live until the statement was run; bytes of a row until the next Step
// or Reset. It must not outlive its connection.
class Statement {
 public:
  Statement(const Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}

  Statement(Statement&& other) noexcept
      : connection_(other.connection_),
        statement_(std::exchange(other.statement_, nullptr)) {}

  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& BindNumber(int place, int64_t number);
  Statement& BindBytes(int place, std::string_view bytes);
  Statement& BindText(int place, std::string_view text);

  // Goes to the next row; says whether there is one.
  absl::StatusOr<bool> Step();

  int64_t Number(int column) const;
  std::string_view Bytes(int column) const;

  // Makes it ready to be run again.
  void Reset();

  // Runs a statement that gives no rows.
  absl::Status Run();

 private:
  const Connection* connection_;
  sqlite3_stmt* statement_;
};

class Connection {
 public:
  // Opens a file that is there, for reading and writing; "" is a new one in memory.
  // Nothing is read yet, and no lock taken. Its log is left as it is on closing, until
  // Trust is called.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  const std::string& path() const { return path_; }

  // Says that the file is as it should be: what is in its log may go into it.
  void Trust();

  absl::StatusOr<Statement> Prepare(std::string_view text) const;

  // Runs statements that give no rows, or whose rows do not matter.
  absl::Status Run(const std::string& text) const;

  // Runs a statement, and returns the first number of its first row; 0 for none.
  absl::StatusOr<int64_t> Number(std::string_view text) const;

  // Runs `body` as one transaction, which is durable on return, or not there.
  absl::Status InTransaction(absl::FunctionRef<absl::Status()> body) const;

  // Returns the bytes that a file of the same content would have.
  absl::StatusOr<std::string> AsFile() const;

  // What the last call's result means. Aborted: another connection has the file.
  absl::Status Error(int result) const;

 private:
  explicit Connection(std::string path) : path_(std::move(path)) {}

  void LeaveLog(bool leave);

  const std::string path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace millrace::metadata
