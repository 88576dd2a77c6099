//===- MXGPUAttrs.td - Attributes of the mxgpu dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"
include "mx/Dialect/Shared/ScaleRounding.td"

def MXGPU_ScaleRoundingAttr
    : EnumAttr<MXGPU_Dialect, MX_ScaleRounding, "scale_rounding"> {
  let cppNamespace = "::mx::mxgpu";
}

def MXGPU_RasterAttr : AttrDef<MXGPU_Dialect, "Raster"> {
  let mnemonic = "raster";
  let summary = "order in which tiles are visited";
  let description = [{
    - `linear`: row by row;
    - `group_m(n)`: column by column within bands of n tile rows, so that tiles
      that are computed at the same time share rows of A and of B;
    - `hilbert`: along a Hilbert curve, for grids of any size.

    Example: `#mxgpu.raster<group_m(8)>`.
  }];
  let parameters = (ins EnumParameter<MXGPU_RasterOrder>:$order,
                        DefaultValuedParameter<"int64_t", "1">:$group);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `linear`, `group_m(8)`, `hilbert`.
    static ::mlir::FailureOr<RasterAttr> parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def MXGPU_ScheduleAttr : AttrDef<MXGPU_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "all choices that define a matmul kernel";
  let description = [{
    Set by `mx-select-schedule`, or by hand as the attribute `mxgpu.schedule` of
    an `mx.matmul`; copied to the kernel. Fields may be given in any order;
    fields that are left out have the default below.

    | field | default | meaning |
    |---|---|---|
    | `tile = [m, n, k]` | required | rows, columns and reduction elements of a work tile; the table below says which a chip takes |
    | `cta_pair` | off | two CTAs share a tile (`cta_group::2`): each holds half of its rows of A and half of B; with `wgmma` each multiplies half of the rows by all of B, of which it loads half for both |
    | `stages = n` | as many as fit | stages of the ring between the loads and the tensor core |
    | `accumulators = n` | 1 | stages of the ring between the tensor core and the epilogue |
    | `overlap = n` | 0 | columns that two accumulators of 256 share, 64 or 128: they are read first |
    | `scale_stages = n` | 1 | buffers for a tile's scales in tensor memory, used in turn |
    | `operand_stages = n` | 2 | stages of the ring between the threads that dequantize B and the tensor core (sm_90a, and where A is bf16) |
    | `swap_ab` | off | the rows of the instruction are columns of the tile: B is dequantized in the registers of the MMA warpgroups (sm_90a, A without scales) |
    | `f16_window` | off | tiles whose scales span 12 powers of two at most are dequantized to f16, relative to them, other tiles to bf16: a kernel finds out before (sm_90a, both operands f8E4M3FN) |
    | `workspace = ...` | `none` | operands that are dequantized to bf16 in device memory before: `a`, `b` or `ab`; the other fields are those of the product that remains (sm_90a) |
    | `split_k = n` | 1 | splits of the reduction, summed in a fixed order afterwards |
    | `cluster_split` | off | the CTAs of a cluster have the splits, 2, 4 or 8, and add them up in their shared memory, in the same order (sm_90a) |
    | `ctas = n` | 1 | CTAs that share an SM: each has a part of its shared memory and registers (sm_90a, with `swap_ab`) |
    | `tile_loop = ...` | `static` | `static`: CTA i takes work tiles i, i + CTAs, ...; `clc`: cluster launch control |
    | `raster = ...` | `linear` | `linear`, `columns`, `group_m(n)` or `hilbert` |
    | `epilogue = ...` | `direct` | `direct` stores from registers, or `tma_store` through shared memory |
    | `staging = n` | 2 | buffers of each epilogue warp for `tma_store` |
    | `registers = [...]` | none | registers per thread, by `setmaxnreg`: of the epilogue and of the other roles; on sm_90a of those that multiply, that dequantize B (not with `swap_ab`, or where it is bf16), and that load; on others, where A is bf16, of the epilogue, of those that dequantize B, and of the other roles |
    | `l2 = [a, b]` | `[none, none]` | what the L2 cache keeps of A and of B: `none`, `evict_first`, `evict_last` |
    | `pdl` | off | programmatic dependent launch: set-up runs while the previous kernel is still running |

    | chip | rows | columns | reduction | not there |
    |---|---|---|---|---|
    | sm_100a, sm_100f, sm_103a | 128, or 256 for a CTA pair | 64, 128, 192 or 256, or a smaller multiple of 16 (32 for a pair) that covers all | 128 or 256 | `operand_stages`, `swap_ab` |
    | the same, A of bf16 | 128, or 256 for a CTA pair | 64 (not for a pair), 128 or 256 | 64 | `overlap`, `scale_stages`, `swap_ab` |
    | sm_90a | 64, 128 or 256 | 64, 128 or 256, with 256 rows at most 128 | 64 | `cta_pair`, `accumulators`, `overlap`, `scale_stages`, `tile_loop = clc` |
    | sm_90a, A and B of bf16 | 64, 128 or 256, twice as many for a CTA pair | 64, 128 or 256, with 256 rows of a CTA at most 128 | 64 | `accumulators`, `overlap`, `scale_stages`, `operand_stages`, `swap_ab`, `tile_loop = clc` |
    | sm_90a, `swap_ab` | 16, 32, 48, 64 or 128 | 64, 128 or 256, with 128 rows at most 128 | 64 or 128 | these, `operand_stages` other than 2, `epilogue = tma_store` |

    Example: `#mxgpu.schedule<tile = [256, 256, 128], cta_pair, stages = 5,
    accumulators = 2, overlap = 64, raster = group_m(8), epilogue =
    tma_store>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tile,
    "bool":$ctaPair,
    "int64_t":$stages,
    "int64_t":$accumulators,
    "int64_t":$overlap,
    "int64_t":$scaleStages,
    "int64_t":$operandStages,
    "bool":$swapAb,
    "bool":$f16Window,
    "::mx::mxgpu::Workspace":$workspace,
    "int64_t":$splitK,
    "bool":$clusterSplit,
    "int64_t":$ctasPerSm,
    "::mx::mxgpu::TileLoop":$tileLoop,
    "::mx::mxgpu::RasterAttr":$raster,
    "::mx::mxgpu::Epilogue":$epilogue,
    "int64_t":$staging,
    ArrayRefParameter<"int64_t">:$registers,
    "::mx::mxgpu::CacheHint":$l2A,
    "::mx::mxgpu::CacheHint":$l2B,
    "bool":$pdl);
  // Written by hand: struct(...) has no flags without a value (cta_pair, pdl)
  // and no field that sets two parameters (l2).
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "const ::mx::mxgpu::ScheduleFields &":$fields)>
  ];
  let extraClassDeclaration = [{
    int64_t getTileM() const { return getTile()[0]; }
    int64_t getTileN() const { return getTile()[1]; }
    int64_t getTileK() const { return getTile()[2]; }
    /// CTAs that share a tile.
    int64_t getCtas() const { return getCtaPair() ? 2 : 1; }
    /// CTAs of a cluster that share the reduction of a tile.
    int64_t getParts() const { return getClusterSplit() ? getSplitK() : 1; }
    /// All fields, to change some of them and build another schedule.
    ::mx::mxgpu::ScheduleFields getFields() const;
  }];
}

def MXGPU_QuantizeScheduleAttr : AttrDef<MXGPU_Dialect, "QuantizeSchedule"> {
  let mnemonic = "quantize_schedule";
  let summary = "all choices that define a quantizer's kernel";
  let description = [{
    Set by `mx-select-quantize-schedule`, or by hand as the attribute
    `mxgpu.quantize_schedule` of an `mx.quantize` or `mx.dequantize`; copied to
    the kernel.

    | field | default | meaning |
    |---|---|---|
    | `tile = [m, n]` | required | rows and columns of the input that a CTA processes at a time, multiples of 128 |
    | `threads = n` | required | threads of a CTA that quantize, whole warps for each axis |
    | `vector = n` | 16 | consecutive elements that a thread holds: 8, 16, or 32 if it holds whole blocks |
    | `stage_rows = n` | all rows of the tile | rows of the tile in a stage of the ring |
    | `stages = n` | 1 | stages of the ring between loads and threads, for kernels that load through shared memory |
    | `raster = ...` | `linear` | order of the tiles: `linear`, `columns`, `group_m(n)` or `hilbert` |
    | `ctas = n` | 1 | CTAs that share an SM: limits the registers of a thread |
    | `atomic_counter` | `false` | launches only as many CTAs as fit, which get further tile numbers from an atomic counter, instead of a CTA for each tile |
    | `input_stages = n` | 0 | stages of a ring by which bulk copies bring the inputs of a prologue to the threads that compute it; with 0 these threads read memory |

    Example: `#mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector
    = 16, ctas = 2>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tile,
    "int64_t":$threads,
    DefaultValuedParameter<"int64_t", "16">:$vector,
    DefaultValuedParameter<"int64_t", "0">:$stage_rows,
    DefaultValuedParameter<"int64_t", "1">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$ctas,
    DefaultValuedParameter<"::mx::mxgpu::RasterAttr",
        "::mx::mxgpu::RasterAttr::get($_ctxt, ::mx::mxgpu::RasterOrder::Linear, 1)">:$raster,
    DefaultValuedParameter<"bool", "false">:$atomic_counter,
    DefaultValuedParameter<"int64_t", "0">:$input_stages);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$tile, "int64_t":$threads,
                     "int64_t":$vector, "int64_t":$stages, "int64_t":$ctas), [{
      return $_get($_ctxt, tile, threads, vector, /*stage_rows=*/0, stages, ctas,
                   RasterAttr::get($_ctxt, RasterOrder::Linear, 1),
                   /*atomic_counter=*/false, /*input_stages=*/0);
    }]>
  ];
  let assemblyFormat = [{
    `<` struct(custom<TileSizes>($tile), $threads, $vector, $stage_rows, $stages,
               $ctas, custom<Raster>($raster), $atomic_counter, $input_stages) `>`
  }];
  let extraClassDeclaration = [{
    /// Rows in a stage of the ring.
    int64_t getRowsPerStage() const { return getStageRows() ? getStageRows() : getTile()[0]; }
  }];
  let genVerifyDecl = 1;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
