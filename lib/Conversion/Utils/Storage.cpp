//===- Storage.cpp - Storage of sub-byte elements -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM stores each f4 or f6 element in a byte with undefined upper bits. Arrays
// are exchanged with files and GPUs, so mx defines their bytes. A byte contains
// two f4 elements, the first in the low nibble, or one f6 element.
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
    return "packed f4E2M1FN elements in contiguous rows of whole bytes";
  int64_t size = memref.getRank() ? memref.getShape().back() : 1;
  if (!ShapedType::isDynamic(size) && size % 2 != 0)
    return "an even number of f4E2M1FN elements, which are stored two per "
           "byte, in the last dimension";
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

/// If a reshape joins or splits rows with a dynamic length, which may be odd,
/// returns the type with these rows. Returns null otherwise.
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
  // A single row is not joined or split, so its length may be odd.
  bool isOneRow =
      llvm::all_of(ArrayRef(groups.back()).drop_back(),
                   [&](int64_t dim) { return rows.getDimSize(dim) == 1; });
  return isOneRow ? MemRefType() : rows;
}

/// Rebuilds an operation with the converted types. Supports operations that
/// access neither elements nor the last dimension of packed arrays.
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
             memref::ExtractStridedMetadataOp, WindowOp, ToPeersOp, AllGatherOp,
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
      // The last dimension's size is the last dynamic size.
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
  /// Expands `source` to the sizes of `type`. If the last dimension is dynamic,
  /// there is a single row with all bytes of `source`.
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

/// Converts constant elements to bytes. A resource remains a resource, because
/// MLIR uniques other attributes and never frees them.
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

/// Returns true for resources of i1 and resources without elements, because the
/// translation to LLVM IR does not support them.
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
             << "expected slices of whole rows of f4E2M1FN elements, which "
                "are stored two per byte, found a slice of partial rows";
    if (MemRefType rows = getCutRows(op))
      return op->emitError()
             << "expected rows with a static even length in a reshape that "
                "joins or splits rows of f4E2M1FN elements, which are stored "
                "two per byte, found "
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
