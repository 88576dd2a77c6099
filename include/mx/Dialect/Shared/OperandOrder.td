//===- OperandOrder.td - Storage orders of operands --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface through which mx packs and multiplies operands in any storage
// order. mxgpu strategies and plug-ins define the attributes.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_OPERANDORDER_TD
#define MX_DIALECT_SHARED_OPERANDORDER_TD

include "mlir/IR/Interfaces.td"

def MX_OperandOrderAttrInterface : AttrInterface<"OperandOrderAttrInterface"> {
  let cppNamespace = "::mx";
  let description = [{
    Storage order of a matmul operand `[batch...] x rows x columns`. The operand
    is divided into tiles. Each tile is stored

    - as an array of shape `stored`, which makes the stored operand `[batch...]
      x tile rows x tile columns x stored`, with 0 beyond the last row or
      column;
    - or in place, if `stored` is empty: elements are permuted within the tile,
      and the operand keeps its shape, a multiple of the tile.

    The attribute is the encoding of a tensor with the logical shape. After
    `mx-materialize-layouts` the tensor has the stored shape, and the order
    becomes an attribute of the operation. Sizes are in elements.
  }];
  let methods = [
    InterfaceMethod<"Tiles of an operand.", "::mx::OperandTiles", "getTiles">,
    InterfaceMethod<"Fails for element types that the kernels do not support.",
      "::llvm::LogicalResult", "verifyElement", (ins "::mlir::Type":$element,
        "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
  ];
  let extraClassDeclaration = [{
    /// Returns true if the stored operand has the logical shape.
    bool keepsShape() const { return getTiles().stored.empty(); }
    /// Returns the stored shape for a logical shape; sizes may be dynamic.
    ::llvm::SmallVector<int64_t>
    getStoredShape(::llvm::ArrayRef<int64_t> logical) const;
    /// Returns the map from the stored dimensions after the batch to the row
    /// and the column.
    ::mlir::AffineMap getMap() const;
    /// Fails unless the order supports an operand of this logical shape.
    ::llvm::LogicalResult verifyOperand(
        ::llvm::ArrayRef<int64_t> logical, ::mlir::Type element,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
  // Implements VerifiableTensorEncoding, because an order is a tensor encoding.
  let extraTraitClassDeclaration = [{
    ::llvm::LogicalResult verifyEncoding(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type element,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const {
      return ::llvm::cast<::mx::OperandOrderAttrInterface>(
          *static_cast<const ConcreteAttr *>(this))
          .verifyOperand(shape, element, emitError);
    }
  }];
}

#endif // MX_DIALECT_SHARED_OPERANDORDER_TD
