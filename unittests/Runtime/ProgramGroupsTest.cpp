//===- ProgramGroupsTest.cpp - Programs of several ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank is a thread with its own simulated device and program. Exchanged
// data is compared with sums computed on the host.
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "FakeGroup.h"
#include "GroupFiles.h"

#include "mx_program.h"

#include <array>
#include <functional>
#include <thread>

using namespace mx;
using namespace mx::runtime;

Error mx::runtime::findCollectives(mxGroup handle,
                                   std::shared_ptr<Collectives> &ranks) {
  auto found = fakeGroups.find(handle);
  if (found == fakeGroups.end())
    return invalidValue("expected a group, found none");
  ranks = found->second;
  return {};
}

namespace {

constexpr size_t kSize = sizeof(mxArgument);
constexpr int kRanks = 2;
constexpr size_t kRow = 64;
using Floats = std::vector<float>;

/// A rank of the group, run as a thread.
struct Rank {
  int number = 0;
  mxGroup group = nullptr;
  FakeGroup *fake = nullptr;
  mxProgram program = nullptr;
  /// Memory for two rows each, used by all entries.
  void *x = nullptr, *y = nullptr, *z = nullptr, *workspace = nullptr;
};

class ProgramGroups : public Devices {
protected:
  void SetUp() override {
    Devices::SetUp();
    auto meeting = std::make_shared<Meeting>(kRanks);
    for (int i = 0; i < kRanks; ++i) {
      use(i);
      Rank &rank = ranks[size_t(i)];
      rank.number = i;
      rank.group = makeFakeGroup(meeting, i, kRanks);
      rank.fake = fakeGroups[rank.group].get();
      load(rank, kGroupManifest);
      for (void **memory : {&rank.x, &rank.y, &rank.z, &rank.workspace})
        ASSERT_SUCCESS(mxMemAlloc(memory, 512));
    }
  }
  void TearDown() override {
    for (Rank &rank : ranks) {
      EXPECT_SUCCESS(mxProgramUnload(rank.program));
      for (void *memory : {rank.x, rank.y, rank.z, rank.workspace})
        EXPECT_SUCCESS(mxMemFree(memory));
    }
    fakeGroups.clear();
  }

