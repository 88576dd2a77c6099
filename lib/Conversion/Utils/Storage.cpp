//===- Storage.cpp - Storage of sub-byte elements -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM stores f4 and f6 in a byte each, with undefined upper bits. Arrays are
// exchanged with files and GPUs, so mx defines their bytes: two f4 per byte,
// the first in the low nibble, and an f6 per byte.
//===----------------------------------------------------------------------===//

#include "Storage.h"
#include "FunctionPatterns.h"
#include "IntExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mx/Dialect/MX/IR/ConstantBytes.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

namespace {

bool isHalved(Type type) {
  auto memref = dyn_cast_if_present<MemRefType>(type);
  return memref && isa<Float4E2M1FNType>(memref.getElementType());
}

/// Returns the reason why packed elements cannot be stored as bytes, if any.
std::optional<StringRef> getPackingFault(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isa<Float4E2M1FNType>(memref.getElementType()))
    return {};
  if (!memref.getLayout().isIdentity() && !getHalvedLayout(memref))
    return "packed f4E2M1FN elements in rows of their own, without gaps";
  int64_t size = memref.getRank() ? memref.getShape().back() : 1;
  if (!ShapedType::isDynamic(size) && size % 2 != 0)
    return "an even number of f4E2M1FN elements in the last dimension, which "
           "share bytes";
  return {};
}

/// Returns true if a view contains whole rows.
bool takesWholeRows(memref::SubViewOp op) {
  int64_t last = op.getSourceType().getRank() - 1;
  int64_t columns = op.getSourceType().getDimSize(last);
  return !op.getDroppedDims().test(last) && op.getStaticOffsets()[last] == 0 &&
         op.getStaticStrides()[last] == 1 && !ShapedType::isDynamic(columns) &&
         op.getStaticSizes()[last] == columns;
}

/// Returns the type with the rows that a reshape combines or splits, if their
/// dynamic length may be odd; else null.
MemRefType getCutRows(Operation *op) {
  MemRefType rows;
  SmallVector<ReassociationIndices> groups;
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    rows = collapse.getSrcType();
    groups = collapse.getReassociationIndices();
  } else if (auto expand = dyn_cast<memref::ExpandShapeOp>(op)) {
    rows = expand.getResultType();
    groups = expand.getReassociationIndices();
  }
  if (!isHalved(rows) || groups.empty() ||
      !rows.isDynamicDim(rows.getRank() - 1))
    return {};
  // A single row of any length is unchanged.
  bool isOneRow =
      llvm::all_of(ArrayRef(groups.back()).drop_back(),
                   [&](int64_t dim) { return rows.getDimSize(dim) == 1; });
  return isOneRow ? MemRefType() : rows;
}

/// Rebuilds an operation on the converted types, if it accesses neither
/// elements nor the last dimension of packed arrays.
struct ConvertMemRefOp final : ConversionPattern {
  ConvertMemRefOp(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
             memref::CopyOp, memref::CastOp, memref::CollapseShapeOp,
             memref::ExpandShapeOp, memref::SubViewOp, memref::TransposeOp,
             memref::ReinterpretCastOp, memref::ExtractAlignedPointerAsIndexOp,
             memref::ExtractStridedMetadataOp, WindowOp, AllGatherOp,
             AllToAllOp>(op))
      return rewriter.notifyMatchFailure(op,
                                         "not an operation on whole arrays");
    bool packed = llvm::any_of(op->getOperandTypes(), isHalved) ||
                  llvm::any_of(op->getResultTypes(), isHalved);
    auto slice = dyn_cast<memref::SubViewOp>(op);
    if (packed && (slice ? !takesWholeRows(slice)
                         : isa<memref::TransposeOp, memref::ReinterpretCastOp,
                               memref::ExtractStridedMetadataOp>(op)))
      return rewriter.notifyMatchFailure(op, "a view of packed elements");
    if (getCutRows(op))
      return rewriter.notifyMatchFailure(op, "rows that may not fill bytes");
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "elements do not fill bytes");
    SmallVector<Value> values(operands);
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(op); expand && packed)
      return expandBytes(expand, operands[0], cast<MemRefType>(types[0]),
                         rewriter);
    auto type = op->getNumResults() == 1
                    ? dyn_cast<MemRefType>(op->getResult(0).getType())
                    : MemRefType();
    if (isa<memref::AllocOp, memref::AllocaOp>(op) && packed &&
        ShapedType::isDynamic(type.getShape().back())) {
      // Its size is the last dynamic size.
      Value &size = values[type.getNumDynamicDims() - 1];
      size = Int(rewriter, op->getLoc(), size).ceilDiv(2);
    }
    Operation *converted =
        rewriter.create(op->getLoc(), op->getName().getIdentifier(), values,
                        types, op->getAttrs());
    if (slice && packed) {
      SmallVector<int64_t> sizes(slice.getStaticSizes());
      sizes.back() /= 2;
      cast<memref::SubViewOp>(converted).setStaticSizes(sizes);
    }
    rewriter.replaceOp(op, converted);
    return success();
  }

private:
  /// Expands to the sizes of `type`. A dynamic last dimension is a separate row
  /// with the bytes of `source`.
  static LogicalResult expandBytes(memref::ExpandShapeOp op, Value source,
                                   MemRefType type,
                                   ConversionPatternRewriter &rewriter) {
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    if (!type.isDynamicDim(type.getRank() - 1))
      sizes.back() = rewriter.getIndexAttr(type.getShape().back());
    else
      sizes.back() = Value(
          Int(rewriter, op.getLoc(), cast<Value>(sizes.back())).ceilDiv(2));
    rewriter.replaceOpWithNewOp<memref::ExpandShapeOp>(
        op, type, source, op.getReassociationIndices(), sizes);
    return success();
  }
};

} // namespace

