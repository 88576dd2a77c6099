//===- FuseRelu.cpp - ReLU as the epilogue of a matmul --------------------===//

#include "Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h" // m_AnyZeroFloat
#include "mx/Dialect/MX/IR/MX.h"

namespace my {
#define GEN_PASS_DEF_MYFUSERELU
#include "Passes.h.inc"
} // namespace my

using namespace mlir;

namespace {

struct FuseRelu final : public my::impl::MyFuseReluBase<FuseRelu> {
  void runOnOperation() override {
    SmallVector<mx::MatmulOp> matmuls;
    getOperation()->walk([&](mx::MatmulOp op) { matmuls.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (mx::MatmulOp matmul : matmuls)
      if (linalg::MaxOp relu = findRelu(matmul))
        fuse(rewriter, matmul, relu);
  }

private:
  /// Returns the only user of the result if it is `max(result, 0)`, else null.
  static linalg::MaxOp findRelu(mx::MatmulOp matmul) {
    Value result = matmul.getResult(); // null on memrefs
    if (!result || !result.hasOneUse())
      return {};
    auto max = dyn_cast<linalg::MaxOp>(*result.user_begin());
    if (!max || max.getInputs()[0] != result) // the use may be in `outs`
      return {};
    bool isRelu = max.getResultTypes()[0] == result.getType() &&
                  matchPattern(max.getInputs()[1], m_AnyZeroFloat());
    return isRelu ? max : linalg::MaxOp();
  }

  static void fuse(RewriterBase &rewriter, mx::MatmulOp matmul,
                   linalg::MaxOp relu) {
    FailureOr<mx::MatmulOpInterface> fused = matmul.attachEpilogue(
        rewriter, [](OpBuilder &b, Location loc, ValueRange args) -> Value {
          Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
          return arith::MaximumFOp::create(b, loc, args[0], zero);
        });
    if (succeeded(fused))
      rewriter.replaceOp(relu, *fused);
  }
};

} // namespace
