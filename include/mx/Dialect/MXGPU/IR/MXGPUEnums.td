//===- MXGPUEnums.td - Enumerations of the mxgpu dialect ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUENUMS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUENUMS_TD

include "mlir/IR/EnumAttr.td"
include "mx/Dialect/MXGPU/IR/MXGPUDialect.td"

class MXGPU_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mx::mxgpu";
  let genSpecializedAttr = 0;
}

def MXGPU_Swizzle : MXGPU_I32Enum<"Swizzle",
    "permutation of 16-byte chunks in shared memory (PTX ISA, Swizzling modes)", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Sw32", 32, "sw32">,
      I32EnumAttrCase<"Sw64", 64, "sw64">,
      I32EnumAttrCase<"Sw128", 128, "sw128">]>;

def MXGPU_Space : MXGPU_I32Enum<"Space", "memory of a ring's field", [
      I32EnumAttrCase<"Smem", 0, "smem">,
      I32EnumAttrCase<"Tmem", 1, "tmem">]>;

def MXGPU_Agent : MXGPU_I32Enum<"Agent",
    "who fills or empties the slots of a ring", [
      I32EnumAttrCase<"Tma", 0, "tma">,
      I32EnumAttrCase<"Mma", 1, "mma">,
      I32EnumAttrCase<"Threads", 2, "threads">]>;

def MXGPU_Raster : MXGPU_I32Enum<"Raster", "order in which tiles are visited", [
      I32EnumAttrCase<"Linear", 0, "linear">]>;
def MXGPU_RasterAttr : EnumAttr<MXGPU_Dialect, MXGPU_Raster, "raster">;

def MXGPU_Epilogue : MXGPU_I32Enum<"Epilogue", "how results reach memory", [
      I32EnumAttrCase<"Direct", 0, "direct">]>;

#endif // MX_DIALECT_MXGPU_IR_MXGPUENUMS_TD
