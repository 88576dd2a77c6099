//===- MXGPUKernelOps.td - Kernels, roles and their work ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// The kernel and its roles
//===----------------------------------------------------------------------===//

def MXGPU_KernelOp : MXGPU_Op<"kernel", [
    IsolatedFromAbove, FunctionOpInterface, SingleBlock, NoTerminator,
    HasParent<"::mlir::gpu::GPUModuleOp">, MXGPU_NamesBlockArguments]> {
  let summary = "one warp-specialized kernel";
  let description = [{
    Contains the rings, the tile scheduler and the roles of a kernel. Set-up
    (barrier initialization and its fence, allocation of tensor memory) and
    tear-down are implied and do not appear in its body. With `cluster(2)` its
    CTAs come in pairs, whose leader is the CTA with rank 0. With `cluster_splits(n)` they
    come in clusters of n that share each work tile: every CTA has one split of
    its reduction, the one of its rank. `min_ctas(n)`
    limits the registers so that an SM can hold n CTAs at a time.

    Example:

    ```mlir
    mxgpu.kernel @scale(%x: memref<?x?xbf16>, %n: index) min_ctas(2) { ... }
    ```

    Arguments are tensor maps (passed by value), memrefs with strides (passed as
    a pointer and their dynamic sizes, strides and offset), indices, integers
    and floats. Not `gpu.func`: it lowers a memref to a whole descriptor, drops
    `llvm.byval` of tensor maps, and has no roles to verify.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<MXGPU_ScheduleAttr>:$schedule,
    OptionalAttr<MXGPU_QuantizeScheduleAttr>:$quantize_schedule,
    DefaultValuedAttr<I64Attr, "1">:$cluster,
    DefaultValuedAttr<I64Attr, "1">:$cluster_splits,
    OptionalAttr<I64Attr>:$min_ctas,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::LogicalResult verifyBody() { return ::llvm::success(); }
    /// Threads of a CTA: those of all roles, in whole warpgroups where roles
    /// or the schedule divide the registers.
    int64_t getNumThreads();
    /// Registers of a thread at launch, if roles divide the registers: the
    /// average of the warpgroups.
    std::optional<int64_t> getLaunchRegisters();
    /// Whether CTAs come in pairs.
    bool isPair() { return getCluster() == 2; }
    /// CTAs of a cluster.
    int64_t getClusterSize() { return getCluster() * getClusterSplits(); }
  }];
}

