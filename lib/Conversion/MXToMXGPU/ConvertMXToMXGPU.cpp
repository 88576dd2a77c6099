//===- ConvertMXToMXGPU.cpp - Conversion of mx operations to kernels ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands in a workspace are dequantized first, on tensors. After
// bufferization, memrefs refer to device memory that only kernels may access.
// Finally, memrefs of narrow elements are converted to memrefs of bytes.
//===----------------------------------------------------------------------===//

#include "../Utils/FunctionPatterns.h"
#include "../Utils/HostCode.h"
#include "../Utils/Storage.h"
#include "Builder/HostChecks.h"
#include "Conversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXDEQUANTIZEOPERANDS
#define GEN_PASS_DEF_CONVERTMXTOMXGPU
#define GEN_PASS_DEF_MXSTOREASBYTES
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Workspace operands
//===----------------------------------------------------------------------===//

// Each operand in the `workspace` becomes an explicit dequantization to bf16,
// or to f8E4M3FN with `promote`, rounded as in kernels that dequantize
// internally. Segments of ragged reductions stay in place, and their zero
// padding stays zero. Elements outside all expert groups are skipped, because
// only the device knows their number.

namespace {
/// Expert groups of an operand, if any.
struct OperandExperts {
  RaggedKind ragged = RaggedKind::None;
  Value offsets;
};
} // namespace

/// Returns the result of an earlier operation that equals `op`, if any, and
/// erases `op`.
static Value share(Operation *op) {
  auto inputs = [](Operation *op) {
    return cast<DestinationStyleOpInterface>(op).getDpsInputs();
  };
  for (Operation *other : op->getOperand(0).getUsers())
    if (other->getBlock() == op->getBlock() && other->isBeforeInBlock(op) &&
        other->getName() == op->getName() &&
        other->getAttrDictionary() == op->getAttrDictionary() &&
        other->getResultTypes() == op->getResultTypes() &&
        inputs(other) == inputs(op)) {
      op->erase();
      return other->getResult(0);
    }
  return op->getResult(0);
}

/// Dequantizes an operand to a tensor of `number`. With `order`, also permutes
/// the operand, in which case `scales` may be null.
static Value dequantize(OpBuilder &builder, Location loc, Type number,
                        Value elements, Value scales, OperandExperts groups,
                        BlockShape blockSize, OperandOrderAttrInterface order) {
  auto type = cast<RankedTensorType>(elements.getType());
  auto numbers = type.clone(number);
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, elements),
      numbers.getElementType());
  // Operands without scales keep the positions of their expert groups.
  if (!scales)
    groups = {};
  RaggedKindAttr ragged;
  if (groups.offsets)
    ragged = RaggedKindAttr::get(builder.getContext(), groups.ragged);
  Attribute block =
      (scales ? blockSize : BlockShape(32)).getAttr(builder.getContext());
  if (order)
    return PackOperandOp::create(builder, loc, TypeRange{numbers}, elements,
                                 scales, groups.offsets, ValueRange{empty},
                                 order, ragged, block)
        .getResult(0);
  UnitAttr padded;
  if (groups.ragged == RaggedKind::Reduction)
    padded = builder.getUnitAttr();
  auto op =
      DequantizeOp::create(builder, loc, TypeRange{numbers}, elements, scales,
                           /*global_scale=*/Value(), groups.offsets,
                           ValueRange{empty}, ragged, padded, block);
  return op.getResult(0);
}

/// Creates scales of 1 for the rows of an expanded operand.
static Value createUnitScales(OpBuilder &builder, Location loc,
                              RankedTensorType elements) {
  SmallVector<int64_t> shape(elements.getShape().drop_back());
  shape.back() = llvm::divideCeil(shape.back(), kScaleTileRows);
  shape.push_back(1);
  llvm::append_range(shape, kScaleTileShape);
  auto type = RankedTensorType::get(
      shape, getPowerOfTwoFormat().getScaleType(builder.getContext()));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 1)));
}

