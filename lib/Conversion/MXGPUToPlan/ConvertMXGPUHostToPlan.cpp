//===- ConvertMXGPUHostToPlan.cpp - Host functions to plans ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rejects unsupported operations first, so the conversion cannot fail.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Views.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mx/Conversion/MXGPUToPlan/MXGPUToPlan.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_CONVERTMXGPUHOSTTOPLAN
#include "mx/Conversion/MXGPUToPlan/Passes.h.inc"
} // namespace mx::mxgpu

/// Alignment of a plan's workspace (Plan.h).
static constexpr uint64_t kBufferAlignment = 256;

//===----------------------------------------------------------------------===//
// Supported operations
//===----------------------------------------------------------------------===//

static bool hasMemRef(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<BaseMemRefType>);
}

static bool isWhole(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type && type.getLayout().isIdentity();
}

static LogicalResult verifyWhole(Operation *op, ValueRange memrefs) {
  if (llvm::all_of(memrefs, isWhole))
    return success();
  return op->emitOpError(
      "expected whole arrays in a launch plan, found a slice");
}

static LogicalResult verifyAlloc(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrIndexOrFloat() ||
      getElementBits(type) % 8 ||
      op.getAlignment().value_or(1) > kBufferAlignment)
    return op.emitOpError(
               "expected an array of whole bytes with identity layout "
               "and an alignment of at most ")
           << kBufferAlignment << " in a launch plan, found " << type;
  return verifyByteCount(op, type);
}

/// Fails unless the value of a fill is a constant with equal bytes.
static LogicalResult verifyMemset(gpu::MemsetOp op) {
  Attribute value;
  APInt bits;
  if (matchPattern(op.getValue(), m_Constant(&value)))
    bits = getBits(value);
  if (!value || bits.getBitWidth() % 8 || !bits.isSplat(8) ||
      op.getAsyncToken() || !op.getAsyncDependencies().empty())
    return op.emitOpError("expected a constant with equal bytes and no async "
                          "tokens in a launch plan");
  return verifyWhole(op, op.getDst());
}

static LogicalResult verifyCast(memref::CastOp op) {
  if (isa<MemRefType>(op.getType()) &&
      isa<MemRefType>(op.getSource().getType()))
    return success();
  return op.emitOpError("expected a cast that keeps the rank in a launch plan, "
                        "found a cast to ")
         << op.getType();
}

static LogicalResult verifyDim(memref::DimOp op) {
  std::optional<int64_t> dim = op.getConstantIndex();
  auto type = dyn_cast<MemRefType>(op.getSource().getType());
  if (type && dim && *dim >= 0 && *dim < type.getRank())
    return success();
  return op.emitOpError("expected a constant dimension of the memref in a "
                        "launch plan");
}

static LogicalResult verifyLoad(memref::LoadOp op) {
  Type type = op.getType();
  if (type.isIndex() || type.isInteger(1) ||
      (type.isIntOrFloat() && !type.isUnsignedInteger() &&
       llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth())))
    return success();
  return op.emitOpError("expected integers and floats of 8, 16, 32 or 64 bits, "
                        "i1 or index where the host reads a number, found ")
         << type;
}

static LogicalResult verifySupport(Operation *op) {
  if (!hasMemRef(op->getOperandTypes()) && !hasMemRef(op->getResultTypes()))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](memref::AllocOp op) { return verifyAlloc(op); })
      .Case([](memref::CastOp op) { return verifyCast(op); })
      .Case([](memref::DimOp op) { return verifyDim(op); })
      .Case([](memref::LoadOp op) { return verifyLoad(op); })
      .Case([](memref::GetGlobalOp op) -> LogicalResult {
        if (isConstant(op))
          return success();
        return op.emitOpError("expected a constant global with an initial "
                              "value in a launch plan, found another global");
      })
      .Case([](memref::CopyOp op) -> LogicalResult {
        if (op.getTarget().getDefiningOp<memref::GetGlobalOp>())
          return op.emitOpError("expected an array that may be written, found "
                                "a constant: copy it to a new array");
        return verifyWhole(op, op->getOperands());
      })
      .Case([](gpu::MemsetOp op) { return verifyMemset(op); })
      .Case<mx::AllGatherOp, mx::AllToAllOp>(
          [](Operation *op) { return verifyWhole(op, op->getOperands()); })
      .Case([](EncodeTensorMapOp op) { return verifyMapElements(op); })
      .Case<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::DeallocOp,
            memref::SubViewOp, memref::TransposeOp,
            memref::ExtractStridedMetadataOp,
            memref::ExtractAlignedPointerAsIndexOp, mx::WindowOp, mx::ToPeersOp,
            mx::FromPeersOp, LaunchOp, scf::IfOp, scf::IndexSwitchOp,
            scf::ForOp, scf::WhileOp, scf::ConditionOp, scf::ExecuteRegionOp,
            scf::YieldOp, func::CallOp, func::ReturnOp, arith::SelectOp,
            ub::PoisonOp>([](auto) { return success(); })
      .Default([](Operation *op) {
        return op->emitOpError(
            "expected arithmetic on sizes, allocations, copies and launches in "
            "a launch plan, found another operation");
      });
}

