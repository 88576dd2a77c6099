//===- MaterializeLayouts.cpp - Encodings to physical tensors -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferization drops encodings: scales would become a row-major memref of the
// logical shape, and casts between layouts would become no-ops. Therefore this
// pass replaces encoded tensors by physical tensors before bufferization. Other
// operations on encoded tensors are errors.
//===----------------------------------------------------------------------===//

#include "LogicalSizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

static llvm::TrackingStatistic
    numMaterialized("mx-materialize-layouts", "numMaterialized",
                    "Tensors whose layout became explicit");

namespace mx {
#define GEN_PASS_DEF_MXMATERIALIZELAYOUTS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Supported operations
//===----------------------------------------------------------------------===//

/// Returns the first mx encoding in a type or attribute, at any depth.
template <typename T>
static Attribute findEncoding(T typeOrAttr) {
  Attribute found;
  typeOrAttr.walk([&](RankedTensorType type) {
    if (!hasMXEncoding(type))
      return WalkResult::advance();
    found = type.getEncoding();
    return WalkResult::interrupt();
  });
  return found;
}

/// Returns true if a slice selects whole matrices of a batch. The physical
/// tensor keeps batch dimensions.
static bool takesWholeMatrices(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || slice.getSourceType().getRank() < 2)
    return false;
  RankedTensorType source = slice.getSourceType();
  for (int64_t dim : {source.getRank() - 2, source.getRank() - 1}) {
    std::optional<int64_t> extent;
    OpFoldResult size = slice.getMixedSizes()[dim];
    if (!source.isDynamicDim(dim))
      extent = source.getDimSize(dim);
    auto ofSource = dyn_cast<Value>(size)
                        ? cast<Value>(size).getDefiningOp<tensor::DimOp>()
                        : tensor::DimOp();
    bool isWhole = extent ? getConstantIntValue(size) == extent
                          : ofSource &&
                                ofSource.getSource() == slice.getSource() &&
                                ofSource.getConstantIndex() == dim;
    if (!isWhole || slice.getDroppedDims().test(dim) ||
        getConstantIntValue(slice.getMixedOffsets()[dim]) != 0 ||
        getConstantIntValue(slice.getMixedStrides()[dim]) != 1)
      return false;
  }
  return true;
}

/// Returns true if a reshape only collapses batch dimensions.
static bool keepsMatrices(Operation *op) {
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse || collapse.getResultType().getRank() < 2 ||
      collapse.getSrcType().getEncoding() !=
          collapse.getResultType().getEncoding())
    return false;
  return llvm::all_of(
      ArrayRef(collapse.getReassociationIndices()).take_back(2),
      [](const ReassociationIndices &group) { return group.size() == 1; });
}

static bool isConverted(Operation *op) {
  return isa_and_nonnull<MXDialect>(op->getDialect()) ||
         isa<func::FuncOp, func::CallOp, func::ReturnOp, scf::ForOp, scf::IfOp,
             scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp,
             arith::SelectOp, tensor::EmptyOp, tensor::DimOp>(op) ||
         takesWholeMatrices(op) || keepsMatrices(op);
}

/// Returns an encoding of `op` that cannot be made explicit, or null. For
/// unsupported operations this is any encoding. For supported operations it is
/// a nested encoding.
static Attribute findFixedEncoding(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes()), ofBranches;
  llvm::append_range(types, op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(block.isEntryBlock() ? types : ofBranches,
                         block.getArgumentTypes());
  auto function = dyn_cast<func::FuncOp>(op);
  if (function) {
    llvm::append_range(types, function.getArgumentTypes());
    llvm::append_range(types, function.getResultTypes());
  }
  if (isConverted(op))
    llvm::erase_if(types, [](Type type) { return hasMXEncoding(type); });
  for (Type type : llvm::concat<Type>(types, ofBranches))
    if (Attribute found = findEncoding(type))
      return found;
  return function ? Attribute()
                  : findEncoding(Attribute(op->getAttrDictionary()));
}

