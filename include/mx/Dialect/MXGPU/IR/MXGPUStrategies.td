//===- MXGPUStrategies.td - Strategies of matmuls ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A strategy is how a matrix instruction computes a matmul. The fields of a
// schedule that are its own are an attribute here; launches and the choice of
// schedules see the interface alone. A folder of
// lib/Conversion/MXToMXGPU/Matmul/Strategies builds the kernels of each.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD
#define MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/Interfaces.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

def MXGPU_StrategyAttrInterface : AttrInterface<"StrategyAttrInterface"> {
  let cppNamespace = "::mx::mxgpu";
  let description = [{
    The field `strategy` of `#mxgpu.schedule`: which strategy computes a
    matmul, and its own choices. The methods say which CTAs a work tile has,
    and how they get it.
  }];
  let methods = [
    InterfaceMethod<"CTAs that share a tile: 1, or 2 for `cta_group::2`.",
      "int64_t", "getCtas", (ins), "", "return 1;">,
    InterfaceMethod<[{
        Whether the CTAs of a cluster have the splits of the reduction, and add
        them up in their shared memory.
      }], "bool", "getClusterSplit", (ins), "", "return false;">,
    InterfaceMethod<[{
        CTAs that share an SM: each has a share of its shared memory and of its
        registers.
      }], "int64_t", "getCtasPerSm", (ins), "", "return 1;">,
    InterfaceMethod<[{
        The operand that is in `#mxgpu.k_order`: `a`, `b` or `none`.
      }], "::mx::mxgpu::Workspace", "getPermuted", (ins), "",
      "return ::mx::mxgpu::Workspace::None;">,
    InterfaceMethod<"How a CTA gets its next work tile.",
      "::mx::mxgpu::TileLoop", "getTileLoop", (ins), "",
      "return ::mx::mxgpu::TileLoop::Static;">,
    InterfaceMethod<"Columns that two accumulators share, or 0.",
      "int64_t", "getOverlap", (ins), "", "return 0;">,
  ];
}

/// A field with its default and its rule: a C++ expression of a LogicalResult in
/// `$_self` and `emitError`. ScheduleRules.h has the functions. Rules of several
/// fields, and those of types, shapes and chips, are in the strategy's folder.
class MXGPU_Field<string type, string default, string check = "::llvm::success()">
    : DefaultValuedParameter<type, default> {
  string rule = check;
}
def MXGPU_Flag : MXGPU_Field<"bool", "false">;
def MXGPU_TileLoopField : MXGPU_Field<"::mx::mxgpu::TileLoop",
                                      "::mx::mxgpu::TileLoop::Static">;
class MXGPU_Count<string default, string what>
    : MXGPU_Field<"int64_t", default,
                  "verifyCount(emitError, $_self, \"" # what # "\")">;
class MXGPU_Choice<string default, list<int> choices, string what>
    : MXGPU_Field<"int64_t", default,
                  "verifyChoice(emitError, $_self, {" #
                  !interleave(choices, ", ") # "}, \"" # what # "\")">;
def MXGPU_Ctas : MXGPU_Choice<"1", [1, 2], "CTAs that share a tile">;

