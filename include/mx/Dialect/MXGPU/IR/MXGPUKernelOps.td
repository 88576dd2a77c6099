//===- MXGPUKernelOps.td - Kernels, roles and their work ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD

include "mlir/Interfaces/ViewLikeInterface.td"
include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// The kernel and its roles
//===----------------------------------------------------------------------===//

def MXGPU_KernelOp : MXGPU_Op<"kernel", [
    IsolatedFromAbove, FunctionOpInterface, SingleBlock, NoTerminator,
    HasParent<"::mlir::gpu::GPUModuleOp">, MXGPU_NamesBlockArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "define a warp-specialized kernel";
  let description = [{
    Contains the rings, the tile scheduler and the roles of a kernel. Set-up
    (barrier initialization with its fence, allocation of tensor memory) and
    tear-down are implicit.

    With `cluster(2)`, CTAs form pairs, and the CTA with rank 0 leads its pair.
    With `cluster_splits(n)`, the n CTAs of a cluster share each work tile, and
    the CTA with rank i reduces split i. `min_ctas(n)` limits registers so that
    n CTAs fit on an SM.

    Example:

    ```mlir
    mxgpu.kernel @scale(%x: memref<?x?xbf16>, %n: index) min_ctas(2) { ... }
    ```

    With `joined`, the body is empty and the kernel runs other kernels, which
    must not depend on each other: the first CTAs run the first kernel, the next
    CTAs the next kernel, and each kernel sees its own CTAs as the whole grid.
    The arguments are the number of CTAs of each kernel but the last, then the
    arguments of each kernel. All have equal numbers of threads, cluster sizes
    and registers at launch.

    ```mlir
    mxgpu.kernel @both(%ctas: index, %x: memref<?xf32>, %y: memref<?xf32>)
      joined [@fill_x, @fill_y] {}
    ```

    Arguments are tensor maps (passed by value), memrefs with strides (passed as
    a pointer and their dynamic sizes, strides and offset), indices, integers
    and floats. `gpu.func` does not fit: it lowers a memref to a full
    descriptor, drops `llvm.byval` of tensor maps, and lacks roles.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<MXGPU_ScheduleAttr>:$schedule,
    OptionalAttr<MXGPU_QuantizeScheduleAttr>:$quantize_schedule,
    DefaultValuedAttr<I64Attr, "1">:$cluster,
    DefaultValuedAttr<I64Attr, "1">:$cluster_splits,
    OptionalAttr<I64Attr>:$min_ctas,
    OptionalAttr<FlatSymbolRefArrayAttr>:$joined,
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
    /// Returns the threads of a CTA: the sum over roles, rounded up to whole
    /// warpgroups if roles or the schedule divide the registers.
    int64_t getNumThreads();
    /// Returns the registers per thread at launch, the average over warpgroups,
    /// if roles divide the registers.
    std::optional<int64_t> getLaunchRegisters();
    /// Returns true if the kernel, or each joined kernel, waits for the
    /// previous kernels.
    bool waitsForDependencies();
    bool isPair() { return getCluster() == 2; }
    int64_t getClusterSize() { return getCluster() * getClusterSplits(); }
  }];
}

def MXGPU_RoleOp : MXGPU_Op<"role", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"KernelOp">]> {
  let summary = "the program of some of the kernel's warps";
  let description = [{
    `warps` warps execute the body. With `elected`, the role consists of a
    single warp, and a single thread executes the body. With `on_leader`, only
    the leading CTA of a pair executes the body. `mxgpu.assign_warps` assigns
    the warps.

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
    /// Returns true if the warps of the role share staging buffers for bulk
    /// stores. They must synchronize, because no barrier in memory guards these
    /// buffers.
    bool needsBarrier();
    /// Returns the number of warps that execute an instruction together. The
    /// first warp of the role is a multiple of this number.
    int64_t getWarpMultiple();
    /// Returns the assignment of warps to the role, or null.
    AssignWarpsOp getAssignment();
    int64_t getFirstWarp();
    std::optional<int64_t> getRegisters();
    /// Returns the named barrier of the role's threads; 0 is the CTA's barrier.
    int64_t getNamedBarrier();
  }];
}

def MXGPU_AssignWarpsOp : MXGPU_Op<"assign_warps", [HasParent<"KernelOp">]> {
  let summary = "run a role on warps of the CTA";
  let description = [{
    Runs `role` on consecutive warps of the CTA, starting at `first_warp`, with
    `registers` registers per thread (PTX ISA, setmaxnreg).

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
    The problem is to compute `rows` x `columns` outputs over a reduction of
    `reduction` elements. A work tile is a tile of `tile` outputs with the whole
    reduction. Work tiles are numbered in the order of `raster`. They are
    assigned to CTAs by these methods:

    - `static`: of n CTAs, CTA i computes work tiles i, i + n, i + 2 n, and so
      on;
    - `clc` (cluster launch control): the grid contains a CTA for each work
      tile, and running CTAs take over the tiles of CTAs that have not been
      launched. Responses are written to the stages of a ring;
    - `atomic_counter`: CTA i starts with work tile i and takes further tile
      numbers from a counter in memory, which is 0 before and after the launch.
      A ring distributes the numbers;
    - `groups`: the work tiles of expert groups are assigned as with `static`. A
      warp of each CTA computes the next tile and passes it to all roles through
      a ring;
    - `single`: each CTA computes a single work tile. With `repeated`, CTA i of
      n then runs the kernel again as CTA i + n, until a work tile is missing.

    With `split(n step k)` a work tile covers one of n splits of the reduction.
    Splits begin at multiples of `k` elements and differ in length by at most
    `k`; some are empty if there are fewer steps than splits. In a kernel with
    `cluster_splits(n)` a work tile covers all n splits, and each CTA of the
    cluster computes the split whose index is the rank of the CTA. Such a
    scheduler is `static`.

    With `ragged(offsets)`, rows belong to expert groups that end at these
    offsets. Each expert group is assigned whole tiles of packed rows, in group
    order. For any offsets, `rows` / `tile[0]` tiles plus one tile for each
    group suffice. In the body, `group` is the expert group of the work tile,
    and `row` is a packed row, but with `groups`, `row` equals `start`. The
    arguments `start` and `end` are the rows of the tensor that the tile covers.
    Work tiles after the last expert group are skipped. Offsets that decrease or
    exceed `rows` are clamped.

    With `limit` (`single` only) a kernel computes the first `limit` tiles of
    packed rows, and with `repeated` all others. Thus a kernel for the expected
    rows has few CTAs without a work tile, and a small grid of another kernel
    computes the rest.

    With `stride` (`groups` only) the rows of group g begin at row `g * stride`,
    and `offsets` holds the number of rows of each group, clamped to `stride`.

    With `over_reduction` (`groups` and `single`) expert groups divide the
    reduction, and each group computes its own `rows` x `columns` outputs. Start
    and end of a work tile are the bounds of its group's segment in the layout
    `#mx.ragged`, rounded up to a multiple of 128.

    Work tiles of an expert group are numbered consecutively. With `groups`,
    they are in the order of `raster`.

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
    Optional<Index>:$limit,
    UnitAttr:$over_reduction,
    UnitAttr:$single,
    UnitAttr:$repeated,
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
            /*offsets=*/{}, /*stride=*/{}, /*limit=*/{},
            /*over_reduction=*/false, /*single=*/false, /*repeated=*/false,
            $_builder.getDenseI64ArrayAttr(tile), raster,
            isSplit ? $_builder.getI64IntegerAttr(splits) : nullptr,
            isSplit ? $_builder.getI64IntegerAttr(splitStep) : nullptr);
    }]>,
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::mlir::Value":$reduction,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   "bool":$single, "::mlir::Value":$work_tiles,
                   "::mlir::Value":$counter, "::mlir::Value":$offsets,
                   CArg<"::mlir::Value", "{}">:$stride,
                   CArg<"bool", "false">:$overReduction,
                   CArg<"::mlir::Value", "{}">:$limit), [{
      build($_builder, $_state, TileSchedulerType::get($_builder.getContext()),
            rows, columns, reduction, work_tiles, counter, offsets, stride,
            limit, overReduction, single, /*repeated=*/false,
            $_builder.getDenseI64ArrayAttr(tile), raster,
            /*splits=*/nullptr, /*split_step=*/nullptr);
    }]>
  ];
  let assemblyFormat = [{
    custom<Scheduler>($single, $work_tiles, type($work_tiles), $counter, type($counter))
    (`repeated` $repeated^)? `raster` `=` custom<Raster>($raster) `tile` $tile
    (`split` `(` $splits^ `step` $split_step `)`)?
    (`ragged` `(` $offsets^ `:` type($offsets) `)`)?
    (`stride` `(` $stride^ `)`)? (`limit` `(` $limit^ `)`)?
    (`over_reduction` $over_reduction^)?
    `of` `(` $rows `,` $columns `,` $reduction `)` attr-dict
  }];
  let extraClassDeclaration = [{
    int64_t getNumSplits() { return getSplits().value_or(1); }
  }];
}

