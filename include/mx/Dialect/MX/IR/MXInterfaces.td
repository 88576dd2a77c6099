//===- MXInterfaces.td - Interfaces of mx operations -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXINTERFACES_TD
#define MX_DIALECT_MX_IR_MXINTERFACES_TD

include "mlir/IR/OpBase.td"

class MX_Getter<string type, string name, string what>
    : InterfaceMethod<what, type, name>;

def MX_MatmulOpInterface : OpInterface<"MatmulOpInterface"> {
  let cppNamespace = "::mx";
  let description = [{
    A block-scaled matmul, `mx.matmul` or `mx.grouped_matmul`.
  }];
  let methods = [
    MX_Getter<"::mlir::Value", "getA", "Elements of the left operand.">,
    MX_Getter<"::mlir::Value", "getAScales",
              "Scales of A, or null for bf16 and f16.">,
    MX_Getter<"::mlir::Value", "getB", "Elements of the right operand.">,
    MX_Getter<"::mlir::Value", "getBScales",
              "Scales of B, or null for bf16.">,
    MX_Getter<"::mx::OperandOrderAttrInterface", "getAOrderAttr",
              "Materialized order of A, or null.">,
    MX_Getter<"::mx::OperandOrderAttrInterface", "getBOrderAttr",
              "Materialized order of B, or null.">,
    InterfaceMethod<"Sets the order of A.", "void", "setAOrderAttr",
      (ins "::mx::OperandOrderAttrInterface":$order)>,
    InterfaceMethod<"Sets the order of B.", "void", "setBOrderAttr",
      (ins "::mx::OperandOrderAttrInterface":$order)>,
    MX_Getter<"::mlir::Value", "getAlpha",
              "f32 factor that multiplies the accumulators, or null.">,
    MX_Getter<"::mlir::OperandRange", "getRowClasses",
              "Row classes of A and B that select elements, or none.">,
    MX_Getter<"std::optional<::mx::RowClass>", "getWhere",
              "Class of the computed elements, or none for all elements.">,
    MX_Getter<"std::optional<std::pair<int64_t, int64_t>>", "getColumnRange",
              "First and end of the computed columns, or none for all columns.">,
    MX_Getter<"::mlir::Value", "getOut",
              "Destination of the result, or of its elements if quantized.">,
    MX_Getter<"::mlir::Value", "getResult",
              "Result tensor of `getOut()`, or null for memrefs.">,
    MX_Getter<"::mlir::Value", "getExpertOffsets",
              "Cumulative ends of expert groups, or null.">,
    MX_Getter<"::mx::RaggedKind", "getRaggedOrNone",
              "Dimension that expert groups divide, or `none`.">,
    MX_Getter<"::mx::BlockShape", "getBlockSize", "Elements that share a scale.">,
    MX_Getter<"std::optional<::mx::BlockShape>", "getBBlockSize",
              "Elements of B that share a scale, if not those of A.">,
    MX_Getter<"std::optional<uint64_t>", "getPromote",
              "Reduction elements that may be added in reduced precision.">,
    MX_Getter<"bool", "getInOrder",
              "Returns true if a result is one sum in ascending order of k.">,
    InterfaceMethod<"Sets the block sizes and the order of sums of `op`.",
      "void", "copyReduction", (ins "::mx::MatmulOpInterface":$op), "", [{
        $_op.setBlockSize(op.getBlockSize());
        $_op.setBBlockSize(op.getBBlockSize());
        $_op.setPromote(op.getPromote());
        $_op.setInOrder(op.getInOrder());
      }]>,
    MX_Getter<"bool", "getAccumulate", "Returns true to add the result to `outs`.">,
    MX_Getter<"bool", "readsOuts", "Returns true if `outs` is read.">,
    MX_Getter<"::mlir::Value", "getScatterRows",
              "Destination row of each row for `scatter`, or null.">,
    MX_Getter<"bool", "isMasked",
              "Returns true if each expert group is a padded matrix.">,
    MX_Getter<"int64_t", "getNumB",
              "Number of accumulators passed to the epilogue.">,
    MX_Getter<"::mlir::Value", "getResultScales",
              "Scales of a quantized result, or null.">,
    MX_Getter<"::mx::ScaleRounding", "getResultScaleRounding",
              "Rounding of the result's scales.">,
    InterfaceMethod<"Block of the epilogue, or null.", "::mlir::Block *",
      "getEpilogueBlock", (ins), "", [{
        return $_op.getEpilogue().empty() ? nullptr
                                          : &$_op.getEpilogue().front().front();
      }]>,
    InterfaceMethod<[{
        Creates the same matmul with other destinations and another epilogue.
      }], "::mx::MatmulOpInterface", "createAlike", (ins
        "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
        "::mlir::ValueRange":$outs, "::mx::EpilogueBody":$epilogue,
        "int64_t":$numB)>,
    InterfaceMethod<[{
        Applies `epilogue` to each element of the result. An existing epilogue
        runs first, and its result, as f32, is then the only accumulator of
        `epilogue`. Returns the same matmul if it had an epilogue, otherwise a
        new op. Fails with `scatter`, which adds rows after the epilogue. Values
        captured by `epilogue` must dominate the matmul.
      }], "::mlir::FailureOr<::mx::MatmulOpInterface>", "attachEpilogue", (ins
        "::mlir::RewriterBase &":$rewriter, "::mx::EpilogueBody":$epilogue),
      "", [{
        return ::mx::detail::attachEpilogue($_op, rewriter, epilogue);
      }]>
  ];
  let extraSharedClassDeclaration = [{
    /// Returns the elements of B that share a scale.
    ::mx::BlockShape getBlockSizeOfB() {
      return $_op.getBBlockSize().value_or($_op.getBlockSize());
    }
  }];
}

#endif // MX_DIALECT_MX_IR_MXINTERFACES_TD
