//===- EpilogueTest.cpp - Builders of matmuls and epilogues ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mx;

namespace {

const char *const kSource = R"(
!a = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU>
!b = tensor<2x128x128xf8E4M3FN>
!sb = tensor<2x128x4xf8E8M0FNU>
func.func @main(%a: !a, %s: !s, %b: !b, %sb: !sb, %offsets: tensor<2xi32>,
    %half: tensor<128x128xbf16>, %sums: tensor<128x128xf32>,
    %memory: memref<128x128xf32>, %numbers: memref<128x128xbf16>,
    %narrow: tensor<128x64xbf16>) {
  return
}
)";

/// Records why the last rewrite failed.
struct Failures : RewriterBase::Listener {
  void notifyMatchFailure(Location loc,
                          function_ref<void(Diagnostic &)> reason) override {
    Diagnostic diagnostic(loc, DiagnosticSeverity::Remark);
    reason(diagnostic);
    last = diagnostic.str();
  }
  std::string last;
};

class EpilogueTest : public ::testing::Test {
protected:
  EpilogueTest() : rewriter(&context) {
    context.loadDialect<func::FuncDialect, MXDialect>();
    module = parseSourceString<ModuleOp>(kSource, &context);
    function = *module->getOps<func::FuncOp>().begin();
    rewriter.setListener(&failures);
    rewriter.setInsertionPointToStart(&function.front());
  }

  Value arg(unsigned i) { return function.getArgument(i); }
  Location loc() { return function.getLoc(); }

  MatmulOp matmul(Value out, EpilogueBody body = nullptr) {
    return MatmulOp::create(rewriter, loc(), arg(0), arg(1), arg(0), arg(1),
                            out, body);
  }
  GroupedMatmulOp grouped(Value out, EpilogueBody body = nullptr,
                          int64_t numB = 1) {
    return GroupedMatmulOp::create(rewriter, loc(), arg(0), arg(1), arg(2),
                                   arg(3), arg(4), out, RaggedKind::Rows, body,
                                   numB);
  }
  /// Returns the names of the operations in an epilogue.
  static std::string list(MatmulOpInterface op) {
    std::string names;
    for (Operation &inner : *op.getEpilogueBlock())
      names += inner.getName().stripDialect().str() + " ";
    return names;
  }
  static Value twice(OpBuilder &b, Location loc, ValueRange args) {
    return arith::AddFOp::create(b, loc, args[0], args[0]);
  }
  void expectValid() { EXPECT_TRUE(succeeded(verify(*module))); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Failures failures;
  IRRewriter rewriter;
};

TEST_F(EpilogueTest, OnlyTensorDestinationsGiveResults) {
  MatmulOp onTensors = matmul(arg(5)), onMemory = matmul(arg(8));
  EXPECT_EQ(onTensors.getResult().getType(), arg(5).getType());
  EXPECT_EQ(onTensors.getBlockSize(), 32u);
  EXPECT_EQ(onTensors.getEpilogueBlock(), nullptr);
  EXPECT_FALSE(onMemory.getResult());
  onMemory.erase();
  EXPECT_EQ(grouped(arg(5)).getResult().getType(), arg(5).getType());
  expectValid();
}

TEST_F(EpilogueTest, BuildersRoundToTheDestination) {
  EXPECT_EQ(list(matmul(arg(5), twice)), "addf truncf yield ");
  EXPECT_EQ(list(matmul(arg(6), twice)), "addf yield ");
  auto both = [](OpBuilder &b, Location loc, ValueRange args) -> Value {
    EXPECT_EQ(args.size(), 4u);
    return arith::MulFOp::create(b, loc, args[0], args[1]);
  };
  EXPECT_EQ(list(grouped(arg(9), both, /*numB=*/2)), "mulf truncf yield ");
  expectValid();
}

TEST_F(EpilogueTest, AttachesToAMatmulWithoutEpilogue) {
  MatmulOp op = matmul(arg(5));
  op->setDiscardableAttr("kept", rewriter.getUnitAttr());
  FailureOr<MatmulOpInterface> attached = op.attachEpilogue(rewriter, twice);
  ASSERT_TRUE(succeeded(attached));
  EXPECT_EQ(list(*attached), "addf truncf yield ");
  EXPECT_TRUE((*attached)->hasAttr("kept"));
  EXPECT_TRUE(llvm::hasSingleElement(function.getOps<MatmulOp>()));
  expectValid();
}

TEST_F(EpilogueTest, AppendsToExistingEpilogue) {
  MatmulOpInterface op = matmul(arg(5), twice);
  auto attached = op.attachEpilogue(rewriter, twice);
  ASSERT_TRUE(succeeded(attached));
  EXPECT_EQ(*attached, op);
  EXPECT_EQ(list(op), "addf truncf extf addf truncf yield ");
  expectValid();
}

TEST_F(EpilogueTest, GroupedMatmulsKeepTheirAttributes) {
  GroupedMatmulOp op = grouped(arg(5));
  op.setScaleRounding(ScaleRounding::Floor);
  auto attached = op.attachEpilogue(rewriter, twice);
  ASSERT_TRUE(succeeded(attached));
  auto alike = cast<GroupedMatmulOp>(**attached);
  EXPECT_EQ(alike.getScaleRounding(), ScaleRounding::Floor);
  EXPECT_EQ(list(alike), "addf truncf yield ");
}

TEST_F(EpilogueTest, ScatterIsRefused) {
  GroupedMatmulOp op = grouped(arg(6));
  op.getScatterMutable().assign(arg(4));
  EXPECT_TRUE(failed(op.attachEpilogue(rewriter, twice)));
  EXPECT_EQ(
      failures.last,
      "expected no scatter, where or columns, because other elements of outs "
      "take no part in the epilogue: compute the elements where the "
      "result is read");
}

} // namespace