static LogicalResult convertDim(memref::DimOp op,
                                memref::DimOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) {
  auto type = cast<MemRefType>(op.getSource().getType());
  std::optional<int64_t> dimension = op.getConstantIndex();
  if (isHalved(type) && !dimension)
    return rewriter.notifyMatchFailure(op, "dimension is not a constant");
  Int size(rewriter, op.getLoc(),
           memref::DimOp::create(rewriter, op.getLoc(), adaptor.getSource(),
                                 adaptor.getIndex()));
  bool isLast = isHalved(type) && *dimension + 1 == type.getRank();
  rewriter.replaceOp(op, Value(isLast ? size * 2 : size));
  return success();
}

/// Converts constant elements to bytes. A resource stays a resource, because
/// attributes are compared and never freed.
static ElementsAttr convertElements(ElementsAttr elements, MemRefType type) {
  std::string bytes;
  appendConstantBytes(elements, bytes);
  auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
  if (type.getElementType().isInteger(1))
    return DenseElementsAttr::get(
        tensor, llvm::map_to_vector(bytes, [](char bit) { return bit != 0; }));
  ArrayRef<char> data(bytes.data(), bytes.size());
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource || bytes.empty())
    return DenseElementsAttr::getFromRawBuffer(tensor, data);
  return DenseResourceElementsAttr::get(
      tensor, resource.getRawHandle().getKey(),
      HeapAsmResourceBlob::allocateAndCopyInferAlign(data));
}

/// LLVM's translation does not support resources of i1 or without elements.
static bool isUnknownResource(memref::GlobalOp op) {
  return (op.getType().getElementType().isInteger(1) ||
          op.getType().getNumElements() == 0) &&
         isa_and_present<DenseResourceElementsAttr>(op.getInitialValueAttr());
}

static LogicalResult convertGlobal(memref::GlobalOp op,
                                   memref::GlobalOp::Adaptor,
                                   ConversionPatternRewriter &rewriter,
                                   const TypeConverter &converter) {
  auto type = dyn_cast_or_null<MemRefType>(converter.convertType(op.getType()));
  if (!type)
    return rewriter.notifyMatchFailure(op, "elements do not fill bytes");
  Attribute initial = op.getInitialValueAttr();
  if (auto elements = dyn_cast_or_null<ElementsAttr>(initial)) {
    if (std::optional<std::string> fault = findConstantFault(elements))
      return op.emitOpError("expected ") << *fault;
    initial = convertElements(elements, type);
  }
  rewriter.modifyOpInPlace(op, [&] {
    op.setType(type);
    op.setInitialValueAttr(initial);
  });
  return success();
}

static LogicalResult convertGetGlobal(memref::GetGlobalOp op,
                                      memref::GetGlobalOp::Adaptor,
                                      ConversionPatternRewriter &rewriter,
                                      const TypeConverter &converter) {
  Type type = converter.convertType(op.getType());
  if (!type)
    return rewriter.notifyMatchFailure(op, "elements do not fill bytes");
  rewriter.replaceOpWithNewOp<memref::GetGlobalOp>(op, type, op.getName());
  return success();
}

LogicalResult mx::verifyStorage(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    SmallVector<Type> types(op->getResultTypes());
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      llvm::append_range(types, function.getArgumentTypes());
      llvm::append_range(types, function.getResultTypes());
    }
    if (auto slice = dyn_cast<memref::SubViewOp>(op);
        slice && isHalved(slice.getType()) && !takesWholeRows(slice))
      return op->emitError()
             << "expected slices of whole rows of f4E2M1FN elements, "
                "which share bytes, found one of slices of rows";
    if (MemRefType rows = getCutRows(op))
      return op->emitError()
             << "expected rows of a static even length where rows of "
                "f4E2M1FN elements, which share bytes, are joined or "
                "one is divided, found "
             << rows;
    for (Type type : types)
      if (std::optional<StringRef> expected = getPackingFault(type))
        return op->emitError()
               << "expected " << *expected << ", found " << type;
    return success();
  });
  return failure(result.wasInterrupted());
}

void mx::addStorageConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](MemRefType type) -> std::optional<Type> {
    return getStorageType(type);
  });
  auto materialize = [](OpBuilder &builder, Type type, ValueRange inputs,
                        Location loc) -> Value {
    return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
        .getResult(0);
  };
  converter.addSourceMaterialization(materialize);
  converter.addTargetMaterialization(materialize);
}

void mx::populateStoragePatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns,
                                 ConversionTarget &target) {
  patterns.add<ConvertMemRefOp>(converter, patterns.getContext());
  addPatterns<convertDim, convertGlobal, convertGetGlobal>(converter, patterns);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType()) &&
           converter.isLegal(&op.getBody());
  });
  target.addDynamicallyLegalDialect<memref::MemRefDialect>(
      [&](Operation *op) { return converter.isLegal(op); });
  target.addDynamicallyLegalOp<memref::GlobalOp>([&](memref::GlobalOp op) {
    return converter.isLegal(op.getType()) && !isUnknownResource(op);
  });
  target.addDynamicallyLegalOp<func::CallOp, func::ReturnOp>(
      [&](Operation *op) { return converter.isLegal(op); });
}
