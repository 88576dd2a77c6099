//===- GroupMessagesTest.cpp - Failure reports and progress of groups -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/group/Inquiry.h"
#include "../../runtime/lib/group/Progress.h"

#include <gtest/gtest.h>
#include <thread>

using namespace mx::runtime;

namespace {

const Operation kForward = {Operation::AllGather, 512, 7, "forward", 7};
const Operation kBackward = {Operation::AllToAll, 64, 8, "backward", 2};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

TEST(Operations, HeadersRoundTrip) {
  Header header(kForward);
  EXPECT_TRUE(header == Header(kForward));
  EXPECT_EQ(header.toOperation().describe(), "all_gather, step 7 of @forward");
  EXPECT_EQ((Operation{Operation::AllToAll, 1, 5, "", -1}).describe(),
            "all_to_all (collective 5 of the group)");
}

TEST(Operations, EveryFieldIsCompared) {
  auto differs = [](auto change) {
    Operation other = kForward;
    change(other);
    EXPECT_FALSE(Header(other) == Header(kForward));
  };
  differs([](Operation &o) { o.kind = Operation::AllToAll; });
  differs([](Operation &o) { ++o.bytes; });
  differs([](Operation &o) { ++o.sequence; });
  differs([](Operation &o) { ++o.step; });
  differs([](Operation &o) { o.entry = "forwarD"; });
  // The names differ only after the transmitted prefix.
  Operation a = kForward, b = kForward;
  a.entry = std::string(100, 'x') + "a";
  b.entry = std::string(100, 'x') + "b";
  EXPECT_FALSE(Header(a) == Header(b));
  EXPECT_EQ(Header(a).toOperation().entry, std::string(63, 'x'));
}

TEST(Operations, MismatchesDescribeBothOperations) {
  for (bool isSwapped : {false, true}) {
    Failure failure = isSwapped
                          ? describeMismatch("ep", 3, kBackward, 1, kForward)
                          : describeMismatch("ep", 1, kForward, 3, kBackward);
    EXPECT_EQ(failure.status, MX_ERROR_MISMATCH);
    EXPECT_EQ(failure.rank, 3);
    EXPECT_EQ(failure.text,
              "group ep: the ranks differ: rank 1 is at all_gather, step 7 of "
              "@forward of 512 bytes, rank 3 is at all_to_all, step 2 of "
              "@backward of 64 bytes");
  }
}

TEST(Operations, FailuresRoundTrip) {
  Failure sent = {MX_ERROR_PEER, 3, 1, 7, 123456789, "forward", "text"};
  Failure got;
  ASSERT_TRUE(Failure::parse(sent.serialize(), got));
  EXPECT_EQ(got.status, sent.status);
  EXPECT_EQ(got.rank, sent.rank);
  EXPECT_EQ(got.step, sent.step);
  EXPECT_EQ(got.entry, sent.entry);
  EXPECT_EQ(got.text, sent.text);
  EXPECT_TRUE(got.isSame(sent));
  std::string bytes = sent.serialize();
  EXPECT_FALSE(Failure::parse(bytes.substr(0, 20), got));
  bytes[12] = '\x7f'; // a wrong size of the entry
  EXPECT_FALSE(Failure::parse(bytes, got));
}

//===----------------------------------------------------------------------===//
// Blame
//===----------------------------------------------------------------------===//

class Judgement : public testing::Test {
protected:
  /// Returns the verdict of rank 0 (of four ranks) after a wait of two seconds.
  Failure judge() {
    Inquiry inquiry("ep", 0, 4,
                    {kForward, Clock::now() - std::chrono::seconds(2)});
    for (int i = 1; i < 4; ++i)
      if (places[size_t(i)])
        inquiry.hear(i, *places[size_t(i)]);
    return inquiry.judge(isGone);
  }
  void expect(int rank, const std::string &begin, const std::string &end) {
    Failure failure = judge();
    EXPECT_EQ(failure.rank, rank);
    EXPECT_EQ(failure.entry, "forward");
    EXPECT_EQ(failure.step, 7);
    EXPECT_EQ(failure.text.substr(0, begin.size()), begin) << failure.text;
    EXPECT_EQ(failure.text.substr(failure.text.size() - end.size()), end)
        << failure.text;
  }
  /// By default, all ranks wait in the same operation.
  std::vector<std::optional<Place>> places{size_t(4), Place{true, kForward}};
  std::vector<bool> isGone{false, false, false, false};
};

TEST_F(Judgement, NoRankIsMissing) {
  expect(-1,
         "group ep: all ranks are at all_gather, step 7 of @forward "
         "(waited 2 s)",
         ", and no data moves");
}

TEST_F(Judgement, RanksHaveNotArrived) {
  places[2] = Place{false, kBackward};
  expect(2,
         "group ep: rank 2 did not arrive at all_gather, step 7 of @forward "
         "(waited 2 s)",
         "(waited 2 s)");
  places[1] = Place{};
  expect(1, "group ep: ranks 1 and 2 did not arrive at all_gather", "s)");
}

TEST_F(Judgement, RankIsSilent) {
  places[1] = Place{false, kBackward};
  places[3] = std::nullopt;
  expect(3, "group ep: rank 3 did not arrive at all_gather",
         ": no answer, the process may be stopped");
}

TEST_F(Judgement, RankHasLeft) {
  places[3] = std::nullopt;
  isGone[3] = true;
  places[2] = std::nullopt;
  expect(3, "group ep: rank 3 left before the end of all_gather",
         ": the group was destroyed there");
}

TEST_F(Judgement, RankRunsAnotherOperation) {
  places[2] = Place{true, kBackward};
  Failure failure = judge();
  EXPECT_EQ(failure.status, MX_ERROR_MISMATCH);
  EXPECT_EQ(failure.rank, 2);
  // A CUDA graph repeats the same operation.
  Operation again = kForward;
  again.sequence = 99;
  places[2] = Place{true, again};
  EXPECT_EQ(judge().rank, -1);
}

/// Long names are truncated in the reply.
TEST(Inquiries, CompareLongNames) {
  Operation operation = kForward;
  operation.entry = std::string(100, 'x');
  Inquiry inquiry("ep", 0, 2, {operation, Clock::now()});
  Place place;
  ASSERT_TRUE(Place::parse(Place{true, operation}.serialize(), place));
  inquiry.hear(1, place);
  EXPECT_EQ(inquiry.judge({false, false}).rank, -1);
}

TEST(Places, Travel) {
  Place place;
  EXPECT_EQ(Place().describe(), " before the first collective");
  ASSERT_TRUE(Place::parse(Place{true, kForward}.serialize(), place));
  EXPECT_EQ(place.describe(), " during all_gather, step 7 of @forward");
  ASSERT_TRUE(Place::parse(Place{false, kForward}.serialize(), place));
  EXPECT_EQ(place.describe(), " after all_gather, step 7 of @forward");
  EXPECT_FALSE(Place::parse("short", place));
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Device that fills host memory, as a GPU does to report its progress.
class FillingDevice final : public Device {
public:
  FillingDevice() : Device(Kind::Sim, 0) {}
  Error fill(void *to, uint32_t value, unsigned width, size_t count,
             void *) override {
    EXPECT_EQ(width, 4u);
    for (size_t i = 0; i < count; ++i)
      static_cast<volatile uint32_t *>(to)[i] = value;
    return {};
  }
  Error registerHost(void *, size_t) override { return {}; }

  mxDeviceInfo info() override { return {}; }
  Limits limits() override { return {}; }
  bool canRun(std::string_view) override { return false; }
  Error alloc(size_t, bool, void *&) override { return none(); }
  Error free(void *) override { return none(); }
  Error copy(Copy, void *, const void *, size_t, void *) override {
    return none();
  }
  Error unregisterHost(void *) override { return none(); }
  Error createStream(void *&, bool) override { return none(); }
  Error destroyStream(void *) override { return none(); }
  Error synchronizeStream(void *) override { return none(); }
  Error createEvent(void *&) override { return none(); }
  Error destroyEvent(void *) override { return none(); }
  Error synchronizeEvent(void *) override { return none(); }
  Error recordEvent(void *, void *) override { return none(); }
  Error waitEvent(void *, void *) override { return none(); }
  Error synchronize() override { return none(); }
  Error load(Image &, int, std::unique_ptr<Module> &) override {
    return none();
  }
  Error launch(Function &, const Launch &, void **, int64_t) override {
    return none();
  }
  Error encodeTensorMap(void *, const mx::target::TensorMapDesc &) override {
    return none();
  }

private:
  static Error none() { return {MX_ERROR_UNSUPPORTED, "not in this test"}; }
};

class Words : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(progress.open()); }
  static void pass() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  FillingDevice device;
  Progress progress{device};
};