static LogicalResult verifyCarriers(ModuleOp module) {
  bool failed = false;
  module.walk([&](Operation *op) {
    if (Attribute found = findFixedEncoding(op)) {
      op->emitOpError("cannot carry the layout ")
          << found
          << " to a physical tensor; expected an mx operation, func, "
             "scf.for, scf.if, scf.while, arith.select, tensor.empty or "
             "tensor.dim"
          << (isa<OffsetSizeAndStrideOpInterface>(op)
                  ? ", or a slice of whole matrices: make this slice an "
                    "argument, or a result of mx.relayout or mx.pack_operand"
                  : "");
      failed = true;
    }
  });
  return failure(failed);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

RankedTensorType getPhysicalType(const TypeConverter &converter, Type type) {
  return dyn_cast_or_null<RankedTensorType>(converter.convertType(type));
}

/// Replaces types by physical types in mx operations, selects, and tensor.dim
/// of unchanged dimensions. Keeps the attributes and regions of these
/// operations.
struct ConvertTypes final : ConversionPattern {
  ConvertTypes(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<MXDialect>(op->getDialect()) &&
        !isa<tensor::DimOp, arith::SelectOp>(op))
      return rewriter.notifyMatchFailure(op, "has a pattern of its own");
    SmallVector<Type> types;
    if (failed(typeConverter->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "a result has no physical type");
    rewriter.replaceOp(op, clone(rewriter, op, types, operands));
    return success();
  }
};

/// Returns rows and columns of a layout's tile.
std::pair<int64_t, int64_t> getTileShape(RankedTensorType type) {
  if (ScaleLayoutAttr::get(type).getKind() == ScaleLayoutKind::MNMajor)
    return {kMNMajorRows, 1};
  if (OperandOrderAttrInterface order = getOrder(type))
    return {order.getTiles().rows, order.getTiles().columns};
  return {kScaleTileRows, kScaleTileBlocks};
}

struct ConvertEmpty final : OpConversionPattern<tensor::EmptyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tensor::EmptyOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    RankedTensorType physical = getPhysicalType(*typeConverter, type);
    if (!physical || physical == type)
      return rewriter.notifyMatchFailure(op, "has no layout");
    auto layout = ScaleLayoutAttr::get(type);
    bool isMNMajor = layout.getKind() == ScaleLayoutKind::MNMajor;
    bool tiled = physical.getRank() != type.getRank();
    auto [tileRows, tileColumns] = getTileShape(type);
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(rewriter, loc, value);
    };
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i))
        continue;
      Value size = op.getDynamicSize(i);
      bool isRow = i == type.getRank() - 2;
      bool isColumn = i == type.getRank() - 1;
      if (tiled && isRow && !isMNMajor &&
          layout.getRagged() == RaggedKind::Rows) {
        Value whole =
            arith::DivUIOp::create(rewriter, loc, size, constant(tileRows));
        size = arith::AddIOp::create(rewriter, loc, whole,
                                     constant(layout.getGroups()));
      } else if (tiled && (isRow || isColumn)) {
        size = arith::CeilDivUIOp::create(
            rewriter, loc, size, constant(isRow ? tileRows : tileColumns));
      }
      sizes.push_back(size);
    }
    // Blocks precede rows.
    if (isMNMajor && type.isDynamicDim(type.getRank() - 2) &&
        type.isDynamicDim(type.getRank() - 1))
      std::swap(sizes.back(), *std::prev(sizes.end(), 2));
    rewriter.replaceOpWithNewOp<tensor::EmptyOp>(op, physical, sizes);
    return success();
  }
};

struct ConvertSlice final : OpConversionPattern<tensor::ExtractSliceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tensor::ExtractSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPhysicalType(*typeConverter, op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "has no physical type");
    Value source = adaptor.getSource();
    auto sourceType = cast<RankedTensorType>(source.getType());
    int64_t batch = op.getSourceType().getRank() - 2;
    auto take = [&](SmallVector<OpFoldResult> numbers) {
      numbers.resize(batch);
      return numbers;
    };
    SmallVector<OpFoldResult> offsets = take(op.getMixedOffsets()),
                              sizes = take(op.getMixedSizes()),
                              strides = take(op.getMixedStrides());
    for (int64_t dim = batch; dim < sourceType.getRank(); ++dim) {
      offsets.push_back(rewriter.getIndexAttr(0));
      sizes.push_back(tensor::getMixedSize(rewriter, op.getLoc(), source, dim));
      strides.push_back(rewriter.getIndexAttr(1));
    }
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, type, source, offsets, sizes, strides);
    return success();
  }
};

struct ConvertCollapse final : OpConversionPattern<tensor::CollapseShapeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tensor::CollapseShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPhysicalType(*typeConverter, op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "has no physical type");
    SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
    groups.pop_back_n(2);
    for (int64_t dim = op.getSrcType().getRank() - 2;
         int64_t(groups.size()) < type.getRank(); ++dim)
      groups.push_back({dim});
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, type, adaptor.getSrc(), groups);
    return success();
  }
};

/// Sets operand orders as attributes of the operations.
void nameOrders(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto pack = dyn_cast<PackOperandOp>(op)) {
      pack.setOrderAttr(pack.getOutOrder());
    } else if (auto matmul = dyn_cast<MatmulOpInterface>(op)) {
      matmul.setAOrderAttr(getOrderOfA(matmul));
      matmul.setBOrderAttr(getOrderOfB(matmul));
    }
  });
}

struct MaterializeLayouts final
    : mx::impl::MXMaterializeLayoutsBase<MaterializeLayouts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyCarriers(module)) || failed(resolveSizes(module)))
      return signalPassFailure();
    nameOrders(module);
    module.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        numMaterialized += hasMXEncoding(type);
    });

    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](RankedTensorType type) { return getMaterializedType(type); });
    RewritePatternSet patterns(context);
    patterns.add<ConvertTypes, ConvertEmpty, ConvertSlice, ConvertCollapse>(
        converter, context);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    ConversionTarget target(*context);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return converter.isSignatureLegal(op.getFunctionType()) &&
             converter.isLegal(&op.getBody());
    });
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return converter.isLegal(op); });
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
