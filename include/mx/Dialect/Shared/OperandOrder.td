//===- OperandOrder.td - Storage orders of operands --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The mx dialect packs and multiplies operands in any order. The strategies of
// mxgpu, and of plug-ins, define the attributes.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_OPERANDORDER_TD
#define MX_DIALECT_SHARED_OPERANDORDER_TD

include "mlir/IR/Interfaces.td"

def MX_OperandOrderAttrInterface : AttrInterface<"OperandOrderAttrInterface"> {
  let cppNamespace = "::mx";
  let description = [{
    The order in which the elements of a matmul operand, `[batch...] x rows x
    columns`, are stored. An operand is divided into tiles. Each tile is stored

    - as an array of the shape `stored`: the stored operand is `[batch...] x
      tile rows x tile columns x stored`, and elements past the last row or
      column are 0;
    - or in its place, if `stored` is empty: the elements are in another order,
      and the operand keeps its shape, which has whole tiles.

    The attribute is the encoding of a tensor of the logical shape, and the
    order of an operation once `mx-materialize-layouts` has made the shape the
    stored one. Sizes are elements.
  }];
  let methods = [
    InterfaceMethod<"Tiles of an operand.", "::mx::OperandTiles", "getTiles">,
    InterfaceMethod<"Fails if the kernels read no such elements.",
      "::llvm::LogicalResult", "verifyElement", (ins "::mlir::Type":$element,
        "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
  ];
  let extraClassDeclaration = [{
    /// Returns true if the stored operand has the logical shape.
    bool keepsShape() const { return getTiles().stored.empty(); }
    /// Returns the stored shape of a logical shape; sizes may be dynamic.
    ::llvm::SmallVector<int64_t>
    getStoredShape(::llvm::ArrayRef<int64_t> logical) const;
    /// Returns the map from the stored dimensions after the batch to the row
    /// and the column.
    ::mlir::AffineMap getMap() const;
    /// Fails unless an operand of this logical shape can be in the order.
    ::llvm::LogicalResult verifyOperand(
        ::llvm::ArrayRef<int64_t> logical, ::mlir::Type element,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
  // Of VerifiableTensorEncoding, which an order lists beside this interface.
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