TEST_F(Words, EqualCollectivesShareANumber) {
  uint32_t first = progress.getNumber(kForward);
  EXPECT_EQ(progress.getNumber(kBackward), first + 1);
  Operation again = kForward;
  again.sequence = 100;
  EXPECT_EQ(progress.getNumber(again), first);
  again.bytes = 1;
  EXPECT_EQ(progress.getNumber(again), first + 2);
}

TEST_F(Words, ReportTheGpusPosition) {
  EXPECT_EQ(progress.getPlace().describe(), " before the first collective");
  uint32_t number = progress.getNumber(kForward);
  ASSERT_FALSE(progress.markBegin(number, nullptr));
  EXPECT_EQ(progress.getPlace().describe(),
            " during all_gather, step 7 of @forward");
  ASSERT_FALSE(progress.markEnd(number, nullptr));
  EXPECT_EQ(progress.getPlace().describe(),
            " after all_gather, step 7 of @forward");
}

TEST_F(Words, SlowCollectivesAreDetected) {
  uint32_t number = progress.getNumber(kForward);
  EXPECT_FALSE(progress.look());
  ASSERT_FALSE(progress.markBegin(number, nullptr));
  std::optional<Stall> seen = progress.look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->operation.describe(), "all_gather, step 7 of @forward");
  Clock::time_point begin = seen->begin;
  for (int i = 0; i < 3; ++i) {
    pass();
    seen = progress.look();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->begin, begin);
  }
  ASSERT_FALSE(progress.markEnd(number, nullptr));
  EXPECT_FALSE(progress.look());
}

/// The watchdog never observes the time between two launches of a graph with a
/// single collective.
TEST_F(Words, RepeatedCollectivesAreDistinguished) {
  uint32_t number = progress.getNumber(kForward);
  ASSERT_FALSE(progress.markBegin(number, nullptr));
  std::optional<Stall> seen = progress.look();
  ASSERT_TRUE(seen);
  for (int i = 0; i < 3; ++i) {
    Clock::time_point before = seen->begin;
    pass();
    ASSERT_FALSE(progress.markEnd(number, nullptr));
    ASSERT_FALSE(progress.markBegin(number, nullptr));
    seen = progress.look();
    ASSERT_TRUE(seen);
    EXPECT_GT(seen->begin, before);
  }
}

} // namespace
