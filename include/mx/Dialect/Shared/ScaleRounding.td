//===- ScaleRounding.td - Rounding of scales ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumeration that mx and mxgpu share. The dialects do not depend on each
// other, so each defines its own attribute.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_SCALEROUNDING_TD
#define MX_DIALECT_SHARED_SCALEROUNDING_TD

include "mlir/IR/EnumAttr.td"

def MX_ScaleRounding : I32EnumAttr<"ScaleRounding",
    "rounding from the maximum of a block to its scale", [
      I32EnumAttrCase<"Ceil", 0, "ceil">,
      I32EnumAttrCase<"Floor", 1, "floor">,
      I32EnumAttrCase<"Even", 2, "even">,
      I32EnumAttrCase<"Fit", 3, "fit">,
      I32EnumAttrCase<"Exact", 4, "exact">]> {
  let cppNamespace = "::mx";
  let genSpecializedAttr = 0;
}

#endif // MX_DIALECT_SHARED_SCALEROUNDING_TD
