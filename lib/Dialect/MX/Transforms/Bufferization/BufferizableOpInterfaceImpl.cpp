//===- BufferizableOpInterfaceImpl.cpp - Bufferization of mx operations ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mx operations are destination-style, so results reuse the buffers of
// outs. Only operations with `accumulate` read the contents of outs. Declaring
// this avoids copies and allocations for all other operations.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mx;

template <typename OpTy>
static bool readsOuts(OpTy) {
  return false;
}
static bool readsOuts(MatmulOp op) { return op.readsOuts(); }
static bool readsOuts(GroupedMatmulOp op) { return op.readsOuts(); }
static bool readsOuts(CombineOp) { return true; }
static bool readsOuts(GatherRowsOp) { return true; }
static bool readsOuts(AllGatherOp op) { return !op.getInput(); }

namespace {

template <typename OpTy>
struct MXOpInterface final
    : DstBufferizableOpInterfaceExternalModel<MXOpInterface<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) ||
           readsOuts(cast<OpTy>(op));
  }

  /// The epilogue runs once for each element, in any order.
  bool isRepetitiveRegion(Operation *, unsigned) const { return true; }
  bool isParallelRegion(Operation *, unsigned) const { return true; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dstOp = cast<DestinationStyleOpInterface>(op);
    if (dstOp.hasPureBufferSemantics())
      return success();
    SmallVector<Value> operands, buffers;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType())) {
        operands.push_back(operand.get());
        continue;
      }
      // A memref has no encoding, so the layout would be lost silently.
      if (hasMXEncoding(operand.get().getType()))
        return op->emitOpError("expected tensors without layout encoding to "
                               "bufferize, found ")
               << operand.get().getType()
               << "; mx-materialize-layouts makes layouts explicit";
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
      if (dstOp.isDpsInit(&operand))
        buffers.push_back(*buffer);
    }
    clone(rewriter, op, TypeRange(), operands);
    replaceOpWithBufferizedValues(rewriter, op, buffers);
    return success();
  }
};

/// A window is memory of the rank group. Collectives write a window before any
/// operation reads it.
struct WindowOpInterface final
    : BufferizableOpInterface::ExternalModel<WindowOpInterface, WindowOp> {
  AliasingOpOperandList getAliasingOpOperands(Operation *, Value,
                                              const AnalysisState &) const {
    return {};
  }
  bool bufferizesToAllocation(Operation *, Value) const { return true; }
  bool resultBufferizesToMemoryWrite(Operation *, OpResult,
                                     const AnalysisState &) const {
    return false;
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &,
                          BufferizationState &) const {
    auto window = cast<WindowOp>(op);
    auto type = dyn_cast<RankedTensorType>(window.getType());
    if (!type)
      return success();
    replaceOpWithNewBufferizedOp<WindowOp>(
        rewriter, op, MemRefType::get(type.getShape(), type.getElementType()),
        window.getGroupAttr());
    return success();
  }
};

} // namespace

void mx::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MXDialect *) {
    FusedQuantizeOp::attachInterface<MXOpInterface<FusedQuantizeOp>>(*context);
    QuantizeOp::attachInterface<MXOpInterface<QuantizeOp>>(*context);
    AmaxOp::attachInterface<MXOpInterface<AmaxOp>>(*context);
    DequantizeOp::attachInterface<MXOpInterface<DequantizeOp>>(*context);
    RelayoutOp::attachInterface<MXOpInterface<RelayoutOp>>(*context);
    PackOperandOp::attachInterface<MXOpInterface<PackOperandOp>>(*context);
    RowClassesOp::attachInterface<MXOpInterface<RowClassesOp>>(*context);
    MatmulOp::attachInterface<MXOpInterface<MatmulOp>>(*context);
    GroupedMatmulOp::attachInterface<MXOpInterface<GroupedMatmulOp>>(*context);
    CombineOp::attachInterface<MXOpInterface<CombineOp>>(*context);
    GatherRowsOp::attachInterface<MXOpInterface<GatherRowsOp>>(*context);
    GroupRowsOp::attachInterface<MXOpInterface<GroupRowsOp>>(*context);
    AllGatherOp::attachInterface<MXOpInterface<AllGatherOp>>(*context);
    AllToAllOp::attachInterface<MXOpInterface<AllToAllOp>>(*context);
    WindowOp::attachInterface<WindowOpInterface>(*context);
  });
}
