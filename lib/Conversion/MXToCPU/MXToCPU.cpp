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

/// Why an array of packed elements cannot be stored as bytes, or nothing.
std::optional<StringRef> getPackingFault(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isa<Float4E2M1FNType>(memref.getElementType()))
    return {};
  if (!memref.getLayout().isIdentity())
    return "packed f4E2M1FN elements in an array with identity layout";
  int64_t size = memref.getRank() ? memref.getShape().back() : 1;
  if (!ShapedType::isDynamic(size) && size % 2 != 0)
    return "an even number of f4E2M1FN elements in the last dimension, which "
           "share bytes";
  return {};
}

/// Reports what a user can have written and the conversion cannot do, in words
/// that name the cause.
LogicalResult checkInput(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (isa_and_present<mx::MXDialect>(op->getDialect()) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)) {
      op->emitOpError("expected operands on memrefs, found tensors; bufferize "
                      "before lowering to the CPU");
      return WalkResult::interrupt();
    }
    SmallVector<Type> types(op->getResultTypes());
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      llvm::append_range(types, function.getArgumentTypes());
      llvm::append_range(types, function.getResultTypes());
    }
    for (Type type : types)
      if (std::optional<StringRef> expected = getPackingFault(type)) {
        op->emitError() << "expected " << *expected << ", found " << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct ConvertMXToCPUPass final
    : mx::impl::ConvertMXToCPUBase<ConvertMXToCPUPass> {
  void runOnOperation() override {
    if (failed(checkInput(getOperation())))
      return signalPassFailure();
    TypeConverter converter;
    mx::cpu::addStorageConversions(converter);
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, LLVM::LLVMDialect,
                           math::MathDialect, vector::VectorDialect>();
    target.addIllegalDialect<mx::MXDialect>();
    // An epilogue's terminator goes when its operation does.
    target.addLegalOp<mx::YieldOp>();
    mx::cpu::populateQuantizePatterns(converter, patterns);
    mx::cpu::populateDequantizePatterns(converter, patterns);
    mx::cpu::populateMatmulPatterns(converter, patterns);
    mx::cpu::populateStoragePatterns(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
