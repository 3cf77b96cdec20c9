#include "millrace/metadata/sqlite.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/metadata/folder_test.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Connection> WithTable() {
  auto connection = Connection::Open("").value();
  EXPECT_THAT(connection->Run("CREATE TABLE t (number INTEGER, bytes BLOB)"), IsOk());
  return connection;
}

TEST(SqliteTest, StatementsTakeAndGiveValues) {
  const auto connection = WithTable();
  Statement insert = connection->Prepare("INSERT INTO t VALUES (?, ?)").value();
  EXPECT_THAT(insert.BindNumber(1, -7).BindBytes(2, {"\0x", 2}).Run(), IsOk());
  EXPECT_THAT(insert.BindNumber(1, 8).BindBytes(2, "").Run(), IsOk());
  Statement select =
      connection->Prepare("SELECT number, bytes FROM t ORDER BY number").value();
  EXPECT_THAT(select.Step(), IsOkAndHolds(true));
  EXPECT_EQ(select.Number(0), -7);
  EXPECT_EQ(select.Bytes(1), std::string("\0x", 2));
  EXPECT_THAT(select.Step(), IsOkAndHolds(true));
  EXPECT_EQ(select.Bytes(1), "");
  EXPECT_THAT(select.Step(), IsOkAndHolds(false));
  EXPECT_THAT(connection->Number("SELECT count(*) FROM t WHERE bytes IS NULL"),
              IsOkAndHolds(0));
  EXPECT_THAT(connection->Number("SELECT number FROM t WHERE number > 100"),
              IsOkAndHolds(0));
}

TEST(SqliteTest, ATransactionThatFailsLeavesNothing) {
  const auto connection = WithTable();
  EXPECT_THAT(connection->InTransaction([&]() -> absl::Status {
    TRY(connection->Run("INSERT INTO t VALUES (1, 'x')"));
    return absl::CancelledError("changed my mind");
  }),
              StatusIs(absl::StatusCode::kCancelled, "changed my mind"));
  EXPECT_THAT(connection->Number("SELECT count(*) FROM t"), IsOkAndHolds(0));
  EXPECT_THAT(connection->InTransaction(
                  [&] { return connection->Run("INSERT INTO t VALUES (1, 'x')"); }),
              IsOk());
  EXPECT_THAT(connection->Number("SELECT count(*) FROM t"), IsOkAndHolds(1));
}

TEST(SqliteTest, ErrorsNameTheFileAndTheRemedy) {
  const StoreFolder folder;
  EXPECT_THAT(Connection::Open(folder.file()),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(folder.file()), HasSubstr("No such file"),
                             HasSubstr("check its disk"))));
  base::WriteFile(folder.file(), std::string(5000, 'x'));
  const auto connection = Connection::Open(folder.file()).value();
  EXPECT_THAT(connection->Number("PRAGMA user_version"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(folder.file())));
  EXPECT_THAT(WithTable()->Prepare("SELECT x FROM missing"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no such table")));
}

TEST(SqliteTest, TheFileOfAConnectionInMemoryCanBeOpened) {
  const StoreFolder folder;
  const auto memory = WithTable();
  EXPECT_THAT(memory->Run("INSERT INTO t VALUES (7, 'x')"), IsOk());
  base::WriteFile(folder.file(), memory->AsFile().value());
  const auto file = Connection::Open(folder.file()).value();
  EXPECT_THAT(file->Number("SELECT number FROM t"), IsOkAndHolds(7));
  // Another that has it is told by a code of its own.
  EXPECT_THAT(file->Run("BEGIN EXCLUSIVE"), IsOk());
  EXPECT_THAT(Connection::Open(folder.file()).value()->Number("SELECT number FROM t"),
              StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace millrace::metadata