def MXGPU_RoleOp : MXGPU_Op<"role", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"KernelOp">]> {
  let summary = "the program of some of the kernel's warps";
  let description = [{
    `warps` warps execute the body; with `elected`, only one thread of the
    (single) warp; with `on_leader`, only the warps of a pair's leading CTA.
    `mxgpu.assign_warps` says which warps these are.

    Example:

    ```mlir
    mxgpu.role @load warps(1) elected { ... }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    ConfinedAttr<I64Attr, [IntPositive]>:$warps,
    UnitAttr:$elected,
    UnitAttr:$on_leader);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `warps` `(` $warps `)` (`elected` $elected^)?
    (`on_leader` $on_leader^)? $body attr-dict
  }];
  let extraClassDeclaration = [{
    /// Whether the role's warps wait for each other: they share stages that
    /// they fill for bulk stores, which no barrier in memory guards.
    bool needsBarrier();
    /// Warps that run an instruction together, from a multiple of as many.
    int64_t getWarpMultiple();
    /// Assignment of warps to the role, or null.
    AssignWarpsOp getAssignment();
    int64_t getFirstWarp();
    std::optional<int64_t> getRegisters();
    /// Number of the named barrier of the role's threads. Barrier 0 is that of
    /// the CTA.
    int64_t getNamedBarrier();
  }];
}

def MXGPU_AssignWarpsOp : MXGPU_Op<"assign_warps", [HasParent<"KernelOp">]> {
  let summary = "run a role on warps of the CTA";
  let description = [{
    The warps of `role` are those of the CTA from `first_warp` on. Each of their
    threads has `registers` registers (PTX ISA, setmaxnreg).

    Example:

    ```mlir
    mxgpu.assign_warps @load from 4 registers(40)
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$role,
    ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<31>]>:$first_warp,
    OptionalAttr<I64Attr>:$registers);
  let assemblyFormat = [{
    $role `from` $first_warp (`registers` `(` $registers^ `)`)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def MXGPU_TileSchedulerOp : MXGPU_NamedOp<"tile_scheduler", "scheduler", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "divide a problem into work tiles and assign them to CTAs";
  let description = [{
    The problem has `rows` x `columns` outputs and reduces over `reduction`
    elements; a work tile is a tile of `tile` outputs with the whole reduction.
    Work tiles are numbered in the order of `raster`.

    - `static`: CTA i takes work tiles i, i + number of CTAs, and so on;
    - `clc`: cluster launch control. The grid has a CTA for each work tile, but
      running CTAs take over the tiles of CTAs that have not been launched. The
      answers to the requests are the stages of a ring;
    - `atomic_counter`: CTA i begins with work tile i and takes the numbers of
      further tiles from a counter in memory, which is 0 before and after the
      launch. They are also passed through a ring;
    - `groups`: like `static`, but the work tiles belong to expert groups. A warp of
      each CTA finds the next one and passes it to all roles through a ring;
    - `single`: there is a CTA for each work tile, which computes only that one.

    With `split(n step k)` a work tile has one of n splits of the reduction.
    Splits begin at multiples of `k` elements and differ in length by at most
    `k`; some are empty if there are fewer steps than splits. In a kernel with
    `cluster_splits(n)` a work tile has all n splits, and each CTA of its cluster the one
    of its rank; such a scheduler is `static`.

    With `ragged(offsets)` rows belong to expert groups, which end at these offsets.
    Each expert group gets whole tiles of packed rows, in the order of the groups;
    `rows` / `tile[0]` tiles plus one for each group suffice for any offsets.
    For a work tile, `group` is its group, `row` is a packed row (with `groups`,
    its start), and its start and end are the rows of the tensor that it covers.
    Work tiles after the last expert group are not visited. Offsets that decrease or
    exceed `rows` are clamped.

    With `stride` (`groups` only) the rows of group g begin at row `g * stride`,
    and `offsets` holds the number of rows of each group, of which at most
    `stride` count.

    With `over_reduction` (`groups` and `single`) expert groups divide the reduction,
    and each has `rows` x `columns` outputs of its own. A work tile's start and
    end are those of its group's segment of the reduction in the layout
    `#mx.ragged`, up to the next multiple of 128.

    Work tiles of one group have consecutive numbers, with `groups` in the order
    of `raster`.

    Example:

    ```mlir
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128]
        of(%m, %n, %k)
    %work_tiles = mxgpu.ring "work_tiles" : !mxgpu.ring<2 x (work_tile: smem<16xi8>),
                                      producer = clc, consumer = roles>
    %other = mxgpu.tile_scheduler clc(%work_tiles : !work_tiles_ring) raster = hilbert
        tile [128, 256] split(4 step 128) of(%m, %n, %k)
    %third = mxgpu.tile_scheduler single raster = linear tile [128, 128]
        ragged(%offsets : memref<?xi32>) of(%m, %n, %c0)
    %found = mxgpu.ring "found" : !mxgpu.ring<2 x (work_tile: smem<32xi8>),
                                      producer = groups, consumer = roles>
    %fourth = mxgpu.tile_scheduler groups(%found : !found_ring) raster = linear
        tile [128, 128] ragged(%offsets : memref<?xi32>) over_reduction
        of(%m, %n, %k)
    ```
  }];
  let arguments = (ins
    Index:$rows, Index:$columns, Index:$reduction,
    Optional<MXGPU_RingType>:$work_tiles, Optional<AnyMemRef>:$counter,
    Optional<AnyMemRef>:$offsets,
    Optional<Index>:$stride,
    UnitAttr:$over_reduction,
    UnitAttr:$single,
    DenseI64ArrayAttr:$tile,
    MXGPU_RasterAttr:$raster,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$splits,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$split_step);
  let results = (outs MXGPU_TileSchedulerType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::mlir::Value":$reduction,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   CArg<"::mlir::Value", "{}">:$work_tiles,
                   CArg<"int64_t", "1">:$splits,
                   CArg<"int64_t", "1">:$splitStep), [{
      bool isSplit = splits > 1;
      build($_builder, $_state, TileSchedulerType::get($_builder.getContext()),
            rows, columns, reduction, work_tiles, /*counter=*/{},
            /*offsets=*/{}, /*stride=*/{}, /*over_reduction=*/false,
            /*single=*/false, $_builder.getDenseI64ArrayAttr(tile), raster,
            isSplit ? $_builder.getI64IntegerAttr(splits) : nullptr,
            isSplit ? $_builder.getI64IntegerAttr(splitStep) : nullptr);
    }]>,
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::mlir::Value":$reduction,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   "bool":$single, "::mlir::Value":$work_tiles,
                   "::mlir::Value":$counter, "::mlir::Value":$offsets,
                   CArg<"::mlir::Value", "{}">:$stride,
                   CArg<"bool", "false">:$overReduction), [{
      build($_builder, $_state, TileSchedulerType::get($_builder.getContext()),
            rows, columns, reduction, work_tiles, counter, offsets, stride,
            overReduction, single, $_builder.getDenseI64ArrayAttr(tile), raster,
            /*splits=*/nullptr, /*split_step=*/nullptr);
    }]>
  ];
  let assemblyFormat = [{
    custom<Scheduler>($single, $work_tiles, type($work_tiles), $counter, type($counter))
    `raster` `=` custom<Raster>($raster) `tile` $tile
    (`split` `(` $splits^ `step` $split_step `)`)?
    (`ragged` `(` $offsets^ `:` type($offsets) `)`)?
    (`stride` `(` $stride^ `)`)? (`over_reduction` $over_reduction^)?
    `of` `(` $rows `,` $columns `,` $reduction `)` attr-dict
  }];
  let extraClassDeclaration = [{
    /// Number of splits of the reduction.
    int64_t getNumSplits() { return getSplits().value_or(1); }
  }];
}

