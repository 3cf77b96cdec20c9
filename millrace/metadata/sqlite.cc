#include "millrace/metadata/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::metadata {
namespace {

absl::Status NoSpace(std::string_view what) {
  return absl::ResourceExhaustedError(
      base::StrCat("no space for metadata: ", what, "; make space on its disk"));
}

absl::Status NotAllowed(std::string_view what) {
  return absl::PermissionDeniedError(
      base::StrCat("metadata cannot be written: ", what,
                   "; run as a user who may write there, or change its mode"));
}

// What the system said to SQLite. Of an error in a commit only the log's file knows.
int LastSystemError(sqlite3* handle) {
  int error = sqlite3_system_errno(handle);
  sqlite3_file* log = nullptr;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER,
                       static_cast<void*>(&log));
  const bool is_open = log != nullptr && log->pMethods != nullptr;
  if (error == 0 && is_open) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
  }
  return error;
}

// What it means, where that tells more than SQLite's own result.
absl::Status SystemError(int error, std::string_view what) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:  // NOLINT(misc-include-cleaner): of <cerrno>.
    case EFBIG:
      return NoSpace(what);
    case EACCES:
    case EPERM:
    case EROFS:
      return NotAllowed(what);
    default:
      return absl::UnavailableError(
          base::StrCat("metadata cannot be read or written: ", what,
                       "; check its disk, then start again"));
  }
}

}  // namespace

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      base::StrCat("metadata is damaged: ", what,
                   "; put back a copy of its folder, or give an empty folder, which ",
                   "knows of no jobs"));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::BindNumber(int place, int64_t number) {
  CHECK_EQ(sqlite3_bind_int64(statement_, place, number), SQLITE_OK);
  return *this;
}

Statement& Statement::BindBytes(int place, std::string_view bytes) {
  // A null pointer would be NULL, which empty bytes are not.
  const char* const data = bytes.empty() ? "" : bytes.data();
  CHECK_EQ(sqlite3_bind_blob64(statement_, place, data, bytes.size(), SQLITE_STATIC),
           SQLITE_OK);
  return *this;
}

Statement& Statement::BindText(int place, std::string_view text) {
  const char* const data = text.empty() ? "" : text.data();
  CHECK_EQ(sqlite3_bind_text64(statement_, place, data, text.size(), SQLITE_STATIC,
                               SQLITE_UTF8),
           SQLITE_OK);
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return connection_->Error(result);
}

int64_t Statement::Number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::Bytes(int column) const {
  const void* const data = sqlite3_column_blob(statement_, column);
  const int bytes = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(data), static_cast<size_t>(bytes)};
}

void Statement::Reset() {
  // It repeats the result of the last Step, which was told then.
  sqlite3_reset(statement_);
}

absl::Status Statement::Run() {
  const absl::Status status = Step().status();
  Reset();
  return status;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path) {
  std::unique_ptr<Connection> connection(new Connection(path));
  const std::string& name = path.empty() ? ":memory:" : path;
  const int result =
      sqlite3_open_v2(name.c_str(), &connection->handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (result != SQLITE_OK) return connection->Error(result);
  sqlite3_extended_result_codes(connection->handle_, 1);
  // Room for the other columns of a row.
  sqlite3_limit(connection->handle_, SQLITE_LIMIT_LENGTH, kItemBytesMax + (1 << 20));
  connection->LeaveLog(true);
  if (sqlite3_db_readonly(connection->handle_, "main") == 1) return NotAllowed(path);
  return connection;
}

void Connection::Trust() { LeaveLog(false); }

void Connection::LeaveLog(bool leave) {
  CHECK_EQ(sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave ? 1 : 0,
                             nullptr),
           SQLITE_OK);
}

Connection::~Connection() {
  // Refused only while there are statements, which must not outlive it.
  CHECK_EQ(sqlite3_close(handle_), SQLITE_OK);
}

absl::StatusOr<Statement> Connection::Prepare(std::string_view text) const {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v3(handle_, text.data(), static_cast<int>(text.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return Error(result);
  return Statement(*this, statement);
}

absl::Status Connection::Run(const std::string& text) const {
  const int result = sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : Error(result);
}

absl::StatusOr<int64_t> Connection::Number(std::string_view text) const {
  Statement statement = TRY(Prepare(text));
  return TRY(statement.Step()) ? statement.Number(0) : 0;
}

absl::Status Connection::InTransaction(absl::FunctionRef<absl::Status()> body) const {
  TRY(Run("BEGIN IMMEDIATE"));
  absl::Status status = body();
  if (status.ok()) status = Run("COMMIT");
  // Some errors have undone it already.
  if (!status.ok() && sqlite3_get_autocommit(handle_) == 0) TRY(Run("ROLLBACK"));
  return status;
}

absl::StatusOr<std::string> Connection::AsFile() const {
  sqlite3_int64 bytes = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> data(
      sqlite3_serialize(handle_, "main", &bytes, 0), &sqlite3_free);
  if (data == nullptr) return Error(SQLITE_NOMEM);
  return std::string(reinterpret_cast<const char*>(data.get()),
                     static_cast<size_t>(bytes));
}

absl::Status Connection::Error(int result) const {
  const int system_error = LastSystemError(handle_);
  std::string what =
      base::StrCat(path_, ": ", sqlite3_errmsg(handle_), " (", result, ")");
  switch (result & 0xff) {  // The rest tells the kinds of one result apart.
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::AbortedError(base::StrCat("metadata is in use: ", what));
    case SQLITE_FULL:
      return NoSpace(what);
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(
          base::StrCat("no memory for metadata: ", what, "; give the process more"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return NotAllowed(what);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (result == SQLITE_IOERR_SHORT_READ) break;
      what += base::StrCat(": ", std::generic_category().message(system_error));
      return SystemError(system_error, what);
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(
          base::StrCat("an item is too large for metadata: ", what));
    default:  // Our statements have no errors: what they run on has.
      break;
  }
  return Damaged(what);
}

}  // namespace millrace::metadata
