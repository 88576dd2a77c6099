//===- MXInterfaces.td - What operations have in common ----*- tablegen -*-===//
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
    A block-scaled matmul, of one matrix or of expert groups: `mx.matmul` and
    `mx.grouped_matmul`.
  }];
  let methods = [
    MX_Getter<"::mlir::Value", "getA", "The left operand's elements.">,
    MX_Getter<"::mlir::Value", "getAScales",
              "Their scales, or null where they are bf16 or f16.">,
    MX_Getter<"::mlir::Value", "getB", "The right operand's elements.">,
    MX_Getter<"::mlir::Value", "getBScales",
              "Their scales, or null where they are bf16.">,
    MX_Getter<"::mx::OperandOrderAttrInterface", "getAOrderAttr",
              "The order of A that no type names, or null.">,
    MX_Getter<"::mx::OperandOrderAttrInterface", "getBOrderAttr",
              "The order of B that no type names, or null.">,
    InterfaceMethod<"Sets the order of A.", "void", "setAOrderAttr",
      (ins "::mx::OperandOrderAttrInterface":$order)>,
    InterfaceMethod<"Sets the order of B.", "void", "setBOrderAttr",
      (ins "::mx::OperandOrderAttrInterface":$order)>,
    MX_Getter<"::mlir::Value", "getAlpha",
              "The factor of the accumulators (f32), or null.">,
    MX_Getter<"::mlir::Value", "getOut",
              "The destination, of a quantized result that of the elements.">,
    MX_Getter<"::mlir::Value", "getResult",
              "The tensor that is written to `getOut()`, or null on memrefs.">,
    MX_Getter<"::mlir::Value", "getExpertOffsets",
              "Cumulative ends of expert groups, or null.">,
    MX_Getter<"::mx::RaggedKind", "getRaggedOrNone",
              "The dimension that expert groups divide, or `none`.">,
    MX_Getter<"int64_t", "getBlockSize", "Elements that share a scale.">,
    MX_Getter<"bool", "getAccumulate", "Whether the result is added to `outs`.">,
    MX_Getter<"bool", "readsOuts", "Whether the contents of `outs` are read.">,
    MX_Getter<"::mlir::Value", "getScatterRows",
              "The row of the result that each row is added to, or null.">,
    MX_Getter<"bool", "isMasked",
              "Whether each expert group is the first rows of a matrix of its own.">,
    MX_Getter<"int64_t", "getNumB",
              "Number of accumulators that the epilogue gets.">,
    MX_Getter<"::mlir::Value", "getResultScales",
              "Scales of a quantized result, or null.">,
    MX_Getter<"::mx::ScaleRounding", "getResultScaleRounding",
              "How these scales are rounded.">,
    InterfaceMethod<"The block of the epilogue, or null.", "::mlir::Block *",
      "getEpilogueBlock", (ins), "", [{
        return $_op.getEpilogue().empty() ? nullptr
                                          : &$_op.getEpilogue().front().front();
      }]>,
    InterfaceMethod<[{
        Creates the same matmul with other destinations, and with `epilogue`
        instead of its own.
      }], "::mx::MatmulOpInterface", "createAlike", (ins
        "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
        "::mlir::ValueRange":$outs, "::mx::EpilogueBody":$epilogue,
        "int64_t":$numB)>,
    InterfaceMethod<[{
        Applies `epilogue` to each element of the result, after the epilogue
        that the matmul has, whose element is then the only number that
        `epilogue` gets, as f32. Returns the matmul: a new one if the old one
        had no epilogue. Fails with `scatter`, which adds rows up afterwards.
        Values that `epilogue` captures must be defined before the matmul.
      }], "::mlir::FailureOr<::mx::MatmulOpInterface>", "attachEpilogue", (ins
        "::mlir::RewriterBase &":$rewriter, "::mx::EpilogueBody":$epilogue),
      "", [{
        return ::mx::detail::attachEpilogue($_op, rewriter, epilogue);
      }]>
  ];
}

#endif // MX_DIALECT_MX_IR_MXINTERFACES_TD