def MXGPU_ForEachWorkTileOp : MXGPU_Op<"for_each_work_tile", [
    SingleBlock, NoTerminator, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    MXGPU_NamesBlockArguments]> {
  let summary = "visit this CTA's work tiles";
  let description = [{
    The body's arguments describe the work tile: its group (the number of the
    split of a split reduction, or the expert of a grouped matmul), first row,
    first column, and start and end of the reduction; the last four in elements.

    If work tiles come through a ring, each role visits at least one, the CTA's
    own, and uses `next_work_tile` to say where the next one is stored.
  }];
  let arguments = (ins MXGPU_TileSchedulerType:$work);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getGroup() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getRow() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getColumn() { return getBody().getArgument(2); }
    ::mlir::BlockArgument getStart() { return getBody().getArgument(3); }
    ::mlir::BlockArgument getEnd() { return getBody().getArgument(4); }
  }];
}

def MXGPU_NextWorkTileOp : MXGPU_Op<"next_work_tile"> {
  let summary = "continue with the work tile in a buffer";
  let description = [{
    The buffer holds the answer of cluster launch control, a number from an
    atomic counter, or a work tile of a group: either the number of a work tile,
    or that there is none, and then the loop ends. If cluster launch control
    answers that there is none, not all work tiles need be done: the remaining
    ones are launched as usual.

    Example:

    ```mlir
    %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles_ring
    mxgpu.next_work_tile %work_tile : !work_tile
    mxgpu.consumer_release %stage : !units_stage
    ```
  }];
  // Declares no effects, so MLIR assumes any: no resource stands for what the
  // loop does next.
  let arguments = (ins MXGPU_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def MXGPU_ForEachKOp : MXGPU_Op<"for_each_k", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface, [
        "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    MXGPU_NamesBlockArguments]> {
  let summary = "visit the tiles of a reduction";
  let description = [{
    The body's arguments are the first reduction element of the tile, the number
    of elements in it (at most `step`), and whether it is the first tile.
    Loop-carried values follow: they start as `iter_args` and become what the
    body yields. Bounds are signed; a loop whose end is not above its start has
    no iterations.

    Main loops of matmuls have it, and kernels that visit other tiles in order:
    quantizers go through the rows of a tile with it.

    Examples:

    ```mlir
    mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 128 { ... }
    %sum = mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 64
        iter_args(%d = %zero : !fragment) {
      %next = mxgpu.mma ... into %d
      mxgpu.yield %next : !fragment
    }
    ```
  }];
  let arguments = (ins Index:$start, Index:$end, Variadic<AnyType>:$inits,
                       ConfinedAttr<I64Attr, [IntPositive]>:$step);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getK() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getExtent() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getFirst() { return getBody().getArgument(2); }
    YieldOp getYield();
  }];
}

def MXGPU_YieldOp : MXGPU_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"ForEachKOp">]> {
  let summary = "end an iteration of a loop and pass on its loop-carried values";
  let description = [{
    `scf.yield` only ends regions of scf.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins)>];
  let hasVerifier = 0;
}

def MXGPU_CtaRankOp : MXGPU_NamedOp<"cta_rank", "rank", [Pure]> {
  let summary = "number of this CTA in its pair, 0 for the leader";
  let description = [{
    Not `gpu.cluster_block_id`: a rank outside of clusters is an error here, and
    `mxgpu-verify-pipelines` follows the numbers that depend on it.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MXGPU_ThreadIdOp : MXGPU_NamedOp<"thread_id", "thread", [Pure]> {
  let summary = "number of this thread within its role";
  let description = [{
    `gpu.thread_id` counts the threads of the CTA.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Other kernels
//===----------------------------------------------------------------------===//

def MXGPU_WaitDependenciesOp : MXGPU_Op<"wait_dependencies"> {
  let summary = "wait for the kernels that were launched before this one";
  let description = [{
    The kernel uses programmatic dependent launch: its set-up runs while the
    previous kernels are still running. After this operation they have ended and
    their writes are visible (PTX ISA, griddepcontrol.wait). Neither a role nor
    a memory access may come before it.
  }];
  let assemblyFormat = "attr-dict";
}

def MXGPU_LaunchDependentsOp : MXGPU_Op<"launch_dependents"> {
  let summary = "let kernels that are launched after this one start";
  let description = [{
    They start when all CTAs have executed this or ended (PTX ISA,
    griddepcontrol.launch_dependents). It does not order memory accesses: the
    dependent kernels wait for the end of this kernel before they access memory.
  }];
  let assemblyFormat = "attr-dict";
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD
