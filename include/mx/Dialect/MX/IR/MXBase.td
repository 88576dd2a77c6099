//===- MXBase.td - Base classes of mx operations -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXBASE_TD
#define MX_DIALECT_MX_IR_MXBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mx/Dialect/MX/IR/MXAttrs.td"
include "mx/Dialect/MX/IR/MXInterfaces.td"

class MX_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MX_Dialect, opMnemonic, traits>;

/// Operands of destination-style operations: ranked tensors, or memrefs after
/// bufferization.
class MX_ShapedOf<list<Type> types, string summary>
    : AnyTypeOf<[RankedTensorOf<types>, MemRefOf<types>],
                "ranked tensor or memref of " # summary, "::mlir::ShapedType">;
def MX_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
    "ranked tensor or memref", "::mlir::ShapedType">;
def MX_FloatTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16], "f32, bf16 or f16">;
def MX_DequantizedTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16, F8E4M3FN], "f32, bf16, f16 or f8E4M3FN">;
def MX_ScalarTensorOrMemRef
    : AnyTypeOf<[0DTensorOf<[F32]>, MemRefRankOf<[F32], [0]>],
        "rank-0 tensor or memref of f32", "::mlir::ShapedType">;
def MX_ElementTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN, I8],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements">;
def MX_FloatElementTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements">;
def MX_RightOperandTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN, BF16],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, or bf16">;
def MX_LeftOperandTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN, BF16, F16],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, or bf16 or "
        "f16">;
def MX_QuantizableTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16, F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN,
                   F4E2M1FN, I8],
        "f32, bf16 or f16, or f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN "
        "or i8 elements">;
/// Shape of the blocks that share a scale: `128`, `row` or `128x128`.
def MX_BlockShapeAttr : Attr<CPred<"::mx::BlockShape::isValid($_self)">,
                             "i64, or rows and columns"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mx::BlockShape";
  let convertFromStorage = "::mx::BlockShape::get($_self)";
  let constBuilderCall = "::mx::BlockShape($0).getAttr($_builder.getContext())";
}

/// Scale type of a block format.
def MX_Scale : Type<CPred<"::mx::findBlockFormat($_self)">, "scale type">;
def MX_ScaleTensorOrMemRef : MX_ShapedOf<[MX_Scale], "f8E8M0FNU, f8E4M3FN or f32 scales">;
def MX_MatmulTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16, F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN,
                   F4E2M1FN, MX_Scale],
        "f32, bf16 or f16, of quantized elements or of f8E8M0FNU scales">;
/// One bit per row, 32 rows per word.
def MX_RowBits : MX_ShapedOf<[I32], "i32">;
def MX_Offsets
    : AnyTypeOf<[1DTensorOf<[I32, I64]>, MemRefRankOf<[I32, I64], [1]>],
        "rank-1 tensor or memref of i32 or i64", "::mlir::ShapedType">;

/// Operation that writes its `outs`. The results are the written tensors; an
/// operation on memrefs has no results.
class MX_StructuredOp<string opMnemonic,
                      list<Trait> traits = [AttrSizedOperandSegments]>
    : MX_Op<opMnemonic, !listconcat([
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
          ["reifyResultShapes"]>], traits)> {
  let hasVerifier = 1;
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutsMutable();
    }
    /// Returns the type of the i-th destination.
    ::mlir::ShapedType getOutType(unsigned i = 0) {
      return ::llvm::cast<::mlir::ShapedType>(getOuts()[i].getType());
    }
  }];
  code raggedDeclaration = [{
    /// Returns the dimension that expert groups divide, or `none`.
    ::mx::RaggedKind getRaggedOrNone() {
      return getRagged().value_or(::mx::RaggedKind::None);
    }
  }];
  code destinationDeclaration = [{
    /// Returns the rounding of scales, which defaults to that of the format.
    ::mx::ScaleRounding getRounding() {
      return getScaleRounding().value_or(
          ::mx::getDefaultRounding(getScaleType(0), getBlockSize()));
    }
    int64_t getAxis(unsigned i) { return getAxes()[i % getAxes().size()]; }
    unsigned getScalesNumber(unsigned i) { return getElementsNumber(i) + 1; }
    /// Returns the tensor that receives elements or dequantized values.
    ::mlir::Value getElements(unsigned i) {
      return getOuts()[getElementsNumber(i)];
    }
    ::mlir::Value getScales(unsigned i) { return getOuts()[getScalesNumber(i)]; }
    /// Returns the dimension that expert groups divide in the destinations for
    /// `axis`. The destinations for axis 0 are transposed.
    ::mx::RaggedKind getRaggedOfAxis(int64_t axis) {
      return ::mx::getRaggedOfAxis(getRaggedOrNone(), axis);
    }
  }];
  code prologueDeclaration = [{
    /// Returns the block of the prologue, or null.
    ::mlir::Block *getPrologueBlock() {
      return getPrologue().empty() ? nullptr : &getPrologue().front().front();
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
}

#endif // MX_DIALECT_MX_IR_MXBASE_TD