/// A strategy's attribute: tablegen makes its builder, with the defaults of the
/// syntax, and its verifier, of the rules of its fields in their order.
class MXGPU_StrategyAttr<string name, string strategy, dag fields>
    : AttrDef<MXGPU_Dialect, name, [MXGPU_StrategyAttrInterface]> {
  let mnemonic = strategy;
  let parameters = fields;
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
  let skipDefaultBuilders = 1;
  let genVerifyDecl = 1;
  defvar numbers = !range(!size(fields));
  defvar names = !foreach(i, numbers, !getdagname(fields, i));
  defvar types = !foreach(i, numbers, !getdagarg<MXGPU_Field>(fields, i));
  defvar rules = !foreach(i, numbers, !subst("$_self", names[i], types[i].rule));
  let builders = [AttrBuilder<
    !dag(ins, !foreach(t, types, CArg<t.cppType, t.defaultValue>), names),
    "return $_get($_ctxt, " # !interleave(names, ", ") # ");">];
  let extraClassDefinition =
    "::llvm::LogicalResult $cppClass::verify(::llvm::function_ref<" #
    "::mlir::InFlightDiagnostic()> emitError, " #
    !interleave(!foreach(i, numbers, types[i].cppType # " " # names[i]), ", ") #
    ") {\n  return ::llvm::success(::llvm::succeeded(" #
    !interleave(rules, ") && ::llvm::succeeded(") # "));\n}\n";
}

def MXGPU_Tcgen05BlockScaledAttr
    : MXGPU_StrategyAttr<"Tcgen05BlockScaled", "tcgen05_block_scaled",
        (ins MXGPU_Ctas:$ctas, // tcgen05_block_scaled C1
         // tcgen05_block_scaled C2
         MXGPU_Count<"1", "accumulators">:$accumulators,
         // tcgen05_block_scaled C3
         MXGPU_Choice<"0", [0, 64, 128], "columns of an overlap">:$overlap,
         MXGPU_Count<"1", "scale stages">:$scale_stages,
         MXGPU_TileLoopField:$tile_loop)> {
  let summary = "both operands and their scales, by tcgen05.mma";
  let description = [{
    Operands and scales go to the tensor core as they are (sm_100a, sm_100f,
    sm_103a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | CTAs that share a tile: with 2 (`cta_group::2`) each holds half of its rows of A and half of B |
    | `accumulators = n` | 1 | stages of the ring between the tensor core and the epilogue |
    | `overlap = n` | 0 | columns that two accumulators of 256 share, 64 or 128: they are read first |
    | `scale_stages = n` | 1 | buffers for a tile's scales in tensor memory, used in turn |
    | `tile_loop = ...` | `static` | `static`: CTA i takes work tiles i, i + CTAs, ...; `clc`: cluster launch control |

    Tiles have 128 rows, or 256 of two CTAs; 64, 128, 192 or 256 columns, or a
    smaller multiple of 16 (32 of two CTAs) that covers all; and 128 or 256
    elements of the reduction.

    Example: `#mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap =
    64, tile_loop = clc>`.
  }];
}

def MXGPU_Tcgen05UpcastBAttr
    : MXGPU_StrategyAttr<"Tcgen05UpcastB", "tcgen05_upcast_b",
        (ins MXGPU_Ctas:$ctas, // tcgen05_upcast_b C1
         // tcgen05_upcast_b C2
         MXGPU_Count<"1", "accumulators">:$accumulators,
         MXGPU_Count<"2", "operand stages">:$operand_stages,
         MXGPU_TileLoopField:$tile_loop)> {
  let summary = "bf16 by a dequantized B, by tcgen05.mma";
  let description = [{
    A is bf16; threads dequantize B to bf16 in shared memory (sm_100a, sm_100f,
    sm_103a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | as of `#mxgpu.tcgen05_block_scaled` |
    | `accumulators = n` | 1 | as of `#mxgpu.tcgen05_block_scaled` |
    | `operand_stages = n` | 2 | stages of the ring between the threads that dequantize B and the tensor core |
    | `tile_loop = ...` | `static` | as of `#mxgpu.tcgen05_block_scaled` |

    Tiles have 128 rows, or 256 of two CTAs; 64 (not of two CTAs), 128 or 256
    columns; and 64 elements of the reduction.

    Example: `#mxgpu.tcgen05_upcast_b<accumulators = 2>`.
  }];
}

def MXGPU_WgmmaUpcastBAttr
    : MXGPU_StrategyAttr<"WgmmaUpcastB", "wgmma_upcast_b",
        (ins // wgmma_upcast_b C1
         MXGPU_Count<"2", "operand stages">:$operand_stages, MXGPU_Flag:$f16_scale_range,
         MXGPU_Flag:$cluster_split)> {
  let summary = "dequantized operands, by wgmma";
  let description = [{
    Warpgroups of their own dequantize B to shared memory; an A with scales is
    dequantized by the warpgroups that multiply (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `operand_stages = n` | 2 | stages of the ring between the threads that dequantize B and those that multiply |
    | `f16_scale_range = b` | `false` | tiles whose scales span 12 powers of two at most are dequantized to f16, relative to them, other tiles to bf16: a kernel finds out before (both operands f8E4M3FN) |
    | `cluster_split = b` | `false` | the CTAs of a cluster have the splits of the reduction, 2 to 8, and add them up in their shared memory, in the same order |

    Tiles have 64, 128 or 256 rows; 64, 128 or 256 columns, with 256 rows at
    most 128; and 64 elements of the reduction.

    Example: `#mxgpu.wgmma_upcast_b<operand_stages = 4, f16_scale_range = true>`.
  }];
}

def MXGPU_WgmmaSwapABAttr
    : MXGPU_StrategyAttr<"WgmmaSwapAB", "wgmma_swap_ab",
        (ins MXGPU_Flag:$cluster_split,
         // wgmma_swap_ab C1
         MXGPU_Count<"1", "CTAs of an SM">:$ctas_per_sm,
         MXGPU_Flag:$permuted_a)> {
  let summary = "bf16 by a B that goes through registers, by wgmma, for any M";
  let description = [{
    The rows of the instruction are columns of the tile: B is dequantized in the
    registers of the warpgroups that multiply (sm_90a, A of bf16).

    | field | default | meaning |
    |---|---|---|
    | `cluster_split = b` | `false` | as of `#mxgpu.wgmma_upcast_b`; each CTA adds and stores some rows |
    | `ctas_per_sm = n` | 1 | CTAs that share an SM: each has a share of its shared memory and registers |
    | `permuted_a = b` | `false` | A is in `#mxgpu.k_order`, so that a thread reads adjacent elements of B: with `workspace = a`, a reduction of a multiple of 32 elements, and a B that is not packed |

    Tiles have a multiple of 16 rows, up to 256 of 64 or 128 columns, 160 of 192
    and 96 of 256; and 64 or 128 elements of the reduction. Results are stored
    from registers.

    Example: `#mxgpu.wgmma_swap_ab<ctas_per_sm = 2>`.
  }];
  let extraClassDeclaration = [{
    ::mx::mxgpu::Workspace getPermuted() const {
      return getPermutedA() ? ::mx::mxgpu::Workspace::A
                            : ::mx::mxgpu::Workspace::None;
    }
  }];
}

def MXGPU_WgmmaUpcastAAttr
    : MXGPU_StrategyAttr<"WgmmaUpcastA", "wgmma_upcast_a",
        (ins MXGPU_Flag:$permuted_b)> {
  let summary = "an A that goes through registers by bf16, by wgmma";
  let description = [{
    A is dequantized in the registers of the warpgroups that multiply, and B is
    bf16 (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `permuted_b = b` | `false` | B is in `#mxgpu.k_order`, so that a thread reads adjacent elements of A: with `workspace = b`, and a reduction of a multiple of 32 elements |

    Tiles have 64, 128, 192 or 256 rows, with expert groups 128 or 256; a multiple of
    16 columns, up to 256 of 64 or 128 rows, 160 of 192 and 96 of 256; and 64 or
    128 elements of the reduction.

    Example: `#mxgpu.wgmma_upcast_a<permuted_b = true>`.
  }];
  let extraClassDeclaration = [{
    ::mx::mxgpu::Workspace getPermuted() const {
      return getPermutedB() ? ::mx::mxgpu::Workspace::B
                            : ::mx::mxgpu::Workspace::None;
    }
  }];
}

def MXGPU_WgmmaBF16Attr : MXGPU_StrategyAttr<"WgmmaBF16", "wgmma_bf16",
        (ins MXGPU_Ctas:$ctas)> { // wgmma_bf16 C1
  let summary = "bf16 by bf16, by wgmma";
  let description = [{
    Neither operand has scales (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | CTAs that share a tile: of 2 each multiplies half of the rows by all of B, of which it loads half for both |

    Tiles have 64, 128 or 256 rows, twice as many of two CTAs; a multiple of 32
    columns, 64 to 256, with 256 rows of a CTA at most 128; and 64 elements of
    the reduction.

    Example: `#mxgpu.wgmma_bf16<ctas = 2>`.
  }];
}

def MXGPU_MmaSyncBlockScaledAttr
    : MXGPU_StrategyAttr<"MmaSyncBlockScaled", "mma_sync_block_scaled",
        (ins // mma_sync_block_scaled C1
         MXGPU_Choice<"1", [1, 2, 4, 8], "column warps">:$column_warps)> {
  let summary = "both operands and their scales, by mma.sync";
  let description = [{
    Warps load operands and scales from shared memory to registers, and multiply
    them as they are (sm_120a, sm_120f, sm_121a).

    | field | default | meaning |
    |---|---|---|
    | `column_warps = n` | 1 | warps that share rows: each has a share of the columns, of each matrix of B. 1, 2, 4 or 8, with a quantized result 1 or 4; results of more than 1 are stored from registers |

    Tiles have 16, 32, 64, 128 or 256 rows, with expert groups or a quantized result
    128 or 256; 32, 64, 128 or 256 columns, at least 32 of each warp; at most
    32768 elements; and 128 elements of the reduction, or 256 where both
    operands are f4E2M1FN. A warp has 32 rows, or 16 of more than 128 columns;
    where warps share rows of two matrices of B, or of a quantized result, all
    eight divide the tile.

    Example: `#mxgpu.mma_sync_block_scaled<column_warps = 2>`.
  }];
}

def MXGPU_MmaSyncUpcastBAttr
    : MXGPU_StrategyAttr<"MmaSyncUpcastB", "mma_sync_upcast_b",
        (ins // mma_sync_upcast_b C1
         MXGPU_Count<"1", "CTAs of an SM">:$ctas_per_sm)> {
  let summary = "bf16 by a dequantized B, by mma.sync";
  let description = [{
    A is bf16; each warp dequantizes its share of B, packed or not, in registers
    and multiplies by it (sm_120a, sm_120f, sm_121a).

    | field | default | meaning |
    |---|---|---|
    | `ctas_per_sm = n` | 1 | CTAs that share an SM, 1 or 2: each has a share of its shared memory and registers |

    Tiles have 16, 32, 64 or 128 rows, of two CTAs an SM 16 or 32, with a
    quantized result 128; 32, 64 or 128 columns, of at most 64 rows or with two
    matrices of B also 256, of packed weights 64 or more; and 64 elements of the
    reduction. A warp has 32 columns of each matrix of B. Results are stored from
    registers.

    Example: `#mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>`.
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD
