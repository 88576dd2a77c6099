//===- TuneTest.cpp - Tuning with the kernels of the simulator ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The simulator models no time here, so these tests count instructions instead.
// Each form of matmul is measured in a function of its own. The tests check
// that all candidates compute the same bits from the generated operands.
//===----------------------------------------------------------------------===//

#include "mx/AheadOfTime/Tune.h"
#include "mlir/Parser/Parser.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mx/Execution/Session.h"
#include "mx/InitAll.h"
#include "mx_runtime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx {
void registerExecutionDialects(DialectRegistry &registry);
}

namespace {

/// Stopwatch with a microsecond for each thousand warp instructions.
class InstructionCounter final : public Stopwatch {
public:
  InstructionCounter() {
    rounds = 1;
    leastLaunches = mostLaunches = 1;
    bytesBetween = 0;
  }
  llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) override {
    double before = count();
    if (llvm::Error error = launch())
      return error;
    return count() - before;
  }

private:
  static double count() {
    auto counters = mxSized<mxSimulatorCounters>();
    EXPECT_EQ(mxGetSimulatorCounters(&counters), MX_SUCCESS);
    return counters.warpInstructions / 1000.0;
  }
};

class TuneTest : public ::testing::Test {
protected:
  TuneTest() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    mxSetErrorPolicy(MX_ERRORS_RETURN);
    EXPECT_EQ(mxSetDevice("sim"), MX_SUCCESS);
    llvm::SmallString<128> path;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("tuned", "json", path));
    remover.setFile(path);
    llvm::sys::fs::remove(path);
    options.chip = "sm_90a";
    options.ptxas = "none";
    options.tune.count = 3;
    options.tuned = path.str().str();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerExecutionDialects(registry);
    return registry;
  }

  /// Tunes a module, and returns its table.
  TunedTable tune(StringRef source) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &found) {
      messages.push_back(found.str());
      return success();
    });
    llvm::Expected<Tuned> tuned = tuneModule(*module, options, stopwatch);
    EXPECT_TRUE(bool(tuned)) << llvm::toString(tuned.takeError());
    llvm::Expected<TunedTable> table = TunedTable::read(options.tuned);
    EXPECT_TRUE(bool(table)) << llvm::toString(table.takeError());
    return std::move(*table);
  }

  /// Checks that all candidates ran and returned correct results. Returns the
  /// number of candidates for each size.
  std::vector<size_t> countRight(const TunedEntry &entry) {
    std::vector<size_t> counts;
    for (const TunedSizes &sizes : entry.sizes) {
      counts.push_back(sizes.candidates.size());
      for (const TimedSchedule &one : sizes.candidates) {
        EXPECT_EQ(one.leftOut, "") << one.schedule;
        EXPECT_GT(one.microseconds, 0) << one.schedule;
      }
    }
    return counts;
  }

  /// Tunes a module with a single matmul and checks the entry.
  void expectRight(StringRef source, int64_t m) {
    TunedTable table = tune(source);
    for (const std::string &message : messages)
      EXPECT_EQ(message.rfind("tuned ", 0), 0u) << message;
    ASSERT_EQ(table.getEntries().size(), 1u);
    const TunedEntry &entry = table.getEntries().front();
    EXPECT_EQ(countRight(entry), std::vector<size_t>(1, options.tune.count));
    EXPECT_EQ(entry.sizes.front().m, m);
  }

  MLIRContext context;
  CompileModuleOptions options;
  InstructionCounter stopwatch;
  std::vector<std::string> messages;
  llvm::FileRemover remover;
};

TEST_F(TuneTest, MeasuresEachFormOnce) {
  const char *source = R"(
!x = tensor<96x128xf8E4M3FN>
!xs = tensor<96x4xf8E8M0FNU>
!w = tensor<64x128xf8E4M3FN>
!ws = tensor<64x4xf8E8M0FNU>
!y = tensor<96x64xbf16>
func.func @main(%x: !x, %xs: !xs, %w: !w, %ws: !ws, %bias: tensor<64xf32>,
                %v: !w, %vs: !ws) -> (!y, !y, !y) {
  %half = arith.constant 0.5 : f32
  %init = tensor.empty() : !y
  %y = mx.matmul ins(%x, %xs, %w, %ws : !x, !xs, !w, !ws) outs(%init : !y) -> !y epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %b = tensor.extract %bias[%col] : tensor<64xf32>
    %scaled = arith.mulf %acc, %half : f32
    %sum = arith.addf %scaled, %b : f32
    %r = arith.truncf %sum : f32 to bf16
    mx.yield %r : bf16
  }
  %z = mx.matmul ins(%x, %xs, %w, %ws : !x, !xs, !w, !ws) outs(%init : !y) -> !y
  %u = mx.matmul ins(%x, %xs, %v, %vs : !x, !xs, !w, !ws) outs(%init : !y) -> !y
  return %y, %z, %u : !y, !y, !y
}
)";
  // Two of the three matmuls have the same form.
  TunedTable table = tune(source);
  ASSERT_EQ(table.getEntries().size(), 2u);
  for (const TunedEntry &entry : table.getEntries())
    EXPECT_EQ(countRight(entry), std::vector<size_t>{3});
  EXPECT_NE(table.getEntries()[0].key.matmul.find(" epilogue"),
            std::string::npos);
  EXPECT_EQ(messages.size(), 2u);
  // A second run finds the answer in the table.
  messages.clear();
  tune(source);
  EXPECT_TRUE(messages.empty());
  options.tune.count = 2;
  TunedTable fewer = tune(source);
  EXPECT_EQ(messages.size(), 2u);
  EXPECT_EQ(countRight(fewer.getEntries()[0]), std::vector<size_t>{2});
}

