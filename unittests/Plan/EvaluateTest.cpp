//===- EvaluateTest.cpp - Values of one call ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the values computed for a call, and the errors for invalid calls.
//===----------------------------------------------------------------------===//

#include "TestManifest.h"
#include "mx/Plan/Plan.h"

#include <gtest/gtest.h>

using namespace mx::plan;

namespace {

class Evaluate : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(readManifest(kTestManifest, manifest), "");
    inputs.shapes = {{300, 64}, {}, {}};
    inputs.integers = {0, 5, 0};
    inputs.argumentAddresses = {4096, 0, 0};
    inputs.resultAddresses = {8192};
    inputs.hasAddresses = true;
    inputs.constants = &manifest.constants;
    inputs.constantAddresses = {12288};
    inputs.smCount = 2;
  }
  Entry &entry() { return manifest.entries[0]; }
  std::string run() { return evaluate(entry(), inputs, numbers); }

  Manifest manifest;
  Inputs inputs;
  Numbers numbers;
};

TEST_F(Evaluate, Values) {
  ASSERT_EQ(run(), "");
  EXPECT_EQ(numbers.values, (std::vector<int64_t>{3, 1536, 0, 1, 2, 38400, 5}));
  EXPECT_EQ(getBytes(entry(), {Buffer::Argument, 0}, numbers), 300 * 64 * 2);
  EXPECT_EQ(getBytes(entry(), {Buffer::Result, 0}, numbers), 300 * 64 * 2);
  EXPECT_EQ(getBytes(entry(), {Buffer::Work, 0}, numbers), 1536);
  EXPECT_EQ(getBytes(entry(), {Buffer::Constant, 0}, numbers), 16);
  EXPECT_EQ(numbers.get(Number(Number::ConstantAddress, 0)), 12288);
}

TEST_F(Evaluate, Bits) {
  inputs.integers[2] = 0x3F800000;
  entry().values.push_back(
      {Operator::Add, {Number(Number::ArgumentBits, 2), 1, 0}, {}, {}, {}});
  ASSERT_EQ(run(), "");
  EXPECT_EQ(numbers.values.back(), 0x3F800001);
}

TEST_F(Evaluate, SizeArguments) {
  // Sizes follow from shapes alone: v6 is computed from n but is only a kernel
  // parameter.
  EXPECT_EQ(findSizeArguments(entry()),
            (std::vector<bool>{false, false, false}));
  entry().workspaceBytes = Number(Number::Value, 6);
  EXPECT_EQ(findSizeArguments(entry()),
            (std::vector<bool>{false, true, false}));
  entry().results[0].shape[1] = Number(Number::ArgumentBits, 2);
  EXPECT_EQ(findSizeArguments(entry()), (std::vector<bool>{false, true, true}));
}

TEST_F(Evaluate, Shapes) {
  inputs.shapes[0] = {300, 63};
  EXPECT_EQ(run(), "argument 0 'x': expected dimension 1 to be 64, found 63");
  inputs.shapes[0] = {-1, 64};
  EXPECT_EQ(run(),
            "argument 0 'x': expected dimension 0 to be at least 0, found -1");
  inputs.shapes[0] = {INT64_MAX / 64, 64};
  EXPECT_EQ(run(), "argument 0 'x': its size does not fit into 64 bits");
}

TEST_F(Evaluate, Requirement) {
  inputs.argumentAddresses[0] = 4104;
  EXPECT_EQ(run(), "x.mlir:1:2: expected an address of 16 bytes, found 8");
  // Without addresses, checks on addresses are skipped.
  inputs.hasAddresses = false;
  EXPECT_EQ(run(), "");
}

TEST_F(Evaluate, ArithmeticErrors) {
  Expression &value = entry().values[0];
  value.op = Operator::CeilDiv;
  value.operands = {Number(Number::Extent, 0, 0), 0, 0};
  EXPECT_EQ(run(), "a size computed from the arguments: expected a divisor of "
                   "at least 1, found 0");
  value.place = "x.mlir:3:5: ";
  EXPECT_EQ(run(), "x.mlir:3:5: expected a divisor of at least 1, found 0");
  value.place.clear();
  value.op = Operator::Mul;
  value.operands[1] = INT64_MAX;
  EXPECT_EQ(run(), "a size computed from the arguments: 300 * "
                   "9223372036854775807 does not fit into 64 bits");
}

TEST_F(Evaluate, Workspace) {
  entry().workBuffers[0].offset = 256;
  EXPECT_EQ(run(), "expected buffer 0 at a multiple of 256 within the 1536 "
                   "bytes of the workspace, found 1536 bytes at 256");
  entry().workBuffers[0] = {64, 0};
  EXPECT_EQ(run(), "expected buffer 0 at a multiple of 256 within the 1536 "
                   "bytes of the workspace, found 0 bytes at 64");
  entry().workspaceBytes = -1;
  EXPECT_EQ(run(), "expected a workspace of at least 0 bytes, found -1");
}

TEST_F(Evaluate, Steps) {
  entry().steps[3].bytes = 38401;
  EXPECT_EQ(run(),
            "step 3 of the plan: expected a size within the 38400 bytes of its "
            "buffers, found 38401");
  entry().steps[3].bytes = 0;
  entry().steps[1].parameters[3].number = int64_t(1) << 31;
  EXPECT_EQ(run(), "step 1 of the plan: expected a parameter of 32 bits, found "
                   "2147483648");
}

