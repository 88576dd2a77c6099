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

def MXGPU_Space : MXGPU_I32Enum<"Space", "memory of a ring's buffer", [
      I32EnumAttrCase<"Smem", 0, "smem">,
      I32EnumAttrCase<"Tmem", 1, "tmem">]>;

def MXGPU_AsyncKind : MXGPU_I32Enum<"AsyncKind",
    "mechanism that fills or empties the stages of a ring", [
      I32EnumAttrCase<"BulkCopy", 0, "bulk_copy">,
      I32EnumAttrCase<"MmaCommit", 1, "mma_commit">,
      I32EnumAttrCase<"Threads", 2, "threads">,
      I32EnumAttrCase<"AsyncThreads", 3, "async_threads">,
      I32EnumAttrCase<"BulkStore", 4, "bulk_store">,
      I32EnumAttrCase<"Clc", 5, "clc">,
      I32EnumAttrCase<"AtomicCounter", 6, "atomic_counter">,
      I32EnumAttrCase<"Groups", 7, "groups">,
      I32EnumAttrCase<"Roles", 8, "roles">]>;

def MXGPU_Scope : MXGPU_I32Enum<"Scope", "CTAs that share a ring's stages", [
      I32EnumAttrCase<"Cta", 0, "cta">,
      I32EnumAttrCase<"Pair", 1, "pair">,
      I32EnumAttrCase<"Warp", 2, "warp">]>;

def MXGPU_TileLoop : MXGPU_I32Enum<"TileLoop",
    "assignment of work tiles to CTAs", [
      I32EnumAttrCase<"Static", 0, "static">,
      I32EnumAttrCase<"Clc", 1, "clc">]>;
def MXGPU_TileLoopAttr : EnumAttr<MXGPU_Dialect, MXGPU_TileLoop, "tile_loop">;

def MXGPU_RasterOrder : MXGPU_I32Enum<"RasterOrder",
    "order of work tiles", [
      I32EnumAttrCase<"Linear", 0, "linear">,
      I32EnumAttrCase<"GroupM", 1, "group_m">,
      I32EnumAttrCase<"Hilbert", 2, "hilbert">,
      I32EnumAttrCase<"Columns", 3, "columns">]>;

def MXGPU_Epilogue : MXGPU_I32Enum<"Epilogue", "path of results to memory", [
      I32EnumAttrCase<"Direct", 0, "direct">,
      I32EnumAttrCase<"TmaStore", 1, "tma_store">]>;

def MXGPU_Workspace : MXGPU_I32Enum<"Workspace",
    "operands that a separate kernel dequantizes to device memory", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"A", 1, "a">,
      I32EnumAttrCase<"B", 2, "b">,
      I32EnumAttrCase<"AB", 3, "ab">]>;

def MXGPU_ReduceKind : MXGPU_I32Enum<"ReduceKind",
    "combining operation of a reduction", [
      I32EnumAttrCase<"Add", 0, "add">,
      I32EnumAttrCase<"Maximum", 1, "maximum">,
      I32EnumAttrCase<"Minimum", 2, "minimum">]>;
def MXGPU_ReduceKindAttr
    : EnumAttr<MXGPU_Dialect, MXGPU_ReduceKind, "reduce_kind">;

def MXGPU_CacheHint : MXGPU_I32Enum<"CacheHint",
    "L2 eviction priority (PTX ISA, Cache Eviction Priority Hints)", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
      I32EnumAttrCase<"EvictLast", 2, "evict_last">]>;
def MXGPU_CacheHintAttr
    : EnumAttr<MXGPU_Dialect, MXGPU_CacheHint, "cache_hint">;

def MXGPU_L2Promotion : MXGPU_I32Enum<"L2Promotion",
    "size of fetches into the L2 cache (CUDA Driver API, "
    "CUtensorMapL2promotion)", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"B64", 1, "b64">,
      I32EnumAttrCase<"B128", 2, "b128">,
      I32EnumAttrCase<"B256", 3, "b256">]>;
def MXGPU_L2PromotionAttr
    : EnumAttr<MXGPU_Dialect, MXGPU_L2Promotion, "l2_promotion">;

#endif // MX_DIALECT_MXGPU_IR_MXGPUENUMS_TD
