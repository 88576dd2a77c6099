//===- MXToCPU.cpp - Lower bufferized mx operations to loops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The pass over a module that applies the lowering of each operation and gives
// sub-byte arrays their storage type in the same conversion.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {
#define GEN_PASS_DEF_CONVERTMXTOCPU
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

bool isFloatOfAtMost(Type type, unsigned bits) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() <= bits;
}

/// The host has no arithmetic on floats of 8 bits, and no addresses of floats
/// that are narrower.
LogicalResult checkElements(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  auto report = [&](StringRef expected, unsigned bits) -> LogicalResult {
    Type *found = llvm::find_if(
        types, [&](Type type) { return isFloatOfAtMost(type, bits); });
    if (found == types.end())
      return success();
    return op->emitError() << "expected " << expected
                           << " on the CPU path, found "
                           << getElementTypeOrSelf(*found)
                           << "; mx.dequantize widens narrower floats";
  };
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return report("elements of 8 bits or more where one is read or written",
                  /*bits=*/7);
  bool computes =
      isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) &&
      !isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op);
  return computes ? report("operands and results of f16, bf16, f32, f64, "
                           "integers or index in arithmetic",
                           /*bits=*/8)
                  : success();
}

/// Reports what a user can have written and the conversion cannot do, in words
/// that name the cause.
LogicalResult checkInput(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (failed(checkElements(op)))
      return WalkResult::interrupt();
    if (isa_and_present<mx::MXDialect>(op->getDialect()) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)) {
      op->emitOpError("expected operands on memrefs, found tensors; bufferize "
                      "before lowering to the CPU");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(mx::verifyStorage(module)));
}

struct ConvertMXToCPUPass final
    : mx::impl::ConvertMXToCPUBase<ConvertMXToCPUPass> {
  void runOnOperation() override {
    if (failed(checkInput(getOperation())))
      return signalPassFailure();
    mx::cpu::decomposeMatmuls(getOperation());
    mx::cpu::decomposeQuantizations(getOperation());
    TypeConverter converter;
    mx::addStorageConversions(converter);
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, LLVM::LLVMDialect,
                           math::MathDialect, vector::VectorDialect>();
    target.addIllegalDialect<mx::MXDialect>();
    // An epilogue's terminator goes when its operation does.
    target.addLegalOp<mx::YieldOp>();
    mx::cpu::populateQuantizePatterns(converter, patterns);
    mx::cpu::populateDequantizePatterns(converter, patterns);
    mx::cpu::populatePackWeightsPatterns(converter, patterns);
    mx::cpu::populateMatmulPatterns(converter, patterns);
    mx::cpu::populateCombinePatterns(converter, patterns);
    mx::populateStoragePatterns(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
