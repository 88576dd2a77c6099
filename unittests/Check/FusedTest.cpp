//===- FusedTest.cpp - Detection of errors in fused stages ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A fully fused program: quantization along both axes, a matmul, a bias and a
// relu. Each test corrupts one value of an intermediate array.
//===----------------------------------------------------------------------===//

#include "TestArrays.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Pipelines/Pipelines.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace mlir;
using namespace mx;

namespace {

const char *const kSource = R"(
!x = tensor<128x128xbf16>
!e = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<128x128xf32>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: !x, %b: !e, %bs: !s, %bias: tensor<128xf32>) -> (!y, !e, !s) {
  %h0 = tensor.empty() : !x
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !x) outs(%h0 : !x) {
  ^bb0(%in: bf16, %out: bf16):
    %r = arith.addf %in, %in : bf16
    linalg.yield %r : bf16
  } -> !x
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.quantize ins(%h : !x) outs(%e, %s : !e, !s) -> !e, !s
  %t:2 = mx.quantize ins(%h : !x) outs(%e, %s : !e, !s) axes = [0] -> !e, !s
  %p0 = tensor.empty() : !y
  %p = mx.matmul ins(%q#0, %q#1, %b, %bs : !e, !s, !e, !s) outs(%p0 : !y) -> !y
  %y = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : !y, tensor<128xf32>) outs(%p0 : !y) {
  ^bb0(%sum: f32, %b0: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %biased = arith.addf %sum, %b0 : f32
    %r = arith.maximumf %biased, %zero : f32
    linalg.yield %r : f32
  } -> !y
  return %y, %t#0, %t#1 : !y, !e, !s
}
)";

class FusedTest : public ::testing::Test {
protected:
  FusedTest()
      : context(makeExecutionRegistry(), MLIRContext::Threading::DISABLED) {
    module = parseSourceString<ModuleOp>(kSource, &context);
    std::mt19937 random(5);
    arguments = {makeArray("u2", {128, 128}), makeArray("u1", {128, 128}),
                 makeArray("u1", {1, 1, 32, 4, 4}), makeArray("f4", {128})};
    fillBF16(arguments[0], random);
    fillE4M3(arguments[1], random);
    for (uint8_t &scale : arguments[2].data)
      scale = 124 + random() % 6;
    for (size_t i = 0; i < arguments[3].data.size(); i += 4) {
      float bias = float(i % 7) + 1;
      std::memcpy(arguments[3].data.data() + i, &bias, 4);
    }
    for (const NpyArray &argument : arguments)
      inputs.push_back(&argument);
  }

  std::vector<NpyArray> run(ModuleOp program) {
    OwningOpRef<ModuleOp> lowered = program.clone();
    auto compiled = Program::compile(*lowered, "main", CompileOptions());
    EXPECT_TRUE(bool(compiled));
    auto results = (*compiled)->run(inputs);
    EXPECT_TRUE(bool(results));
    return std::move(*results);
  }

  MLIRContext context;
  ReferencePrograms programs;
  OwningOpRef<ModuleOp> module;
  std::vector<NpyArray> arguments;
  SmallVector<const NpyArray *> inputs;
};

TEST_F(FusedTest, FindsErrorInEachArray) {
  PassManager pm(&context);
  buildMXFusionPipeline(pm, MXToNVVMOptions());
  ASSERT_TRUE(succeeded(pm.run(*module)));
  auto entry = lookupEntry(*module, "main");
  ASSERT_TRUE(bool(entry));
  auto list = exposeIntermediates(*entry);
  ASSERT_TRUE(succeeded(list));
  EXPECT_TRUE(list->hidden.empty());
  ASSERT_EQ(list->stages.size(), 2u);
  EXPECT_TRUE(cast<FusedQuantizeOp>(list->stages[0].op).getPrologueBlock());
  EXPECT_TRUE(cast<MatmulOp>(list->stages[1].op).getEpilogueBlock());
  std::vector<NpyArray> results = run(*module);

  for (const ComparedOp &stage : list->stages) {
    IntermediateArrays arrays = collectArrays(stage, arguments, results);
    auto passes = [&](const IntermediateArrays &seen) {
      auto comparison = compareOp(programs, stage, seen, CompileOptions());
      EXPECT_TRUE(bool(comparison));
      return llvm::all_of(comparison->results,
                          [](const auto &result) { return result.passed(); });
    };
    EXPECT_TRUE(passes(arrays));
    for (size_t i = 0; i < arrays.results.size(); ++i) {
      // Change the upper byte of an element, or a byte of codes or scales.
      NpyArray wrong = *arrays.results[i];
      wrong.data[npyItemSize(wrong.dtype) * 101 - 1] ^= 0x41;
      IntermediateArrays seen = arrays;
      seen.results[i] = &wrong;
      EXPECT_FALSE(passes(seen)) << "result " << i;
    }
    for (size_t i = 0; i < arrays.operands.size(); ++i) {
      if (!arrays.operands[i])
        continue;
      NpyArray wrong = *arrays.operands[i];
      for (size_t j = npyItemSize(wrong.dtype) - 1; j < wrong.data.size();
           j += npyItemSize(wrong.dtype))
        wrong.data[j] ^= 0x03;
      IntermediateArrays seen = arrays;
      seen.operands[i] = &wrong;
      EXPECT_FALSE(passes(seen)) << "operand " << i;
    }
  }
}

TEST_F(FusedTest, ComparesWithPlainRun) {
  std::vector<NpyArray> plain = run(*module);
  auto report = checkRun(*module, "main", CompileOptions(), arguments, plain);
  ASSERT_TRUE(bool(report));
  EXPECT_TRUE(report->passed()) << report->text();
  plain[0].data[400] ^= 1;
  report = checkRun(*module, "main", CompileOptions(), arguments, plain);
  ASSERT_TRUE(bool(report));
  EXPECT_EQ(report->unequalToPlainRun, 1);
  EXPECT_FALSE(report->passed());
}

} // namespace
