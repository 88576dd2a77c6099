//===- ScaleRounding.td - How scales are rounded -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Both dialects quantize, and neither depends on the other, so the enumeration
// that they share is here. Each dialect has its own attribute for it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_SCALEROUNDING_TD
#define MX_DIALECT_SHARED_SCALEROUNDING_TD

include "mlir/IR/EnumAttr.td"

def MX_ScaleRounding : I32EnumAttr<"ScaleRounding",
    "how the maximum of a block becomes its scale", [
      I32EnumAttrCase<"Ceil", 0, "ceil">,
      I32EnumAttrCase<"Floor", 1, "floor">,
      I32EnumAttrCase<"Even", 2, "even">,
      I32EnumAttrCase<"Fit", 3, "fit">]> {
  let cppNamespace = "::mx";
  let genSpecializedAttr = 0;
}

#endif // MX_DIALECT_SHARED_SCALEROUNDING_TD