template <typename OpT>
static void dequantizeOperands(OpT op, Workspace workspace,
                               Workspace permuted) {
  OpBuilder builder(op);
  Type number = getWorkspaceType(op);
  // In a masked matmul, A is batched and each expert group of rows multiplies a
  // matrix of B, so no operand is ragged.
  OperandExperts ofA, ofB;
  if (!op.isMasked())
    ofA = {op.getRaggedOrNone(), op.getExpertOffsets()};
  if (ofA.ragged == RaggedKind::Reduction)
    ofB = ofA;
  auto getOrder = [&](Workspace operand) -> OperandOrderAttrInterface {
    if (permuted != operand)
      return {};
    int64_t k = cast<ShapedType>(op.getA().getType()).getShape().back();
    return KOrderAttr::get(op.getContext(), getReductionBlock(k));
  };
  // All parts of the columns read the same operands.
  auto shareParts = [&](Value numbers) {
    return op.getColumnRange() ? share(numbers.getDefiningOp()) : numbers;
  };
  if (holdsA(workspace)) {
    OperandOrderAttrInterface order = getOrder(Workspace::A);
    Value numbers = dequantize(builder, op.getLoc(), number, op.getA(),
                               op.getAScales(), ofA, op.getBlockSize(), order);
    op.getAMutable().assign(shareParts(numbers));
    op.getAScalesMutable().clear();
    op.setAOrderAttr(order);
  }
  if (holdsB(workspace)) {
    OperandOrderAttrInterface order = getOrder(Workspace::B);
    Value numbers =
        dequantize(builder, op.getLoc(), number, op.getB(), op.getBScales(),
                   ofB, op.getBlockSizeOfB(), order);
    op.getBMutable().assign(shareParts(numbers));
    op.getBScalesMutable().clear();
    if (op.getPromote()) {
      op.getBScalesMutable().assign(createUnitScales(
          builder, op.getLoc(), cast<RankedTensorType>(numbers.getType())));
      op.setBBlockSize(BlockShape(BlockFormat::kWhole));
    }
    op.setBOrderAttr(order);
  }
  // bf16 operands are without blocks; 32 is the default and not printed.
  if (!op.getAScales() && !op.getBScales()) {
    op.setBlockSize(BlockShape(32));
    op.removeBBlockSizeAttr();
  }
}