/// Fixture for rank 1 of the entry in which two ranks exchange rows.
class EvaluateExchange : public Evaluate {
protected:
  void SetUp() override {
    Evaluate::SetUp();
    inputs.shapes = {{64, 16}};
    inputs.integers = {0};
    inputs.groups = &manifest.groups;
    inputs.ranks = {1, 3};
    inputs.peers = {0, 4096};
    inputs.windowAddresses = {65536, 73728, 131072};
  }
  std::string run() { return evaluate(exchange(), inputs, numbers); }
  Entry &exchange() { return manifest.entries[3]; }
};

TEST_F(EvaluateExchange, Values) {
  ASSERT_EQ(run(), "");
  EXPECT_EQ(numbers.values, (std::vector<int64_t>{4096, 65536 + 4096, 4096}));
  EXPECT_EQ(numbers.get(exchange().results[0].value), 1);
  EXPECT_EQ(numbers.get(Number(Number::Rank, 1)), 3);
  EXPECT_EQ(numbers.get(Number(Number::Peers, 1)), 4096);
  EXPECT_EQ(getBytes(exchange(), {Buffer::Window, 2}, numbers), 512);
  EXPECT_EQ(numbers.getAddress({Buffer::Window, 1}), 73728);
  numbers.choose({Buffer::Chosen, 0}, {Buffer::Window, 2});
  EXPECT_EQ(numbers.get(Number(Number::ChosenAddress, 0)), 131072);
  EXPECT_EQ(getBytes(exchange(), {Buffer::Chosen, 0}, numbers), 512);
}

TEST_F(EvaluateExchange, Barriers) {
  inputs.peers = {4096, 0};
  EXPECT_EQ(run(), "step 7 of the plan: expected a barrier only if the ranks "
                   "of group 'tp' map each other's windows");
}

TEST_F(EvaluateExchange, Sizes) {
  inputs.shapes = {{65, 16}};
  EXPECT_EQ(run(),
            "step 3 of the plan: expected a size within the 8192 bytes of its "
            "buffers, found 4160 for each of 2 ranks");
  inputs.shapes = {{1, 16}};
  EXPECT_EQ(run(), "");
  exchange().steps[3].bytes = 0;
  EXPECT_EQ(run(), "");
  exchange().steps[2].bytes = 4097;
  EXPECT_EQ(run(),
            "step 2 of the plan: expected a size within the 8192 bytes of its "
            "buffers, found 4097 for each of 2 ranks");
  exchange().steps[2].bytes = -1;
  EXPECT_EQ(run(),
            "step 2 of the plan: expected a size within the 8192 bytes of its "
            "buffers, found -1 for each of 2 ranks");
  // Twice this size overflows 64 bits.
  exchange().steps[2].bytes = INT64_MAX;
  EXPECT_EQ(run(),
            "step 2 of the plan: expected a size within the 8192 bytes of its "
            "buffers, found 9223372036854775807 for each of 2 ranks");
}

/// Checks copies to an offset within a buffer.
TEST_F(EvaluateExchange, Places) {
  ASSERT_EQ(exchange().steps[5].offset, Number(Number::Value, 0));
  inputs.shapes = {{1, 16}};
  auto expectPlace = [&](Number offset, const std::string &error) {
    exchange().steps[5].offset = offset;
    EXPECT_EQ(run(), error);
  };
  expectPlace(8192 - 64, "");
  expectPlace(8192 - 63,
              "step 5 of the plan: expected a size within the 63 bytes of its "
              "buffers, found 64");
  for (int64_t offset : {int64_t(-1), int64_t(8193), INT64_MAX})
    expectPlace(offset,
                "step 5 of the plan: expected a copy destination within "
                "the 8192 bytes of its buffer, found byte " +
                    std::to_string(offset));
}

TEST_F(EvaluateExchange, SizesOfSentBuffers) {
  exchange().windows[0].bytes = 4096;
  exchange().steps[2].bytes = 2048;
  EXPECT_EQ(run(),
            "step 3 of the plan: expected a size within the 4096 bytes of its "
            "buffers, found 4096 for each of 2 ranks");
}

TEST_F(EvaluateExchange, Overlap) {
  const char *text = "step 3 of the plan: expected buffers that do not "
                     "overlap, found win0 and win1";
  inputs.windowAddresses[1] = 65536 + 8191;
  EXPECT_EQ(run(), text);
  inputs.windowAddresses[1] = 65536 - 8191;
  EXPECT_EQ(run(), text);
  inputs.windowAddresses[1] = 65536 - 8192;
  EXPECT_EQ(run(), "");
  inputs.windowAddresses[1] = 65536;
  EXPECT_EQ(run(), text);
  inputs.hasAddresses = false;
  EXPECT_EQ(run(), "");
}

/// A buffer chosen by an earlier step is known when its step is checked.
TEST_F(EvaluateExchange, ChosenWindows) {
  ASSERT_EQ(run(), "");
  Step gather = exchange().steps[2];
  gather.to = {Buffer::Chosen, 0};
  numbers.choose(gather.to, {Buffer::Window, 1});
  EXPECT_EQ(check(exchange(), gather, numbers), "");
  numbers.choose(gather.to, {Buffer::Window, 2});
  EXPECT_EQ(check(exchange(), gather, numbers),
            "expected a window of group 'ep', found win2 of 'tp'");
}

TEST_F(Evaluate, Results) {
  entry().results[0].shape[0] = -1;
  EXPECT_EQ(run(), "result 0: expected dimensions of at least 0 and a size of "
                   "64 bits, found dimension -1");
}

} // namespace