TEST_F(TuneTest, KeepsExplicitSchedules) {
  TunedTable table = tune(R"(
func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %init = tensor.empty() : tensor<64x64xf32>
  %y = mx.matmul ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<64x64xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64]>} -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
)");
  EXPECT_TRUE(table.getEntries().empty());
  EXPECT_TRUE(messages.empty());
}

TEST_F(TuneTest, MeasuresPackedWeightsWithDynamicRows) {
  // Both sizes lie in the same range of rows for this small matmul, so only the
  // larger size is measured.
  options.tune.rows = {70, 3};
  expectRight(R"(
!p = tensor<128x128xf4E2M1FN, #mxgpu.fragment_64x64>
func.func @main(%x: tensor<?x128xbf16>, %w: tensor<128x128xf4E2M1FN>, %ws: tensor<128x4xf8E8M0FNU>,
                %y: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %empty = tensor.empty() : !p
  %p = mx.pack_operand ins(%w : tensor<128x128xf4E2M1FN>) outs(%empty : !p) -> !p
  %z = mx.matmul ins(%x, %p, %ws : tensor<?x128xbf16>, !p, tensor<128x4xf8E8M0FNU>)
      outs(%y : tensor<?x128xf32>) accumulate -> tensor<?x128xf32>
  return %z : tensor<?x128xf32>
}
)",
              70);
}

TEST_F(TuneTest, MeasuresRowGroups) {
  expectRight(R"(
func.func @main(%a: tensor<96x64xbf16>, %b: tensor<3x128x64xf8E4M3FN>, %bs: tensor<3x128x2xf8E8M0FNU>,
                %o: tensor<3xi32>) -> tensor<96x128xbf16> {
  %init = tensor.empty() : tensor<96x128xbf16>
  %y = mx.grouped_matmul ragged = rows ins(%a, %b, %bs : tensor<96x64xbf16>, tensor<3x128x64xf8E4M3FN>, tensor<3x128x2xf8E8M0FNU>)
      offsets(%o : tensor<3xi32>) outs(%init : tensor<96x128xbf16>) -> tensor<96x128xbf16>
  return %y : tensor<96x128xbf16>
}
)",
              96);
}

TEST_F(TuneTest, MeasuresReductionGroups) {
  expectRight(R"(
func.func @main(%a: tensor<64x384xbf16>, %b: tensor<64x384xbf16>, %o: tensor<2xi32>) -> tensor<2x64x64xf32> {
  %init = tensor.empty() : tensor<2x64x64xf32>
  %y = mx.grouped_matmul ragged = reduction ins(%a, %b : tensor<64x384xbf16>, tensor<64x384xbf16>)
      offsets(%o : tensor<2xi32>) outs(%init : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return %y : tensor<2x64x64xf32>
}
)",
              64);
}

TEST_F(TuneTest, PrefersModelChoiceWithinNoise) {
  // All candidates take nearly the same time.
  class Constant final : public Stopwatch {
  public:
    Constant() {
      rounds = leastLaunches = mostLaunches = 1;
      bytesBetween = 0;
    }
    llvm::Expected<double>
    measure(llvm::function_ref<llvm::Error()> launch) override {
      // The second candidate is 0.3 % faster.
      double taken = number++ % 3 == 1 ? 997 : 1000;
      if (llvm::Error error = launch())
        return error;
      return taken;
    }
    int number = 0;
  } constant;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %init = tensor.empty() : tensor<64x64xf32>
  %y = mx.matmul ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
)",
                                                             &context);
  ASSERT_TRUE(module);
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  ASSERT_TRUE(bool(tuneModule(*module, options, constant)));
  llvm::Expected<TunedTable> table = TunedTable::read(options.tuned);
  ASSERT_TRUE(bool(table));
  const TunedEntry &entry = table->getEntries().front();
  EXPECT_EQ(entry.sizes.front().candidates[1].microseconds, 997);
  EXPECT_EQ(entry.schedule, entry.sizes.front().candidates[0].schedule);
}

} // namespace
