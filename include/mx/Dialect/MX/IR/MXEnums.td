//===- MXEnums.td - Enumerations of the mx dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXENUMS_TD
#define MX_DIALECT_MX_IR_MXENUMS_TD

include "mlir/IR/EnumAttr.td"
include "mx/Dialect/MX/IR/MXDialect.td"

class MX_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mx";
  let genSpecializedAttr = 0;
}

def MX_ScaleLayoutKind : MX_I32Enum<"ScaleLayoutKind",
    "physical layout of a tensor's scales", [
      I32EnumAttrCase<"Linear", 0, "linear">,
      I32EnumAttrCase<"Sf128x4", 1, "sf_128x4">,
      I32EnumAttrCase<"MNMajor", 2, "mn_major">]>;

def MX_RaggedKind : MX_I32Enum<"RaggedKind",
    "dimension of a ragged tensor that expert groups divide", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Rows", 1, "rows">,
      I32EnumAttrCase<"Reduction", 2, "reduction">]>;
def MX_RaggedKindAttr : EnumAttr<MX_Dialect, MX_RaggedKind, "ragged_kind">;

def MX_AdditionOrder : MX_I32Enum<"AdditionOrder",
    "order of row additions", [
      I32EnumAttrCase<"Any", 0, "any">,
      I32EnumAttrCase<"Fixed", 1, "fixed">]>;
def MX_AdditionOrderAttr
    : EnumAttr<MX_Dialect, MX_AdditionOrder, "addition_order">;

def MX_RowClass : MX_I32Enum<"RowClass",
    "class of a result element by the spreads of its rows of A and B", [
      I32EnumAttrCase<"Narrow", 0, "narrow">,
      I32EnumAttrCase<"Wide", 1, "wide">]>;
def MX_RowClassAttr : EnumAttr<MX_Dialect, MX_RowClass, "row_class">;

#endif // MX_DIALECT_MX_IR_MXENUMS_TD