static LogicalResult verifyFunction(func::FuncOp function) {
  if (function.isExternal())
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("expected one block in a launch plan, found ")
           << function.getBody().getBlocks().size();
  WalkResult result = function.walk(
      [](Operation *op) -> WalkResult { return verifySupport(op); });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Interface for callers
//===----------------------------------------------------------------------===//

/// Describes an argument or result with the attributes that mx-describe-entries
/// set.
static Attribute describe(DictionaryAttr attributes, Type type,
                          const Twine &name) {
  Type source = type;
  std::string text = name.str();
  if (attributes) {
    if (auto attr = attributes.getAs<TypeAttr>(kEntryTypeAttr))
      source = attr.getValue();
    if (auto attr = attributes.getAs<StringAttr>(kEntryNameAttr))
      text = attr.str();
  }
  return mxplan::ValueAttr::get(type.getContext(), text, type, source);
}

/// Keeps the original signature in attributes of the function.
static void keepSignature(func::FuncOp function) {
  Builder builder(function.getContext());
  SmallVector<Attribute> arguments, results;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    arguments.push_back(
        describe(function.getArgAttrDict(index), type, "arg" + Twine(index)));
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    results.push_back(describe(function.getResultAttrDict(index), type,
                               "result" + Twine(index)));
  // Drop attributes, because an argument may become several arguments.
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  if (function.isExternal())
    return;
  function->setAttr(mxplan::kArgumentsAttrName,
                    builder.getArrayAttr(arguments));
  function->setAttr(mxplan::kResultsAttrName, builder.getArrayAttr(results));
}

/// Inserts bounds checks for host reads, with the same messages as on the CPU
/// path.
static void checkReads(func::FuncOp function) {
  function.walk([](memref::LoadOp load) {
    auto op = dyn_cast<RuntimeVerifiableOpInterface>(load.getOperation());
    if (!op)
      return;
    OpBuilder builder(load);
    op.generateRuntimeVerification(builder, load.getLoc(), describeAccess);
  });
}

namespace {

/// Lowers selects of memrefs, which no upstream control flow pattern supports.
LogicalResult lowerSelect(arith::SelectOp op, OneToN<arith::SelectOp> operands,
                          ConversionPatternRewriter &rewriter) {
  Value condition = llvm::getSingleElement(operands.getCondition());
  SmallVector<Value> fields;
  for (auto [a, b] :
       llvm::zip_equal(operands.getTrueValue(), operands.getFalseValue()))
    fields.push_back(
        arith::SelectOp::create(rewriter, op.getLoc(), condition, a, b));
  rewriter.replaceOpWithMultiple(op, SmallVector<SmallVector<Value>>{fields});
  return success();
}

struct ConvertMXGPUHostToPlanPass final
    : mx::mxgpu::impl::ConvertMXGPUHostToPlanBase<ConvertMXGPUHostToPlanPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    SmallVector<Operation *> functions;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(verifyFunction(function)))
        return signalPassFailure();
      functions.push_back(function);
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      checkReads(function);
      keepSignature(function);
    }

    TypeConverter converter;
    converter.addConversion([](Type type, SmallVectorImpl<Type> &types) {
      llvm::append_range(types, isa<UnrankedMemRefType>(type)
                                    ? SmallVector<Type>{type}
                                    : mxplan::getPlanTypes(type));
      return success();
    });
    ConversionTarget target(*context);
    target.addIllegalDialect<memref::MemRefDialect>();
    target.addIllegalOp<gpu::MemsetOp, EncodeTensorMapOp, LaunchOp,
                        cf::AssertOp, mx::RankOp, mx::PeersOp, mx::BarrierOp,
                        mx::WindowOp, mx::ToPeersOp, mx::FromPeersOp,
                        mx::AllGatherOp, mx::AllToAllOp>();
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp function) {
      return converter.isSignatureLegal(function.getFunctionType());
    });
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return converter.isLegal(op); });
    RewritePatternSet patterns(context);
    addPatterns<lowerSelect>(converter, patterns);
    addViewPatterns(converter, patterns);
    addCommandPatterns(converter, patterns);
    addRankGroupPatterns(converter, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    scf::populateSCFStructuralTypeConversions(converter, patterns);
    if (failed(applyPartialConversion(functions, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
