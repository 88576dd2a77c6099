//===- WorldTest.cpp - Kernels that run together on several devices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the interface of a world; simulator/test/World covers the protocols.
//===----------------------------------------------------------------------===//

#include "mxsim/World.h"

#include "PtxRunner.h"

#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

/// Waits until `from` is 1, then writes `value` to `to`, and 1 to `flag`.
constexpr const char *kPass = R"(
.visible .entry pass(.param .u64 from, .param .u64 to, .param .u64 flag, .param .u32 value)
{
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [flag];
  ld.param.u32 %r0, [value];
TEST:
  ld.acquire.sys.global.u32 %r1, [%rd0];
  setp.ne.u32 %p0, %r1, 1;
  @%p0 bra TEST;
  st.global.u32 [%rd1], %r0;
  st.release.sys.global.u32 [%rd2], 1;
  ret;
}
)";

class WorldTest : public ::testing::Test {
protected:
  void make(unsigned devices, uint64_t seed = 0) {
    WorldConfig config;
    config.devices = devices;
    config.seed = seed;
    config.capacity = 1 << 20;
    world.emplace(config);
    for (unsigned k = 0; k < devices; ++k) {
      std::vector<Diagnostic> errors;
      modules.push_back(Module::parse(moduleOf(kPass), "pass", errors));
      ASSERT_TRUE(modules.back());
      words.push_back(world->memory(k).alloc(8, 256, "words"));
      world->memory(k).fill(words[k], 0, 8);
      EXPECT_TRUE(world->memory(k).share(words[k]));
    }
  }
  /// Launches a kernel that waits for the flag of device `from`, then writes
  /// `value` and the flag of device `to`.
  void launch(unsigned device, unsigned from, unsigned to, uint32_t value) {
    LaunchConfig config;
    config.kernel = "pass";
    for (uint64_t address : {words[from], words[to] + 4, words[to]})
      addParameter(config, address);
    addParameter(config, value);
    world->launch(device, *modules[device], config);
  }
  void set(unsigned device) {
    uint32_t one = 1;
    world->memory(device).copyIn(words[device], &one, sizeof one);
  }
  uint32_t value(unsigned device) {
    uint32_t v = 0;
    world->memory(device).copyOut(&v, words[device] + 4, sizeof v);
    return v;
  }

  std::optional<World> world;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<uint64_t> words;
};

TEST_F(WorldTest, RunsKernelsThatWaitForEachOther) {
  make(4, 3);
  ASSERT_EQ(world->devices(), 4u);
  // Each launch waits for the next launch, and the last launch for the host.
  for (unsigned k = 0; k < 3; ++k)
    launch(k, k + 1, k, 10 + k);
  launch(3, 3, 3, 13);
  world->call(3, [] {});
  set(3);
  std::vector<LaunchReport> reports = world->run();
  ASSERT_EQ(reports.size(), 4u);
  for (unsigned k = 0; k < 4; ++k) {
    EXPECT_TRUE(reports[k].clean()) << reports[k].text();
    EXPECT_TRUE(reports[k].isComplete);
    EXPECT_EQ(reports[k].facts.device, int(k));
    EXPECT_EQ(value(k), 10 + k);
  }
  EXPECT_TRUE(world->run().empty());
}

TEST_F(WorldTest, CallsStepsOfTheHostInOrder) {
  make(2);
  bool wasDone = false;
  launch(0, 0, 1, 5);
  world->call(0, [&] { wasDone = value(1) == 5; });
  launch(1, 1, 1, 6);
  set(0);
  for (const LaunchReport &r : world->run())
    EXPECT_TRUE(r.isComplete);
  EXPECT_TRUE(wasDone);
  EXPECT_EQ(value(1), 6u);
}

TEST_F(WorldTest, NamesWaitsOfAllDevices) {
  make(2);
  launch(0, 0, 1, 1);
  launch(0, 0, 1, 1);
  launch(1, 1, 0, 1);
  std::vector<LaunchReport> reports = world->run();
  // The second launch of device 0 has not begun.
  ASSERT_EQ(reports.size(), 2u);
  for (unsigned k = 0; k < 2; ++k) {
    EXPECT_EQ(reports[k].status, LaunchStatus::Deadlock);
    ASSERT_EQ(reports[k].findings.size(), 1u);
    EXPECT_EQ(reports[k].findings[0].device, int(k));
    EXPECT_NE(reports[k].findings[0].message.find(
                  "offset 0 of buffer 'words' of 8 bytes on device " +
                  std::to_string(k) + ", where it has read 0"),
              std::string::npos)
        << reports[k].text();
  }
}

TEST(WorldMemoryTest, SharesWholeAllocations) {
  WorldConfig config;
  config.devices = 2;
  World world(config);
  DeviceMemory &first = world.memory(0), &second = world.memory(1);
  uint64_t address = second.alloc(16, 256, "data");
  uint32_t word = 7;
  EXPECT_FALSE(first.copyIn(address, &word, 4));
  EXPECT_FALSE(second.share(address + 4));
  EXPECT_TRUE(second.share(address));
  EXPECT_TRUE(first.copyIn(address, &word, 4));
  EXPECT_TRUE(first.isOfPeer(address));
  EXPECT_FALSE(second.isOfPeer(address));
  EXPECT_FALSE(first.free(address));
  EXPECT_FALSE(first.copyIn(address + 13, &word, 4));
  EXPECT_TRUE(second.free(address));
  EXPECT_FALSE(first.copyIn(address, &word, 4));
}

} // namespace
