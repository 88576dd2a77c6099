//===- MXGPUStrategies.td - Strategies of matmuls ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strategy is an algorithm for matmuls with one matrix instruction. Its
// attribute holds the schedule fields of the strategy; launches and schedule
// selection use only the interface. The kernels are built in
// lib/Conversion/MXToMXGPU/Matmul/Strategies.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD
#define MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/Interfaces.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

def MXGPU_StrategyAttrInterface : AttrInterface<"StrategyAttrInterface"> {
  let cppNamespace = "::mx::mxgpu";
  let description = [{
    The field `strategy` of `#mxgpu.schedule`: the algorithm of a matmul and the
    parameters of that algorithm. The methods describe the CTAs of a work tile
    and the assignment of work tiles to CTAs.
  }];
  let methods = [
    InterfaceMethod<"Number of CTAs of a tile: 1, or 2 (`cta_group::2`).",
      "int64_t", "getCtas", (ins), "", "return 1;">,
    InterfaceMethod<[{
        Returns true if the splits of the reduction belong to the CTAs of a
        cluster, which add their partial results in shared memory.
      }], "bool", "getClusterSplit", (ins), "", "return false;">,
    InterfaceMethod<[{
        Number of CTAs per SM, which share its memory and registers equally.
      }], "int64_t", "getCtasPerSm", (ins), "", "return 1;">,
    InterfaceMethod<[{
        Operand stored in `#mxgpu.k_order`: `a`, `b` or `none`.
      }], "::mx::mxgpu::Workspace", "getPermuted", (ins), "",
      "return ::mx::mxgpu::Workspace::None;">,
    InterfaceMethod<"Assignment of work tiles to CTAs.",
      "::mx::mxgpu::TileLoop", "getTileLoop", (ins), "",
      "return ::mx::mxgpu::TileLoop::Static;">,
    InterfaceMethod<"Number of columns that two accumulators share, or 0.",
      "int64_t", "getOverlap", (ins), "", "return 0;">,
  ];
}

/// Field with a default and a rule. The rule is a C++ expression of type
/// LogicalResult that uses `$_self` and `emitError`, usually a call to a
/// function in OpChecks.h. Rules that involve several fields, types,
/// shapes or chips are in the strategy's folder.
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

/// Attribute of a strategy. Tablegen generates the builder, with the defaults
/// of the fields, and the verifier, which checks the rules in field order.
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
         MXGPU_Choice<"0", [0, 64, 128], "overlap columns">:$overlap,
         MXGPU_Count<"1", "scale stages">:$scale_stages,
         MXGPU_TileLoopField:$tile_loop)> {
  let summary = "block-scaled operands with tcgen05.mma";
  let description = [{
    The tensor core reads operands and scales without conversion (sm_100a,
    sm_100f, sm_103a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | CTAs that share a tile: with 2 (`cta_group::2`) each CTA holds half of the rows of A and half of B |
    | `accumulators = n` | 1 | stages of the ring between the tensor core and the epilogue |
    | `overlap = n` | 0 | columns shared by two accumulators of 256 columns, 64 or 128; the epilogue reads them first |
    | `scale_stages = n` | 1 | buffers for the scales of a tile in tensor memory, used in turn |
    | `tile_loop = ...` | `static` | `static`: CTA i takes work tiles i, i + CTAs, ...; `clc`: cluster launch control |

    A tile covers 128 rows, or 256 with two CTAs. It covers 64, 128, 192 or 256
    columns, or a smaller multiple of 16 (32 with two CTAs) that covers all
    columns of the result. It covers 128 or 256 reduction elements.

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
  let summary = "bf16 A and dequantized B with tcgen05.mma";
  let description = [{
    A is bf16; warps dequantize B to bf16 in shared memory (sm_100a, sm_100f,
    sm_103a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | as in `#mxgpu.tcgen05_block_scaled` |
    | `accumulators = n` | 1 | as in `#mxgpu.tcgen05_block_scaled` |
    | `operand_stages = n` | 2 | stages of the ring of dequantized B tiles |
    | `tile_loop = ...` | `static` | as in `#mxgpu.tcgen05_block_scaled` |

    A tile covers 128 rows, or 256 with two CTAs. It covers 64 (with one CTA),
    128 or 256 columns, and 64 reduction elements.

    Example: `#mxgpu.tcgen05_upcast_b<accumulators = 2>`.
  }];
}

def MXGPU_WgmmaUpcastBAttr
    : MXGPU_StrategyAttr<"WgmmaUpcastB", "wgmma_upcast_b",
        (ins // wgmma_upcast_b C1
         MXGPU_Count<"2", "operand stages">:$operand_stages, MXGPU_Flag:$f16_scale_range,
         MXGPU_Flag:$cluster_split)> {
  let summary = "dequantized operands with wgmma";
  let description = [{
    Dedicated warpgroups dequantize B to shared memory. The MMA warpgroups
    dequantize A if it is scaled (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `operand_stages = n` | 2 | stages of the ring of dequantized B tiles |
    | `f16_scale_range = b` | `false` | dequantize tiles to f16, relative to their scales, if the scales span at most 12 powers of two, and other tiles to bf16; a preceding kernel computes the spans (both operands f8E4M3FN) |
    | `cluster_split = b` | `false` | distribute 2 to 8 splits of the reduction over the CTAs of a cluster, which add them in shared memory in a fixed order |

    A tile covers 64, 128 or 256 rows, 64, 128 or 256 columns (at most 128 with
    256 rows), and 64 reduction elements.

    Example: `#mxgpu.wgmma_upcast_b<operand_stages = 4, f16_scale_range =
    true>`.
  }];
}

def MXGPU_WgmmaSwapABAttr
    : MXGPU_StrategyAttr<"WgmmaSwapAB", "wgmma_swap_ab",
        (ins MXGPU_Flag:$cluster_split,
         // wgmma_swap_ab C1
         MXGPU_Count<"1", "CTAs per SM">:$ctas_per_sm,
         MXGPU_Flag:$permuted_a)> {
  let summary = "bf16 A and B dequantized in registers with wgmma, for any M";
  let description = [{
    Swaps the operands: the rows of the instruction are columns of the tile. The
    MMA warpgroups dequantize B in registers (sm_90a, bf16 A).

    | field | default | meaning |
    |---|---|---|
    | `cluster_split = b` | `false` | as in `#mxgpu.wgmma_upcast_b`; each CTA adds and stores a share of the rows |
    | `ctas_per_sm = n` | 1 | CTAs per SM, which divide shared memory and registers |
    | `permuted_a = b` | `false` | store A in `#mxgpu.k_order`, so that a thread reads adjacent elements of B; requires `workspace = a`, a reduction that is a multiple of 32, and an unpacked B |

    The row count of a tile is a multiple of 16. It is at most 256 with 64 or
    128 columns, 160 with 192 columns, and 96 with 256 columns. A tile covers 64
    or 128 reduction elements. Results are stored from registers.

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
  let summary = "A dequantized in registers and bf16 B with wgmma";
  let description = [{
    The MMA warpgroups dequantize A in registers; B is bf16 (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `permuted_b = b` | `false` | store B in `#mxgpu.k_order`, so that a thread reads adjacent elements of A; requires `workspace = b` and a reduction that is a multiple of 32 |

    A tile covers 64, 128, 192 or 256 rows, or 128 or 256 with expert groups.
    Its column count is a multiple of 16. The count is at most 256 with 64 or
    128 rows, 160 with 192 rows, and 96 with 256 rows. A tile covers 64 or 128
    reduction elements.

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
  let summary = "bf16 operands with wgmma";
  let description = [{
    Both operands are unscaled (sm_90a).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | CTAs that share a tile; each of two CTAs multiplies half of the rows by all of B and loads half of B for both |

    A tile covers 64, 128 or 256 rows for each of its CTAs. Its column count is
    a multiple of 32 from 64 to 256 (at most 128 with 256 rows per CTA). It
    covers 64 reduction elements.

    Example: `#mxgpu.wgmma_bf16<ctas = 2>`.
  }];
}

def MXGPU_WgmmaFP8Attr : MXGPU_StrategyAttr<"WgmmaFP8", "wgmma_fp8",
        (ins MXGPU_Ctas:$ctas)> { // wgmma_fp8 C1
  let summary = "folded 8-bit operands by wgmma";
  let description = [{
    The tensor core adds `promote` elements of the reduction in reduced
    precision. Threads scale the sum and add it to the accumulator in f32
    (sm_90a, matmuls with `promote`).

    | field | default | meaning |
    |---|---|---|
    | `ctas = n` | 1 | CTAs that share a tile; each of two CTAs multiplies half of the rows by all of B and loads half of B for both |

    A tile covers 128 or 192 rows for each of its CTAs, 64 to 256 columns with
    128 rows, or 64 or 128 columns with 192 rows, and 128 reduction elements.
    If `promote` exceeds 128, a tile has at most 192 columns. Expert groups
    require 128 rows per CTA.

    Example: `#mxgpu.wgmma_fp8<ctas = 2>`.
  }];
}

def MXGPU_MmaSyncBlockScaledAttr
    : MXGPU_StrategyAttr<"MmaSyncBlockScaled", "mma_sync_block_scaled",
        (ins // mma_sync_block_scaled C1
         MXGPU_Choice<"1", [1, 2, 4, 8], "column warps">:$column_warps)> {
  let summary = "block-scaled operands with mma.sync";
  let description = [{
    Warps load operands and scales from shared memory to registers and multiply
    them without conversion (sm_120a, sm_120f, sm_121a).

    | field | default | meaning |
    |---|---|---|
    | `column_warps = n` | 1 | warps that share rows and divide the columns of each matrix of B: 1, 2, 4 or 8, or 1 or 4 with a quantized result. With more than 1, results are stored from registers |

    A tile covers 16, 32, 64, 128 or 256 rows, or 128 or 256 with expert groups
    or a quantized result. It covers 32, 64, 128 or 256 columns, at least 32 per
    warp, and at most 32768 elements. It covers 128 reduction elements, or 256
    if both operands are f4E2M1FN. A warp computes 32 rows, or 16 if it computes
    more than 128 columns. If warps share rows and the matmul uses two matrices
    of B or a quantized result, all eight warps divide the tile.

    Example: `#mxgpu.mma_sync_block_scaled<column_warps = 2>`.
  }];
}

def MXGPU_MmaSyncUpcastBAttr
    : MXGPU_StrategyAttr<"MmaSyncUpcastB", "mma_sync_upcast_b",
        (ins // mma_sync_upcast_b C1
         MXGPU_Count<"1", "CTAs per SM">:$ctas_per_sm)> {
  let summary = "bf16 A and dequantized B with mma.sync";
  let description = [{
    A is bf16. Each warp dequantizes its share of B, packed or not, in registers
    (sm_120a, sm_120f, sm_121a).

    | field | default | meaning |
    |---|---|---|
    | `ctas_per_sm = n` | 1 | CTAs per SM, 1 or 2, which divide shared memory and registers |

    A tile covers 16, 32, 64 or 128 rows. With two CTAs per SM it covers 16 or
    32 rows, and with a quantized result 128. It covers 32, 64 or 128 columns;
    256 columns require at most 64 rows or two matrices of B, and packed weights
    require at least 64 columns. It covers 64 reduction elements. A warp
    computes 32 columns of each matrix of B. Results are stored from registers.

    Example: `#mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>`.
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUSTRATEGIES_TD