namespace {
struct DequantizeOperandsPass final
    : mx::mxgpu::impl::MXDequantizeOperandsBase<DequantizeOperandsPass> {
  using MXDequantizeOperandsBase::MXDequantizeOperandsBase;

  void runOnOperation() override {
    const target::TargetInfo *target = lookupTarget(getOperation(), chip);
    if (!target)
      return signalPassFailure();
    WalkResult result =
        getOperation().walk([&](MatmulOpInterface op) -> WalkResult {
          return rewrite(op, *target);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult rewrite(MatmulOpInterface op,
                               const target::TargetInfo &target) {
    auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    if (!schedule)
      return success();
    Workspace workspace = schedule.getWorkspace();
    ScheduleFields fields = schedule.getFields();
    Workspace permuted = getPermuted(fields);
    if (std::string why = explainNoWorkspace(op, workspace, permuted, target);
        !why.empty())
      return op->emitOpError(why);
    if (workspace == Workspace::None)
      return success();
    fields.workspace = Workspace::None;
    op->setAttr(kScheduleAttrName, ScheduleAttr::get(op->getContext(), fields));
    if (auto matmul = dyn_cast<MatmulOp>(*op))
      dequantizeOperands(matmul, workspace, permuted);
    else
      dequantizeOperands(cast<GroupedMatmulOp>(*op), workspace, permuted);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns true if an operation refers to a non-constant global. Constants are
/// copied to the device.
static bool isVariable(Operation *op) {
  auto reference = dyn_cast<memref::GetGlobalOp>(op);
  return reference && !isConstant(reference);
}

/// Returns true for host operations that involve other ranks of the rank group.
static bool isHostCommand(Operation *op) {
  return isa<mx::RankGroupOp, mx::RankOp, mx::PeersOp, mx::BarrierOp,
             mx::WindowOp, mx::ToPeersOp, mx::FromPeersOp, mx::AllGatherOp,
             mx::AllToAllOp>(op);
}

/// Rejects host writes to device memory. mx-sink-scalars handles host reads.
static LogicalResult verifyHost(ModuleOp module) {
  WalkResult result =
      module.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
        if (isa<gpu::GPUModuleOp>(op))
          return WalkResult::skip();
        if (isa<memref::AllocaOp>(op) || isVariable(op))
          return op->emitOpError(
              "expected tensors in device memory, found a tensor in "
              "host memory");
        auto isSliced = [](Type type) {
          auto memref = dyn_cast<MemRefType>(type);
          return memref && !memref.getLayout().isIdentity();
        };
        if (isa<memref::CopyOp>(op) &&
            llvm::any_of(op->getOperandTypes(), isSliced))
          return op->emitOpError(
              "expected whole tensors to be copied on the GPU, found a "
              "copy of a slice that is returned, inserted or "
              "concatenated: return the whole tensor, or let the "
              "caller concatenate the slices");
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        // The runtime implements copies, fills and collectives.
        if (!effects || isHostCommand(op) ||
            isa<memref::LoadOp, LaunchOp, EncodeTensorMapOp, memref::CopyOp,
                gpu::MemsetOp>(op))
          return WalkResult::advance();
        for (Value operand : op->getOperands())
          if (isa<MemRefType>(operand.getType()) &&
              (effects.getEffectOnValue<MemoryEffects::Read>(operand) ||
               effects.getEffectOnValue<MemoryEffects::Write>(operand)))
            return op->emitOpError(
                "expected only mx operations on tensors in device "
                "memory, found an operation that the host would run");
        return WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

/// Returns the loop or branch that selects the buffer of a memref, or null.
static Operation *findCarrier(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memref);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : memref.getDefiningOp();
  return isa_and_present<RegionBranchOpInterface>(op) ? op : nullptr;
}

/// Fails if a kernel operand has strides that only a loop or branch determines.
static LogicalResult verifyCarriers(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getLayout().isIdentity() || mayHaveStride(type))
      continue;
    Operation *carrier = findCarrier(operand);
    if (!carrier)
      continue;
    InFlightDiagnostic diag = carrier->emitOpError(
        "expected each carried tensor to stay in the same buffer on the GPU, "
        "found a tensor that moves to a buffer of another layout: unroll the "
        "loop, or call the function once per iteration");
    diag.attachNote(op->getLoc())
        << "'" << op->getName() << "' uses the tensor";
    return diag;
  }
  return success();
}

/// Fails if a kernel cannot use a view that includes windows of peers.
static LogicalResult verifyPeerViews(Operation *op) {
  auto quantize = dyn_cast<FusedQuantizeOp>(op);
  bool canStore = quantize && canStoreToPeers(quantize) &&
                  llvm::all_of(quantize.getDestination(0), [](Value out) {
                    return out.getDefiningOp<ToPeersOp>() != nullptr;
                  });
  auto combine = dyn_cast<CombineOp>(op);
  bool canLoad = combine && combine.getOrder() == AdditionOrder::Fixed;
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get().getDefiningOp<ToPeersOp>() && !canStore)
      return op->emitOpError("expected mx.to_peers only for all outs of "
                             "mx.fused_quantize along axis 1 with linear "
                             "scales");
    if (operand.get().getDefiningOp<FromPeersOp>() &&
        !(canLoad && operand == combine.getInputMutable()))
      return op->emitOpError("expected mx.from_peers only as the input of "
                             "mx.combine with order = fixed");
  }
  return success();
}

namespace {
struct ConvertMXToMXGPUPass final
    : mx::mxgpu::impl::ConvertMXToMXGPUBase<ConvertMXToMXGPUPass> {
  using ConvertMXToMXGPUBase::ConvertMXToMXGPUBase;

  void runOnOperation() override {
    const target::TargetInfo *target = lookupTarget(getOperation(), chip);
    if (!target)
      return signalPassFailure();
    generalizeQuantizations(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::LinalgOp>(op) ||
          (isa_and_present<MXDialect>(op->getDialect()) &&
           !isa<mx::YieldOp>(op) && !isHostCommand(op)))
        ops.push_back(op);
    });
    gpu::GPUModuleOp module;
    SmallPtrSet<Operation *, 4> done;
    CombineLists lists;
    for (Operation *op : ops) {
      if (done.contains(op))
        continue;
      if (!op->getParentOfType<FunctionOpInterface>() ||
          op->getParentOfType<gpu::GPUModuleOp>()) {
        op->emitOpError("expected to be inside a host function");
        return signalPassFailure();
      }
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType())) {
          op->emitOpError("expected memrefs, found ")
              << operand.getType() << ": bufferize first";
          return signalPassFailure();
        }
      // Bufferization casts loop-carried memrefs to less static types.
      (void)memref::foldMemRefCast(op);
      if (failed(verifyCarriers(op)) || failed(verifyPeerViews(op)))
        return signalPassFailure();
      if (!module)
        module = getKernelModule(getOperation(), *target);
      if (failed(convert(op, module, *target, done, lists)))
        return signalPassFailure();
    }
    if (failed(verifyHost(getOperation())) ||
        failed(verifyKnownSizes(getOperation())))
      signalPassFailure();
  }

  static LogicalResult convert(Operation *op, gpu::GPUModuleOp module,
                               const target::TargetInfo &target,
                               SmallPtrSetImpl<Operation *> &done,
                               CombineLists &lists) {
    if (auto matmul = dyn_cast<MatmulOpInterface>(op))
      return convertMatmul(matmul, module, target);
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return convertFill(fill);
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      return convertReduction(linalgOp, module);
    if (auto amax = dyn_cast<AmaxOp>(op))
      return convertAmax(amax, module);
    if (auto classes = dyn_cast<RowClassesOp>(op))
      return convertRowClasses(classes, module);
    if (auto quantize = dyn_cast<FusedQuantizeOp>(op))
      return convertQuantize(quantize, module, target, done);
    if (auto operands = DequantizeOperands::get(op))
      return convertDequantize(*operands, module, done);
    if (auto relayout = dyn_cast<RelayoutOp>(op))
      return convertRelayout(relayout, module);
    if (auto pack = dyn_cast<PackOperandOp>(op))
      return convertPackOperand(pack, module);
    if (auto combine = dyn_cast<CombineOp>(op))
      return convertCombine(combine, module, lists);
    if (auto gather = dyn_cast<GatherRowsOp>(op))
      return convertGatherRows(gather, module);
    if (auto group = dyn_cast<GroupRowsOp>(op))
      return convertGroupRows(group, module);
    return op->emitOpError("expected mx.quantize, mx.dequantize, mx.relayout, "
                           "mx.amax or mx.matmul on the GPU; this operation "
                           "has no kernel yet");
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Memrefs of narrow elements
//===----------------------------------------------------------------------===//

// Kernels and tensor maps already use bytes. Only host types still contain
// elements narrower than a byte.

namespace {

LogicalResult convertEncode(EncodeTensorMapOp op,
                            EncodeTensorMapOp::Adaptor adaptor,
                            ConversionPatternRewriter &rewriter) {
  rewriter.modifyOpInPlace(
      op, [&] { op.getSourceMutable().assign(adaptor.getSource()); });
  return success();
}

/// Converts a host load of a bit.
LogicalResult convertLoad(memref::LoadOp op, memref::LoadOp::Adaptor adaptor,
                          ConversionPatternRewriter &rewriter) {
  if (!op.getType().isInteger(1))
    return rewriter.notifyMatchFailure(op, "not a bit");
  Value byte = memref::LoadOp::create(
      rewriter, op.getLoc(), adaptor.getMemref(), adaptor.getIndices());
  Value zero = arith::ConstantOp::create(rewriter, op.getLoc(),
                                         rewriter.getZeroAttr(byte.getType()));
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, arith::CmpIPredicate::ne, byte,
                                             zero);
  return success();
}

/// Stores each bit as a byte that is 0 or 1.
std::optional<Type> convertBits(MemRefType type) {
  if (!type.getElementType().isInteger(1))
    return std::nullopt;
  return MemRefType::Builder(type).setElementType(
      IntegerType::get(type.getContext(), 8));
}

struct StoreAsBytesPass final
    : mx::mxgpu::impl::MXStoreAsBytesBase<StoreAsBytesPass> {
  void runOnOperation() override {
    if (failed(mx::verifyStorage(getOperation())))
      return signalPassFailure();
    TypeConverter converter;
    mx::addStorageConversions(converter);
    converter.addConversion([](MemRefType type) -> std::optional<Type> {
      return convertBits(type);
    });
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addLegalDialect<arith::ArithDialect>();
    mx::populateStoragePatterns(converter, patterns, target);
    addPatterns<convertEncode, convertLoad>(converter, patterns);
    target.addDynamicallyLegalOp<EncodeTensorMapOp, mx::WindowOp, mx::ToPeersOp,
                                 mx::AllGatherOp, mx::AllToAllOp>(
        [&](Operation *op) { return converter.isLegal(op); });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