  static void load(Rank &rank, const std::string &manifest) {
    std::string kernels = readFile(MX_TEST_KERNELS);
    ASSERT_SUCCESS(mxProgramLoadData(&rank.program, manifest.data(),
                                     manifest.size(), kernels.data(),
                                     kernels.size(), "kernels.ptx"));
  }
  /// Runs `call` on all ranks at once, each on its device.
  void onRanks(const std::function<void(Rank &)> &call) {
    std::vector<std::thread> threads;
    for (Rank &rank : ranks)
      threads.emplace_back([&] {
        use(rank.number);
        call(rank);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  void bind() {
    onRanks([](Rank &rank) {
      EXPECT_SUCCESS(mxProgramBindGroup(rank.program, "ep", rank.group));
    });
  }

  static void upload(void *memory, const Floats &values) {
    ASSERT_SUCCESS(
        mxMemcpyToDevice(memory, values.data(), values.size() * 4, nullptr));
  }
  static Floats download(const void *memory) {
    Floats values(2 * kRow);
    EXPECT_SUCCESS(mxMemcpyToHost(values.data(), memory, 512, nullptr));
    return values;
  }
  static mxEntry find(const Rank &rank, const char *name) {
    mxEntry entry = nullptr;
    EXPECT_SUCCESS(mxProgramGetEntry(&entry, rank.program, name));
    return entry;
  }
  static int exchange(const Rank &rank) {
    const int64_t xShape[] = {64}, yShape[] = {2, 64};
    mxArgument arguments[] = {{kSize, rank.x, xShape}, {kSize, rank.y, yShape}};
    int64_t number = -1;
    void *results[] = {rank.z, &number};
    int status = mxEntryLaunch(find(rank, "exchange"), arguments, 2, results, 2,
                               rank.workspace, 512, nullptr);
    EXPECT_EQ(number, status ? -1 : rank.number);
    return status;
  }
  static int gatherSegments(const Rank &rank, int64_t bytes) {
    mxArgument argument = {kSize, &bytes, nullptr};
    return mxEntryLaunch(find(rank, "segments"), &argument, 1, nullptr, 0,
                         nullptr, 0, nullptr);
  }
  static int mix(const Rank &rank, void *from, void *to) {
    const int64_t shape[] = {128};
    mxArgument arguments[] = {{kSize, from, shape}, {kSize, to, shape}};
    return mxEntryLaunch(find(rank, "mix"), arguments, 2, nullptr, 0, nullptr,
                         0, nullptr);
  }

  /// Return element i of x, and element i of row d of y. The values differ in
  /// every round.
  static float xOf(int rank, int round, size_t i) {
    return float(1000 * rank + 100 * round) + float(i);
  }
  static float yOf(int rank, int round, size_t row, size_t i) {
    return float(64 * rank - 32 * round) + float(row) / 4 + float(i) / 8;
  }
  /// Calls the entry on this rank and checks the result. Uses a cached call
  /// only if the same thread made an equal call before.
  static void expectExchange(const Rank &rank, int round) {
    Floats x(kRow), y(2 * kRow);
    for (size_t i = 0; i < kRow; ++i) {
      x[i] = xOf(rank.number, round, i);
      for (size_t row : {0u, 1u})
        y[row * kRow + i] = yOf(rank.number, round, row, i);
    }
    upload(rank.x, x);
    upload(rank.y, y);
    upload(rank.z, Floats(2 * kRow, -1));
    ASSERT_SUCCESS(exchange(rank));
    Floats z = download(rank.z);
    for (size_t from : {0u, 1u})
      for (size_t i = 0; i < kRow; ++i)
        ASSERT_EQ(z[from * kRow + i],
                  2 * xOf(rank.number, round, i) +
                      yOf(int(from), round, size_t(rank.number), i))
            << "rank " << rank.number << ", segment " << from << ", element "
            << i;
  }

  std::array<Rank, kRanks> ranks;
};

constexpr char kUnbound[] =
    "expected a program that is bound to its group 'ep' of 2 ranks, found an "
    "unbound program: call mxProgramBindGroup (in Python Program.bind) on each "
    "rank";

TEST_F(ProgramGroups, ExchangesRows) {
  bind();
  // Equal calls are cached, but the exchanged data is not.
  onRanks([](Rank &rank) {
    for (int round = 0; round < 3; ++round)
      expectExchange(rank, round);
  });
  for (const Rank &rank : ranks)
    EXPECT_EQ(rank.fake->log, (std::vector<std::string>{
                                  "all_gather 256 exchange 1",
                                  "all_to_all 256 exchange 3 on the lane",
                                  "all_gather 256 exchange 1",
                                  "all_to_all 256 exchange 3 on the lane",
                                  "all_gather 256 exchange 1",
                                  "all_to_all 256 exchange 3 on the lane"}));
}

/// The barrier replaces the collective only if the ranks map their windows. A
/// call from the cache would repeat the previous commands.
TEST_F(ProgramGroups, TakesBarriers) {
  bind();
  for (bool isMapped : {false, true, false}) {
    onRanks([&](Rank &rank) {
      rank.fake->log.clear();
      rank.fake->distances = isMapped ? rank.x : nullptr;
      ASSERT_SUCCESS(mxEntryLaunch(find(rank, "barrier"), nullptr, 0, nullptr,
                                   0, nullptr, 0, nullptr));
    });
    for (const Rank &rank : ranks)
      EXPECT_EQ(rank.fake->log, (std::vector<std::string>{
                                    isMapped ? "barrier 0 barrier 0"
                                             : "all_gather 256 barrier 0"}));
  }
}

/// In each round, a rank adds its x to its current sum.
TEST_F(ProgramGroups, ChoosesWindows) {
  bind();
  for (int64_t rounds : {0, 1, 2, 3})
    onRanks([&](Rank &rank) {
      rank.fake->log.clear();
      upload(rank.x, Floats(kRow, float(rank.number + 1)));
      const int64_t shape[] = {64};
      mxArgument arguments[] = {{kSize, rank.x, shape},
                                {kSize, &rounds, nullptr}};
      int32_t bits = -1;
      void *results[] = {rank.z, &bits};
      ASSERT_SUCCESS(mxEntryLaunch(find(rank, "rounds"), arguments, 2, results,
                                   2, nullptr, 0, nullptr));
      Floats z = download(rank.z);
      for (size_t i = 0; i < z.size(); ++i)
        ASSERT_EQ(z[i], float(rounds) * (i < kRow ? 1.0f : 2.0f)) << i;
      float first;
      memcpy(&first, &bits, sizeof first);
      EXPECT_EQ(first, 2 * float(rounds));
      // The loop is step 1 of the entry.
      EXPECT_EQ(rank.fake->log, std::vector<std::string>(
                                    size_t(rounds), "all_gather 256 rounds 1"));
    });
}

TEST_F(ProgramGroups, ExchangesNothing) {
  bind();
  onRanks([](Rank &rank) {
    for (int round = 0; round < 2; ++round)
      EXPECT_SUCCESS(gatherSegments(rank, 0));
    EXPECT_EQ(rank.fake->log,
              std::vector<std::string>(2, "all_gather 0 segments 0"));
  });
}

TEST_F(ProgramGroups, DescribesGroups) {
  const Rank &rank = ranks[1];
  EXPECT_EQ(mxProgramGroupCount(rank.program), 1);
  mxProgramGroupInfo info = mxSized<mxProgramGroupInfo>();
  ASSERT_SUCCESS(mxProgramGetGroup(rank.program, 0, &info));
  EXPECT_STREQ(info.name, "ep");
  EXPECT_EQ(info.size, 2);
  EXPECT_EQ(info.tokens, 1);
  EXPECT_EQ(info.windowBytes, 3048u);
  EXPECT_EQ(info.rank, -1);
  EXPECT_ERROR(mxProgramGetGroup(rank.program, 1, &info),
               MX_ERROR_INVALID_VALUE,
               "mxProgramGetGroup: expected a number below 1, found 1");
  EXPECT_ERROR(mxProgramGetGroup(rank.program, -1, &info),
               MX_ERROR_INVALID_VALUE,
               "mxProgramGetGroup: expected a number below 1, found -1");
  bind();
  ASSERT_SUCCESS(mxProgramGetGroup(rank.program, 0, &info));
  EXPECT_EQ(info.rank, 1);
  // The size for the largest entry.
  EXPECT_EQ(rank.fake->windowBytes(), 3048u);
  mxClearError();
}

TEST_F(ProgramGroups, RefusesUnboundPrograms) {
  Rank &rank = ranks[0];
  use(0);
  EXPECT_ERROR(exchange(rank), MX_ERROR_INVALID_VALUE,
               std::string("entry 'exchange': ") + kUnbound);
  const int64_t shape[] = {64};
  mxArgument arguments[] = {{kSize, nullptr, shape}, {kSize, nullptr, shape}};
  size_t bytes = 0;
  int64_t extents[2];
  EXPECT_ERROR(
      mxEntryGetWorkspaceBytes(find(rank, "exchange"), arguments, 2, &bytes),
      MX_ERROR_INVALID_VALUE, std::string("entry 'exchange': ") + kUnbound);
  EXPECT_ERROR(
      mxEntryGetResultShape(find(rank, "exchange"), arguments, 2, 0, extents),
      MX_ERROR_INVALID_VALUE, std::string("entry 'exchange': ") + kUnbound);
  EXPECT_TRUE(rank.fake->log.empty());
}

TEST_F(ProgramGroups, RefusesOtherGroups) {
  Rank &rank = ranks[0];
  use(0);
  EXPECT_ERROR(mxProgramBindGroup(rank.program, "tp", rank.group),
               MX_ERROR_NOT_FOUND,
               "expected the group to be one of [ep], found 'tp'");
  EXPECT_ERROR(mxProgramBindGroup(rank.program, "ep", nullptr),
               MX_ERROR_INVALID_VALUE, "expected a group, found none");
  EXPECT_ERROR(mxProgramBindGroup(rank.program, nullptr, rank.group),
               MX_ERROR_INVALID_VALUE,
               "mxProgramBindGroup: expected the name of a group, found a null "
               "pointer");
  mxGroup four = makeFakeGroup(std::make_shared<Meeting>(4), 0, 4);
  EXPECT_ERROR(mxProgramBindGroup(rank.program, "ep", four),
               MX_ERROR_INVALID_VALUE,
               "group 'ep': expected the 2 ranks for which the program was "
               "compiled, found 4: recompile for this number");
  EXPECT_ERROR(exchange(rank), MX_ERROR_INVALID_VALUE,
               std::string("entry 'exchange': ") + kUnbound);
}

TEST_F(ProgramGroups, RefusesOtherPrograms) {
  use(1);
  std::string other = kGroupManifest;
  other.replace(other.find("tokens\": 1"), 10, "tokens\": 2");
  ASSERT_SUCCESS(mxProgramUnload(ranks[1].program));
  load(ranks[1], other);
  onRanks([&](Rank &rank) {
    EXPECT_ERROR(mxProgramBindGroup(rank.program, "ep", rank.group),
                 MX_ERROR_INVALID_VALUE,
                 "expected the hash of the manifest and the mx version on all "
                 "ranks, found two");
    EXPECT_ERROR(exchange(rank), MX_ERROR_INVALID_VALUE,
                 std::string("entry 'exchange': ") + kUnbound);
  });
}

TEST_F(ProgramGroups, RefusesOtherDevices) {
  bind();
  Rank other = ranks[0];
  other.x = ranks[1].x;
  other.y = ranks[1].y;
  other.z = ranks[1].z;
  other.workspace = ranks[1].workspace;
  EXPECT_ERROR(exchange(other), MX_ERROR_INVALID_VALUE,
               "entry 'exchange': group 'ep': expected a call on sim:0, where "
               "the group was bound, found a call on sim:1");
  EXPECT_TRUE(ranks[0].fake->log.empty());
}

/// Windows move if another program needs more memory.
TEST_F(ProgramGroups, WindowsMove) {
  bind();
  onRanks([](Rank &rank) {
    for (int round = 0; round < 4; ++round) {
      expectExchange(rank, round);
      // Move the windows of a single rank, because ranks move their windows
      // independently.
      if (round % 2 == rank.number) {
        ASSERT_FALSE(rank.fake->move(8192));
      }
    }
  });
}

TEST_F(ProgramGroups, RefusesTooLittleMemory) {
  bind();
  ranks[0].fake->reserved = 3047;
  EXPECT_ERROR(exchange(ranks[0]), MX_ERROR_INVALID_VALUE,
               "entry 'exchange': group 'ep': expected memory of at least 3048 "
               "bytes for windows, found 3047");
}

TEST_F(ProgramGroups, RefusesSegmentsThatAreTooLarge) {
  bind();
  use(0); // device of a call without arrays
  EXPECT_ERROR(
      gatherSegments(ranks[0], 257), MX_ERROR_INVALID_VALUE,
      "entry 'segments': step 0 of the plan: expected a size within the 512 "
      "bytes of its buffers, found 257 for each of 2 ranks");
  EXPECT_ERROR(
      gatherSegments(ranks[0], INT64_MAX), MX_ERROR_INVALID_VALUE,
      "entry 'segments': step 0 of the plan: expected a size within the 512 "
      "bytes of its buffers, found 9223372036854775807 for each of 2 "
      "ranks");
  EXPECT_TRUE(ranks[0].fake->log.empty());
}

TEST_F(ProgramGroups, RefusesOverlap) {
  bind();
  auto *bytes = static_cast<uint8_t *>(ranks[0].x);
  for (void *to : {ranks[0].x, static_cast<void *>(bytes + 496)})
    EXPECT_ERROR(
        mix(ranks[0], bytes, to), MX_ERROR_INVALID_VALUE,
        "entry 'mix': step 0 of the plan: expected buffers that do not "
        "overlap, found arg0 and arg1");
  EXPECT_TRUE(ranks[0].fake->log.empty());
  onRanks([](Rank &rank) {
    upload(rank.x, Floats(2 * kRow, float(rank.number + 1)));
    EXPECT_SUCCESS(mix(rank, rank.x, rank.y));
    Floats y = download(rank.y);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[127], 2);
  });
}

/// An error of a collective ends the call; the group may stay usable.
TEST_F(ProgramGroups, ReportsErrorsOfCollectives) {
  bind();
  onRanks([&](Rank &rank) {
    expectExchange(rank, 0);
    rank.fake->failure = "rank 1 left";
    rank.fake->log.clear();
    for (int round = 0; round < 2; ++round)
      EXPECT_ERROR(exchange(rank), MX_ERROR_KERNEL,
                   "entry 'exchange': rank 1 left");
    EXPECT_EQ(rank.fake->log.size(), 2u);
    rank.fake->failure.clear();
    expectExchange(rank, 1);
  });
}

TEST_F(ProgramGroups, RefusesEndedGroups) {
  bind();
  onRanks([&](Rank &rank) {
    expectExchange(rank, 0);
    rank.fake->log.clear();
    rank.fake->ended = "rank 1 left";
    EXPECT_ERROR(exchange(rank), MX_ERROR_INTERNAL,
                 "entry 'exchange': rank 1 left");
    EXPECT_TRUE(rank.fake->log.empty());
  });
}

/// Another group replaces the first, and the program releases the first.
TEST_F(ProgramGroups, BindsAnotherGroup) {
  bind();
  auto meeting = std::make_shared<Meeting>(kRanks);
  std::array<std::weak_ptr<FakeGroup>, kRanks> old;
  std::array<mxGroup, kRanks> others;
  for (const Rank &rank : ranks) {
    old[size_t(rank.number)] = fakeGroups[rank.group];
    fakeGroups.erase(rank.group);
    others[size_t(rank.number)] = makeFakeGroup(meeting, rank.number, kRanks);
  }
  onRanks([&](Rank &rank) {
    expectExchange(rank, 0);
    expectExchange(rank, 1);
    EXPECT_FALSE(old[size_t(rank.number)].expired());
    rank.group = others[size_t(rank.number)];
    ASSERT_SUCCESS(mxProgramBindGroup(rank.program, "ep", rank.group));
    EXPECT_TRUE(old[size_t(rank.number)].expired());
    expectExchange(rank, 2);
    EXPECT_EQ(fakeGroups[rank.group]->log.size(), 2u);
  });
}

/// Unloading a program releases its group.
TEST_F(ProgramGroups, UnloadsWithItsGroup) {
  bind();
  std::weak_ptr<FakeGroup> group = fakeGroups[ranks[0].group];
  fakeGroups.erase(ranks[0].group);
  EXPECT_FALSE(group.expired());
  ASSERT_SUCCESS(mxProgramUnload(ranks[0].program));
  ranks[0].program = nullptr;
  EXPECT_TRUE(group.expired());
}

} // namespace
