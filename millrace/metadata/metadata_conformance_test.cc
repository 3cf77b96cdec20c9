// What every store does alike. A new one is added to the list at the end.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/metadata/embedded_store.h"
#include "millrace/metadata/folder_test.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::metadata {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A place that can hold one kind of store, and its dispatchers, one after another.
class Place {
 public:
  virtual ~Place() = default;

  // The store, as the next dispatcher finds it.
  virtual MetadataStore& Again() = 0;
};

class MemoryPlace final : public Place {
 public:
  MetadataStore& Again() override { return store_; }

 private:
  MemoryStore store_;
};

class EmbeddedPlace final : public Place {
 public:
  MetadataStore& Again() override {
    store_.reset();
    store_ = EmbeddedStore::Open(folder_.path()).value();
    return *store_;
  }

 private:
  const StoreFolder folder_;
  std::unique_ptr<EmbeddedStore> store_;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Place>()> make_place;
};

class MetadataConformanceTest : public testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<Place> place_ = GetParam().make_place();
};

void ExpectKept(MetadataStore& store, const std::string& snapshot,
                const std::vector<std::string>& events) {
  const auto kept = store.Load();
  ASSERT_THAT(kept, IsOk());
  EXPECT_EQ(kept->snapshot, snapshot);
  EXPECT_EQ(kept->events, events);
}

TEST_P(MetadataConformanceTest, ANewOneIsEmpty) {
  ExpectKept(place_->Again(), "", {});
  ExpectKept(place_->Again(), "", {});
}

TEST_P(MetadataConformanceTest, EventsAreKeptInOrder) {
  MetadataStore& first = place_->Again();
  EXPECT_THAT(first.Append({"b", "a"}), IsOk());
  EXPECT_THAT(first.Append({}), IsOk());
  EXPECT_THAT(first.Append({"c"}), IsOk());
  ExpectKept(first, "", {"b", "a", "c"});
  MetadataStore& second = place_->Again();
  EXPECT_THAT(second.Append({"a"}), IsOk());
  ExpectKept(second, "", {"b", "a", "c", "a"});
  ExpectKept(place_->Again(), "", {"b", "a", "c", "a"});
}

TEST_P(MetadataConformanceTest, ASnapshotReplacesAllBeforeIt) {
  MetadataStore& first = place_->Again();
  EXPECT_THAT(first.Append({"1", "2"}), IsOk());
  EXPECT_THAT(first.Snapshot("after 2"), IsOk());
  ExpectKept(first, "after 2", {});
  EXPECT_THAT(first.Append({"3"}), IsOk());
  ExpectKept(place_->Again(), "after 2", {"3"});
  MetadataStore& second = place_->Again();
  EXPECT_THAT(second.Snapshot("after 3"), IsOk());
  EXPECT_THAT(second.Snapshot("after 3, again"), IsOk());
  ExpectKept(second, "after 3, again", {});
  ExpectKept(place_->Again(), "after 3, again", {});
  EXPECT_THAT(place_->Again().Append({"4"}), IsOk());
  ExpectKept(place_->Again(), "after 3, again", {"4"});
}

TEST_P(MetadataConformanceTest, BytesAreAnyBytes) {
  const std::string odd("\0\xff\n'\"; --\0", 10);
  const std::string large(3'000'000, '\x80');
  MetadataStore& store = place_->Again();
  EXPECT_THAT(store.Snapshot(odd), IsOk());
  EXPECT_THAT(store.Append({"", odd, large, ""}), IsOk());
  EXPECT_THAT(store.PutObject(odd, odd), IsOk());
  EXPECT_THAT(store.PutObject("large", large), IsOk());
  EXPECT_THAT(store.PutObject("none", ""), IsOk());
  MetadataStore& again = place_->Again();
  ExpectKept(again, odd, {"", odd, large, ""});
  EXPECT_THAT(again.GetObject(odd), IsOkAndHolds(odd));
  EXPECT_THAT(again.GetObject("large"), IsOkAndHolds(large));
  EXPECT_THAT(again.GetObject("none"), IsOkAndHolds(std::string()));
}

TEST_P(MetadataConformanceTest, AnObjectIsPutOnceAndNeverChanges) {
  MetadataStore& store = place_->Again();
  EXPECT_THAT(store.GetObject("h"), StatusIs(absl::StatusCode::kNotFound,
                                             HasSubstr("no object has this hash: h")));
  EXPECT_THAT(store.PutObject("h", "bytes"), IsOk());
  EXPECT_THAT(store.PutObject("h", "bytes"), IsOk());
  EXPECT_THAT(store.PutObject("h", "others"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("hash: h;")));
  EXPECT_THAT(place_->Again().PutObject("h", "bytes"), IsOk());
  EXPECT_THAT(place_->Again().GetObject("h"), IsOkAndHolds(std::string("bytes")));
}

TEST_P(MetadataConformanceTest, ObjectsAndEventsDoNotTouchEachOther) {
  MetadataStore& store = place_->Again();
  EXPECT_THAT(store.PutObject("h", "bytes"), IsOk());
  EXPECT_THAT(store.Append({"1"}), IsOk());
  EXPECT_THAT(store.Snapshot("s"), IsOk());
  EXPECT_THAT(store.GetObject("h"), IsOkAndHolds(std::string("bytes")));
  EXPECT_THAT(store.Append({"2"}), IsOk());
  EXPECT_THAT(store.DropObjectsExcept({}), IsOk());
  ExpectKept(store, "s", {"2"});
}

TEST_P(MetadataConformanceTest, DropsTheObjectsThatAreNotNamed) {
  MetadataStore& store = place_->Again();
  EXPECT_THAT(store.DropObjectsExcept({"never there"}), IsOk());
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(store.PutObject(base::StrCat(i), base::StrCat("bytes ", i)), IsOk());
  }
  EXPECT_THAT(store.DropObjectsExcept({"3", "never there", "7", "3"}), IsOk());
  MetadataStore& again = place_->Again();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(again.GetObject(base::StrCat(i)).ok(), i == 3 || i == 7) << i;
  }
  EXPECT_THAT(again.PutObject("1", "other bytes than before"), IsOk());
  EXPECT_THAT(again.DropObjectsExcept({}), IsOk());
  EXPECT_THAT(again.GetObject("3"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(MetadataConformanceTest, WhatIsTooLargeIsRefusedWhole) {
  const std::string large(kItemBytesMax + 1, 'x');
  const auto is_refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is too large"));
  MetadataStore& store = place_->Again();
  EXPECT_THAT(store.Append({"small", large}), is_refused);
  EXPECT_THAT(store.Snapshot(large), is_refused);
  EXPECT_THAT(store.PutObject("h", large), is_refused);
  EXPECT_THAT(store.Append({"next"}), IsOk());
  ExpectKept(store, "", {"next"});
}

INSTANTIATE_TEST_SUITE_P(
    Stores, MetadataConformanceTest,
    testing::Values(Kind{"Memory", [] { return std::make_unique<MemoryPlace>(); }},
                    Kind{"Embedded", [] { return std::make_unique<EmbeddedPlace>(); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace millrace::metadata
