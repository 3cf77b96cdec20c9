#include "millrace/base/sha256.h"

#include <array>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::HasSubstr;

// The examples of NIST, FIPS 180-4.
TEST(Sha256Test, AgreesWithTheStandard) {
  EXPECT_EQ(ToHex(Sha256Of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256Of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256Of(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, DoesNotDependOnWhereTheContentIsCut) {
  const std::string text =
      "the same content, cut in two at every place there is: "
      "also across the blocks of sixty-four bytes";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view view = text;
    EXPECT_EQ(
        Sha256Hasher().Update(view.substr(0, cut)).Update(view.substr(cut)).Finish(),
        Sha256Of(text));
  }
}

TEST(Sha256Test, HashesNumbersLowestByteFirst) {
  EXPECT_EQ(Sha256Hasher().UpdateNumber(0x0807060504030201).Finish(),
            Sha256Of("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(Sha256Test, HashesBytesAndTextAlike) {
  const std::array<std::byte, 2> bytes = {std::byte{'h'}, std::byte{'i'}};
  EXPECT_EQ(Sha256Hasher().Update(bytes).Finish(), Sha256Of("hi"));
}

TEST(Sha256Test, ACopiedHasherGoesItsOwnWay) {
  Sha256Hasher first;
  first.Update("a");
  Sha256Hasher second = first;
  EXPECT_EQ(first.Update("b").Finish(), Sha256Of("ab"));
  EXPECT_EQ(second.Update("c").Finish(), Sha256Of("ac"));
}

TEST(Sha256Test, FinishesOnce) {
  Sha256Hasher hasher;
  hasher.Finish();
  EXPECT_DEATH(hasher.Finish(), "finished_");
  EXPECT_DEATH(hasher.Update("more"), "finished_");
}

TEST(Sha256Test, PrintsAndReadsHexadecimal) {
  const Sha256 digest = Sha256Of("abc");
  EXPECT_THAT(ParseSha256(ToHex(digest)), IsOkAndHolds(digest));
  std::ostringstream out;
  out << digest;
  EXPECT_EQ(out.str(), ToHex(digest));
}

TEST(Sha256Test, RefusesOtherText) {
  for (const std::string& text : {std::string(), std::string(63, '0'),
                                  std::string(65, '0'), std::string(64, 'x')}) {
    EXPECT_THAT(ParseSha256(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }
}

TEST(Sha256Test, DigestsAreValues) {
  const absl::flat_hash_set<Sha256> names = {Sha256Of("a"), Sha256Of("b"),
                                             Sha256Of("a")};
  EXPECT_EQ(names.size(), 2);
  EXPECT_EQ(Sha256(), Sha256());
  EXPECT_LT(Sha256(), Sha256Of("a"));
}

}  // namespace
}  // namespace millrace::base
