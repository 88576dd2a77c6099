//===- CompareTest.cpp - Detection of wrong results -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All other tests rely on the comparison with the reference path. These tests
// check that the comparison detects a single wrong value.
//===----------------------------------------------------------------------===//

#include "TestArrays.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace mx;

namespace {

constexpr int64_t kM = 40, kN = 24, kK = 256;

const char *const kSource = R"(
func.func @main(%x: tensor<40x256xbf16>,
                %b: tensor<24x256xf8E4M3FN>, %sb: tensor<24x8xf8E8M0FNU>)
    -> tensor<40x24xf32> {
  %e = tensor.empty() : tensor<40x256xf8E4M3FN>
  %s = tensor.empty() : tensor<40x8xf8E8M0FNU>
  %q:2 = mx.quantize ins(%x : tensor<40x256xbf16>)
      outs(%e, %s : tensor<40x256xf8E4M3FN>, tensor<40x8xf8E8M0FNU>)
      -> tensor<40x256xf8E4M3FN>, tensor<40x8xf8E8M0FNU>
  %init = tensor.empty() : tensor<40x24xf32>
  %y = mx.matmul ins(%q#0, %q#1, %b, %sb : tensor<40x256xf8E4M3FN>,
      tensor<40x8xf8E8M0FNU>, tensor<24x256xf8E4M3FN>, tensor<24x8xf8E8M0FNU>)
      outs(%init : tensor<40x24xf32>) -> tensor<40x24xf32>
  return %y : tensor<40x24xf32>
}
)";

class CompareTest : public ::testing::Test {
protected:
  CompareTest()
      : context(makeExecutionRegistry(), MLIRContext::Threading::DISABLED) {
    module = parseSourceString<ModuleOp>(kSource, &context);
    auto entry = lookupEntry(*module, "main");
    EXPECT_TRUE(bool(entry));
    list = *exposeIntermediates(*entry);

    std::mt19937 random(7);
    arguments = {makeArray("u2", {kM, kK}), makeArray("u1", {kN, kK}),
                 makeArray("u1", {kN, kK / 32})};
    fillBF16(arguments[0], random);
    fillE4M3(arguments[1], random);
    for (uint8_t &scale : arguments[2].data)
      scale = 120 + random() % 8;

    OwningOpRef<ModuleOp> lowered = module->clone();
    auto program = Program::compile(*lowered, "main", CompileOptions());
    EXPECT_TRUE(bool(program));
    auto run = (*program)->run({&arguments[0], &arguments[1], &arguments[2]});
    EXPECT_TRUE(bool(run));
    results = std::move(*run);
  }

  IntermediateArrays arraysOf(const ComparedOp &stage) {
    return collectArrays(stage, arguments, results);
  }

  OpComparison compare(const ComparedOp &stage,
                       const IntermediateArrays &arrays) {
    auto comparison = compareOp(programs, stage, arrays, CompileOptions());
    EXPECT_TRUE(bool(comparison));
    return std::move(*comparison);
  }

  /// Computes the matmul of `operands` as a device would.
  NpyArray multiply(const IntermediateArrays &operands) {
    auto stage = buildAlone(matmul(), operands, OpVariant::Same);
    EXPECT_TRUE(bool(stage));
    auto program = Program::compile(**stage, "stage", CompileOptions());
    EXPECT_TRUE(bool(program));
    SmallVector<const NpyArray *> inputs;
    for (const NpyArray *operand : operands.operands)
      if (operand)
        inputs.push_back(operand);
    auto run = (*program)->run(inputs);
    EXPECT_TRUE(bool(run));
    return std::move(run->front());
  }

  const ComparedOp &quantizer() { return list.stages[0]; }
  const ComparedOp &matmul() { return list.stages[1]; }

  MLIRContext context;
  ReferencePrograms programs;
  OwningOpRef<ModuleOp> module;
  IntermediateList list;
  std::vector<NpyArray> arguments, results;
};

TEST_F(CompareTest, FindsBothStages) {
  ASSERT_EQ(list.stages.size(), 2u);
  EXPECT_TRUE(list.hidden.empty());
  EXPECT_EQ(list.ownResults, 1u);
}

TEST_F(CompareTest, AcceptsCorrectResults) {
  for (const ComparedOp &stage : list.stages)
    for (const ResultComparison &result :
         compare(stage, arraysOf(stage)).results) {
      EXPECT_TRUE(result.passed());
      EXPECT_GT(result.elements, 0);
    }
}

TEST_F(CompareTest, CountsUnequalQuantizerBytes) {
  IntermediateArrays arrays = arraysOf(quantizer());
  NpyArray codes = *arrays.results[0], scales = *arrays.results[1];
  codes.data[100] ^= 1;
  codes.data[2000] ^= 0x80;
  scales.data[7] += 1;
  arrays.results = {&codes, &scales};
  OpComparison comparison = compare(quantizer(), arrays);
  EXPECT_EQ(comparison.results[0].unequalBytes, 2);
  EXPECT_EQ(comparison.results[0].worst, 100);
  EXPECT_EQ(comparison.results[1].unequalBytes, 1);
  EXPECT_FALSE(comparison.results[0].passed());
}

// The bound detects an error of 1 in a single scale, and an error of one code
// in a single element.
TEST_F(CompareTest, FindsWrongScalesAndElements) {
  const struct {
    unsigned operand;
    size_t first, step;
    char bits;
  } faults[] = {{1, 0, 61, 1}, {3, 0, 61, 1}, {0, 5, 1999, char(0x80)}};
  for (auto [operand, first, step, bits] : faults) {
    IntermediateArrays right = arraysOf(matmul());
    for (size_t i = first; i < right.operands[operand]->data.size();
         i += step) {
      IntermediateArrays seen = right;
      NpyArray wrong = *right.operands[operand];
      wrong.data[i] ^= bits;
      seen.operands[operand] = &wrong;
      NpyArray y = multiply(seen);
      IntermediateArrays arrays = right;
      arrays.results = {&y};
      EXPECT_FALSE(compare(matmul(), arrays).results[0].passed())
          << "operand " << operand << " byte " << i;
    }
  }
}

TEST_F(CompareTest, DistinguishesNaNAndInfinityFromNumbers) {
  IntermediateArrays arrays = arraysOf(matmul());
  for (float wrong : {std::nanf(""), INFINITY, -INFINITY}) {
    NpyArray y = *arrays.results[0];
    std::memcpy(y.data.data() + 4 * 77, &wrong, 4);
    IntermediateArrays seen = arrays;
    seen.results = {&y};
    ResultComparison result = compare(matmul(), seen).results[0];
    EXPECT_EQ(result.violations, 1) << wrong;
    EXPECT_EQ(result.worst, 77);
  }
}

// A NaN scale makes all results of its row NaN. A device must not return
// numbers instead.
TEST_F(CompareTest, FindsMissingNaN) {
  NpyArray y = results[0];
  IntermediateArrays arrays = arraysOf(matmul());
  NpyArray scales = *arrays.operands[1];
  scales.data[3 * (kK / 32)] = 0xFF;
  arrays.operands[1] = &scales;
  arrays.results = {&y};
  EXPECT_EQ(compare(matmul(), arrays).results[0].violations, kN);
}

} // namespace