def MXGPU_ForEachWorkTileOp : MXGPU_Op<"for_each_work_tile", [
    SingleBlock, NoTerminator, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    MXGPU_NamesBlockArguments]> {
  let summary = "iterate over the work tiles of this CTA";
  let description = [{
    The arguments of the body describe the work tile: its group (the number of
    the split, or the expert group of a grouped matmul) and, in elements, its
    first row and column and the start and end of the reduction.

    If a ring distributes the work tiles, each role visits at least one tile,
    the first of its CTA, and reads each following tile with `next_work_tile`.
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
  let summary = "read the next work tile from a buffer";
  let description = [{
    The buffer holds a response of cluster launch control, a number from an
    atomic counter, or a work tile of an expert group. The content is either a
    work tile or an end marker, which ends the loop. An end marker of cluster
    launch control does not mean that all work tiles are done: CTAs launched as
    usual compute the rest.

    Example:

    ```mlir
    %stage, %work_tile = mxgpu.consumer_wait %work_tiles : !work_tiles_ring
    mxgpu.next_work_tile %work_tile : !work_tile
    mxgpu.consumer_release %stage : !work_tiles_stage
    ```
  }];
  // No declared effects, so MLIR assumes any effect: the loop's control state
  // is not a resource.
  let arguments = (ins MXGPU_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def MXGPU_ForEachKOp : MXGPU_Op<"for_each_k", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface, [
        "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    MXGPU_NamesBlockArguments]> {
  let summary = "iterate over the tiles of a reduction";
  let description = [{
    The arguments of the body are the first reduction element of the tile, the
    number of its elements (at most `step`), and a flag that is true for the
    first tile. Loop-carried values follow: they start as `iter_args` and are
    updated by `mxgpu.yield`. Bounds are signed; the loop is empty unless start
    < end.

    Main loops of matmuls use this op, and other ordered loops over tiles use it
    too, such as a quantizer's loop over the rows of a tile. The lowered loop
    contains `unroll` tiles in straight-line code.

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
                       ConfinedAttr<I64Attr, [IntPositive]>:$step,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<64>]>, "1">:$unroll);
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
    Pure, Terminator, ReturnLike, ParentOneOf<["ForEachKOp", "KernelOp"]>]> {
  let summary = "end an iteration of `mxgpu.for_each_k`, or a kernel";
  let description = [{
    Needed because `scf.yield` only terminates regions of scf.

    A kernel may end with a condition, an i1 that is equal for all threads. If
    it is true, CTA i of n runs the kernel again as CTA i + n after all roles
    have ended. Barriers are initialized anew, so no state is kept.

    ```mlir
    mxgpu.yield %is_work_tile : i1
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins)>];
}

def MXGPU_CtaRankOp : MXGPU_NamedOp<"cta_rank", "rank", [Pure]> {
  let summary = "return the rank of this CTA in its pair, 0 for the leader";
  let description = [{
    Unlike `gpu.cluster_block_id`, this op is an error outside of clusters, and
    `mxgpu-verify-pipelines` tracks values that depend on it.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MXGPU_PeerViewOp : MXGPU_Op<"peer_view", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>,
    AllTypesMatch<["array", "result"]>]> {
  let summary = "return the same array in the window of another rank";
  let description = [{
    `array` is in a window of a rank group, and `peers` is the group's
    `mx.peers`. If `peers` is 0, returns `array`.

    Example:

    ```mlir
    %there = mxgpu.peer_view %here of(%rank) through(%peers) : memref<?x384xi8>
    ```
  }];
  let arguments = (ins AnyMemRef:$array, Index:$rank, Index:$peers);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $array `of` `(` $rank `)` `through` `(` $peers `)` attr-dict
    `:` type($array)
  }];
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::getViewSource() { return getArray(); }
  }];
  let hasVerifier = 0;
}

def MXGPU_ThreadIdOp : MXGPU_NamedOp<"thread_id", "thread", [Pure]> {
  let summary = "return the number of this thread within its role";
  let description = [{
    `gpu.thread_id` counts the threads of the CTA instead. With `of_warp` the op
    returns the number of the warp's first thread, which a role computes once
    and ptxas keeps in a uniform register.
  }];
  let arguments = (ins UnitAttr:$of_warp);
  let results = (outs Index:$result);
  let assemblyFormat = "(`of_warp` $of_warp^)? attr-dict";
  let builders = [OpBuilder<(ins CArg<"bool", "false">:$ofWarp), [{
    build($_builder, $_state, $_builder.getIndexType(), ofWarp);
  }]>];
}

//===----------------------------------------------------------------------===//
// Other kernels
//===----------------------------------------------------------------------===//

def MXGPU_WaitDependenciesOp : MXGPU_Op<"wait_dependencies"> {
  let summary = "wait for preceding kernels";
  let description = [{
    Enables programmatic dependent launch: the set-up of this kernel overlaps
    the previous kernels. After this op the previous kernels have ended and
    their writes are visible (PTX ISA, griddepcontrol.wait). Roles and memory
    accesses must follow the op.
  }];
  let assemblyFormat = "attr-dict";
}

def MXGPU_LaunchDependentsOp : MXGPU_Op<"launch_dependents"> {
  let summary = "allow dependent kernels to start";
  let description = [{
    Dependent kernels start once all CTAs have executed this op or ended (PTX
    ISA, griddepcontrol.launch_dependents). Memory accesses are not ordered, so
    dependent kernels first wait for the end of this kernel.
  }];
  let assemblyFormat = "attr-dict";
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD
