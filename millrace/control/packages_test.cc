#include "millrace/control/packages.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"
#include "millrace/control/placing.h"

namespace millrace::control {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

api::JobSettings Functions() {
  api::JobSettings settings{.name = "train", .pipeline = "hash"};
  settings.packages = {{"python", "3.11.2"}, {"numpy", "2.0.1"}};
  return settings;
}

using Packages = std::vector<api::Package>;

const Packages kSame = {{"numpy", "2.0.1"}, {"python", "3.11.9"}, {"zarr", "1"}};
const Packages kPythonAlone = {{"python", "3.11.2"}};
const Packages kNone = {};

// One that may run functions. The packages outlive it.
Candidate Worker(int64_t number, const Packages& packages) {
  Candidate worker{.facts = Facts(number), .packages = &packages};
  worker.facts.python = true;
  return worker;
}

// As it tells of itself.
api::WorkerFacts FactsWith(int64_t number, const Packages& packages) {
  api::WorkerFacts facts = Worker(number, packages).facts;
  facts.packages = packages;
  return facts;
}

TEST(PackagesTest, AWorkerNeedsPermissionEveryPackageAndTheSamePython) {
  EXPECT_TRUE(MayRunFunctions(Worker(1, kSame), Functions()));
  Candidate forbidden = Worker(1, kSame);
  forbidden.facts.python = false;
  EXPECT_FALSE(MayRunFunctions(forbidden, Functions()));
  EXPECT_TRUE(MayRunFunctions(forbidden, {})) << "there are no functions";
  EXPECT_FALSE(MayRunFunctions(Worker(1, kPythonAlone), Functions()));
  const Packages newer = {{"numpy", "2.0.1"}, {"python", "3.12.2"}};
  EXPECT_FALSE(MayRunFunctions(Worker(1, newer), Functions()));
  const Packages shorter = {{"numpy", "2.0.1"}, {"python", "3.11"}};
  EXPECT_TRUE(MayRunFunctions(Worker(1, shorter), Functions()));
}

TEST(PackagesTest, AnotherVersionIsToldAndBorne) {
  const Packages other = {{"numpy", "1.26.4"}, {"python", "3.11.2"}};
  EXPECT_TRUE(MayRunFunctions(Worker(1, other), Functions()));
  EXPECT_THAT(Differences(Worker(1, other), Functions()),
              ElementsAre("worker 10.0.0.1:5050 has numpy 1.26.4, the functions come "
                          "from 2.0.1"));
  EXPECT_THAT(Differences(Worker(1, kSame), Functions()), SizeIs(1)) << "Python's own";
}

TEST(PackagesTest, OnlyThoseOfWorkersThatMayRunThemAreTold) {
  Candidate forbidden = Worker(1, kNone);
  forbidden.facts.python = false;
  EXPECT_THAT(DifferencesOfAll({forbidden}, Functions()), IsEmpty());
  const std::vector<Candidate> many(30, Worker(1, kNone));
  EXPECT_THAT(DifferencesOfAll(many, Functions()), SizeIs(20)) << "and not too many";
}

TEST(PackagesTest, WhyNobodyWouldRunThemIsSaidAtOnce) {
  EXPECT_THAT(CheckFunctions({}, {}, false), IsOk()) << "there are none";
  EXPECT_THAT(CheckFunctions({Worker(1, kSame)}, Functions(), true), IsOk());
  EXPECT_THAT(CheckFunctions({}, Functions(), true), IsOk()) << "one may still join";
  EXPECT_THAT(CheckFunctions({Worker(1, kSame)}, Functions(), false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("MILLRACE_TOKEN")));
  Candidate forbidden = Worker(1, kSame);
  forbidden.facts.python = false;
  EXPECT_THAT(CheckFunctions({forbidden}, Functions(), true),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--allow-python")));
  EXPECT_THAT(CheckFunctions({forbidden, Worker(2, kSame)}, Functions(), true), IsOk());
  EXPECT_THAT(
      CheckFunctions({Worker(1, kPythonAlone)}, Functions(), true),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("worker 10.0.0.1:5050 has no numpy, the functions come from "
                         "2.0.1: install")));
}

// --- The dispatcher ---

api::OpenJob OpeningOfFunctions() {
  api::OpenJob open = Opening();
  open.settings.packages = Functions().packages;
  return open;
}

TEST(PackagesTest, AJobOfFunctionsIsRefusedWhereNobodyMayRunThem) {
  Service service({.has_token = true});
  service.Join(Facts(1));
  EXPECT_THAT(service.Send(OpeningOfFunctions()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--allow-python")));
  EXPECT_TRUE(service.dispatcher().state().jobs().empty()) << "nothing is left of it";
  Service open_to_all;
  open_to_all.Join(FactsWith(1, kSame));
  EXPECT_THAT(open_to_all.Send(OpeningOfFunctions()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("token")));
}

TEST(PackagesTest, OnlyWorkersThatFitListAndRunIt) {
  Service service({.has_token = true});
  service.Join(Facts(1));
  service.Join(FactsWith(2, kPythonAlone));
  service.Join(FactsWith(3, {kSame.rbegin(), kSame.rend()}));  // Unsorted.
  service.Accept(OpeningOfFunctions());
  EXPECT_THAT(service.Tell(1).jobs, IsEmpty());
  EXPECT_THAT(service.Tell(2).jobs, IsEmpty());
  EXPECT_THAT(service.Tell(3).jobs, SizeIs(1)) << "it lists the sources";
  api::JobFacts facts = Listed(true);
  facts.python = true;
  service.List(3, facts);
  const api::OpenedJob opened = *service.Send(OpeningOfFunctions());
  EXPECT_TRUE(opened.ready);
  EXPECT_THAT(opened.differences, SizeIs(2)) << "numpy of 2, Python's of 3";
}

TEST(PackagesTest, WhoRestartsWaitsForWorkersBeforeItRefuses) {
  Service service({.has_token = true});
  service.Join(FactsWith(1, kSame));
  service.Start({OpeningOfFunctions()});
  service.Restart();
  service.Join(Facts(2));  // The other has not come back yet.
  api::OpenJob again = OpeningOfFunctions();
  again.opening = 2;
  EXPECT_THAT(service.Send(again), IsOk());
}

}  // namespace
}  // namespace millrace::control
