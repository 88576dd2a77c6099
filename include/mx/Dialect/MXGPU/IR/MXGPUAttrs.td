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
  let summary = "order of work tiles";
  let description = [{
    - `linear`: row by row;
    - `columns`: column by column;
    - `group_m(n)`: column by column within bands of n tile rows, so that
      concurrent tiles share rows of A and columns of B;
    - `hilbert`: along a Hilbert curve, for grids of any size.

    Example: `#mxgpu.raster<group_m(8)>`.
  }];
  let parameters = (ins EnumParameter<MXGPU_RasterOrder>:$order,
                        DefaultValuedParameter<"int64_t", "1">:$group);
  let assemblyFormat = "`<` custom<RasterOrder>($order, $group) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Parses the body, such as `linear`, `group_m(8)` or `hilbert`.
    static ::mlir::ParseResult parseBody(::mlir::AsmParser &parser,
                                         RasterAttr &raster);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def MXGPU_ScheduleAttr : AttrDef<MXGPU_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "parameters of a matmul kernel";
  let description = [{
    `mx-select-schedule` sets the attribute `mxgpu.schedule` of an `mx.matmul`
    unless it was set by hand. The kernel receives a copy. Fields may appear in
    any order. Omitted fields take the default in this table.

    | field | default | meaning |
    |---|---|---|
    | `tile = [m, n, k]` | required | rows, columns and reduction elements of a work tile; the attribute of each strategy lists its tile sizes |
    | `stages = n` | as many as fit | stages of the ring between the loads and the tensor core |
    | `strategy = #...` | first applicable strategy, with its defaults | algorithm and its own fields: `#mxgpu.tcgen05_block_scaled`, `#mxgpu.tcgen05_upcast_b`, `#mxgpu.wgmma_upcast_b`, `#mxgpu.wgmma_swap_ab`, `#mxgpu.wgmma_upcast_a` or `#mxgpu.wgmma_bf16` |
    | `workspace = ...` | `none` | operands dequantized to bf16 in device memory by a preceding kernel: `a`, `b` or `ab`; the other fields describe the remaining matmul (sm_90a) |
    | `split_k = n` | 1 | splits of the reduction; partial results are summed in a fixed order |
    | `raster = ...` | `linear` | `linear`, `columns`, `group_m(n)` or `hilbert` |
    | `epilogue = ...` | `direct` | `direct` stores from registers, or `tma_store` through shared memory |
    | `staging = n` | 2 | staging buffers per epilogue warp for `tma_store` |
    | `registers = [...]` | none | registers per thread (`setmaxnreg`) for {epilogue, other roles}; on sm_90a for {MMA warpgroups, warpgroups that dequantize B (only `wgmma_upcast_b`), load warpgroup}; with `tcgen05_upcast_b` for {epilogue, warps that dequantize B, other roles} |
    | `l2 = [a, b, out]` | `[none, none, none]` | L2 eviction priority of A, B and the result: `none`, `evict_first` or `evict_last`; the third is optional, and `none` for a quantized result |
    | `pdl` | off | programmatic dependent launch: set-up overlaps the end of the previous kernel |

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
  // struct(...) supports neither flags without a value (pdl) nor a field that
  // sets several parameters (l2).
  let hasCustomAssemblyFormat = 1;
  let builders = [
    AttrBuilder<(ins "const ::mx::mxgpu::ScheduleFields &":$fields)>
  ];
  let extraClassDeclaration = [{
    int64_t getTileM() const { return getTile()[0]; }
    int64_t getTileN() const { return getTile()[1]; }
    int64_t getTileK() const { return getTile()[2]; }
    /// Returns the number of cluster CTAs that share the reduction of a tile.
    int64_t getClusterSplits() const {
      return getStrategy().getClusterSplit() ? getSplitK() : 1;
    }
    /// Returns all fields, as a starting point for a modified schedule.
    ::mx::mxgpu::ScheduleFields getFields() const;
    /// Checks rules that depend on neither types nor the chip.
    static ::llvm::LogicalResult verifyFields(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        const ::mx::mxgpu::ScheduleFields &fields);
  }];
}

def MXGPU_ScheduleCaseAttr : AttrDef<MXGPU_Dialect, "ScheduleCase"> {
  let mnemonic = "schedule_case";
  let summary = "schedule for a range of matmul sizes";
  let description = [{
    Element of the attribute `mxgpu.schedules` of an `mx.matmul` with dynamic
    sizes. The case applies to matmuls of up to `max_m` rows, `max_n` columns
    (of all B matrices), `max_k` reduction elements and `max_groups` expert
    groups; an omitted limit is unbounded. The first applicable case runs, and
    the last case is unlimited. `max_m` counts the rows of all expert groups,
    including the padding of masked matrices. Cases with equal schedules share
    one kernel.

    `mx-select-schedule` sets the cases unless they were set by hand.
    `mx-expand-schedules` replaces them with branches.

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
    bool isLimited() const;
  }];
  let genVerifyDecl = 1;
}

def MXGPU_QuantizeScheduleAttr : AttrDef<MXGPU_Dialect, "QuantizeSchedule"> {
  let mnemonic = "quantize_schedule";
  let summary = "parameters of a quantizer kernel";
  let description = [{
    `mx-select-quantize-schedule` sets the attribute `mxgpu.quantize_schedule`
    of an `mx.quantize` or `mx.dequantize` unless it was set by hand. The kernel
    receives a copy.

    | field | default | meaning |
    |---|---|---|
    | `tile = [m, n]` | required | rows and columns of an input tile, multiples of 128; n of 64 with blocks of 256 or more of columns; a CTA processes a whole row if n is at least the columns that all its threads load at once, otherwise a warp does |
    | `threads = n` | required | quantizing threads per CTA, a whole number of warps for each axis |
    | `vector = n` | 16 | consecutive elements per thread: 8, 16, or 32 for whole blocks |
    | `stage_rows = n` | all rows of the tile | tile rows in each stage of the ring |
    | `stages = n` | 1 | stages of the ring between loads and quantizing threads, for kernels that load through shared memory |
    | `raster = ...` | `linear` | order of tiles: `linear`, `columns`, `group_m(n)` or `hilbert` |
    | `ctas = n` | 1 | CTAs per SM, which limits the registers of a thread |
    | `atomic_counter` | `false` | launch only as many CTAs as can be resident, and let them take further tiles from an atomic counter; otherwise, launch one CTA for each tile |
    | `input_stages = n` | 0 | stages of the ring that bulk copies fill with the inputs of a fused prologue; with 0 the threads load these inputs from global memory |

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
    int64_t getRowsPerStage() const { return getStageRows() ? getStageRows() : getTile()[0]; }
  }];
  let genVerifyDecl = 1;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUATTRS_TD
