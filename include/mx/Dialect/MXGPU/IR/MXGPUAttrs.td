//===- MXGPUAttrs.td - Attributes of the mxgpu dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"
include "mx/Dialect/MXGPU/IR/MXGPUOrders.td"
include "mx/Dialect/MXGPU/IR/MXGPUStrategies.td"
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
  let assemblyFormat = "`<` custom<RasterOrder>($order, $group) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `linear`, `group_m(8)`, `hilbert`.
    static ::mlir::ParseResult parseBody(::mlir::AsmParser &parser,
                                         RasterAttr &raster);
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
    | `tile = [m, n, k]` | required | rows, columns and reduction elements of a work tile: the page of a strategy says which it takes |
    | `stages = n` | as many as fit | stages of the ring between the loads and the tensor core |
    | `strategy = #...` | the first that computes the matmul, with its defaults | how the matmul is computed, and what only such schedules have: `#mxgpu.tcgen05_block_scaled`, `#mxgpu.tcgen05_upcast_b`, `#mxgpu.wgmma_upcast_b`, `#mxgpu.wgmma_swap_ab`, `#mxgpu.wgmma_upcast_a` or `#mxgpu.wgmma_bf16` |
    | `workspace = ...` | `none` | operands that are dequantized to bf16 in device memory before: `a`, `b` or `ab`; the other fields are those of the matmul that remains (sm_90a) |
    | `split_k = n` | 1 | splits of the reduction, summed in a fixed order afterwards |
    | `raster = ...` | `linear` | `linear`, `columns`, `group_m(n)` or `hilbert` |
    | `epilogue = ...` | `direct` | `direct` stores from registers, or `tma_store` through shared memory |
    | `staging = n` | 2 | buffers of each epilogue warp for `tma_store` |
    | `registers = [...]` | none | registers per thread, by `setmaxnreg`: of the epilogue and of the other roles; on sm_90a of those that multiply, that dequantize B (with `wgmma_upcast_b` alone), and that load; with `tcgen05_upcast_b` of the epilogue, of those that dequantize B, and of the other roles |
    | `l2 = [a, b, out]` | `[none, none, none]` | what the L2 cache keeps of A, of B and of the result: `none`, `evict_first`, `evict_last`; the result's may be left out, and a quantized one has none |
    | `pdl` | off | programmatic dependent launch: set-up runs while the previous kernel is still running |

    Example: `#mxgpu.schedule<tile = [256, 256, 128], stages = 5, strategy =
    #mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap = 64>,
    raster = group_m(8), epilogue = tma_store>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tile,
    "int64_t":$stages,
    "::mx::mxgpu::StrategyAttrInterface":$strategy,
    "::mx::mxgpu::Workspace":$workspace,
    "int64_t":$splitK,
    "::mx::mxgpu::RasterAttr":$raster,
    "::mx::mxgpu::Epilogue":$epilogue,
    "int64_t":$staging,
    ArrayRefParameter<"int64_t">:$registers,
    "::mx::mxgpu::CacheHint":$l2A,
    "::mx::mxgpu::CacheHint":$l2B,
    "::mx::mxgpu::CacheHint":$l2Out,
    "bool":$pdl);
  // Written by hand: struct(...) has no flags without a value (pdl) and no field
  // that sets several parameters (l2).
  let hasCustomAssemblyFormat = 1;
  let builders = [
    AttrBuilder<(ins "const ::mx::mxgpu::ScheduleFields &":$fields)>
  ];
  let extraClassDeclaration = [{
    int64_t getTileM() const { return getTile()[0]; }
    int64_t getTileN() const { return getTile()[1]; }
    int64_t getTileK() const { return getTile()[2]; }
    /// CTAs of a cluster that share the reduction of a tile.
    int64_t getClusterSplits() const {
      return getStrategy().getClusterSplit() ? getSplitK() : 1;
    }
    /// All fields, to change some of them and build another schedule.
    ::mx::mxgpu::ScheduleFields getFields() const;
    /// Fails where they break a rule that needs neither types nor a chip.
    static ::llvm::LogicalResult verifyFields(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        const ::mx::mxgpu::ScheduleFields &fields);
  }];
}

def MXGPU_ScheduleCaseAttr : AttrDef<MXGPU_Dialect, "ScheduleCase"> {
  let mnemonic = "schedule_case";
  let summary = "a schedule for some sizes of a matmul";
  let description = [{
    An element of the attribute `mxgpu.schedules` of an `mx.matmul` whose sizes
    are known only at run time: the schedule of matmuls of up to `max_m` rows,
    `max_n` columns (of all B matrices), `max_k` elements of the reduction and
    `max_groups` expert groups, as far as these are given. The first case that the
    sizes fit is the one that runs; the last has no limit. Rows are those of all
    groups together, with the padding of matrices that are masked. Several cases
    may have the same schedule, which is then one kernel.

    Set by `mx-select-schedule`, or by hand; `mx-expand-schedules` turns it into
    branches.

    Example: `mxgpu.schedules = [#mxgpu.schedule_case<max_m = 64, schedule =
    #mxgpu.schedule<tile = [64, 256, 128]>>, #mxgpu.schedule_case<schedule =
    #mxgpu.schedule<tile = [256, 128, 64]>>]`.
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$max_m,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$max_n,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$max_k,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$max_groups,
    "::mx::mxgpu::ScheduleAttr":$schedule);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Whether it has a limit.
    bool isLimited() const;
  }];
  let genVerifyDecl = 1;
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
