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
    Holds the rings, the work source and the roles of a kernel. Set-up (barrier
    initialization and its fence, allocation of tensor memory) and tear-down
    belong to the kernel and do not appear in its body. With `cluster(2)` its
    CTAs come in pairs, of which the one with rank 0 leads. `min_ctas(n)` asks
    for registers so few that an SM holds n CTAs at a time.

    `mxgpu-allocate` adds the bytes of shared memory; the columns of tensor
    memory with the place in shared memory that holds their address and the warp
    that allocates them; and, where roles divide the registers, how many each
    thread is launched with.

    Example:

    ```mlir
    mxgpu.kernel @scale(%x: memref<?x?xbf16>, %n: index) min_ctas(2)
        smem(4100) tmem(256 at 4096 warp 5) { ... }
    mxgpu.kernel @divided() registers(104) smem(0) { ... }
    ```

    Arguments are tensor maps (passed by value), memrefs with strides
    (passed as a pointer and what their type leaves open: sizes, strides and
    offset), indices, integers and floats.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<MXGPU_ScheduleAttr>:$schedule,
    OptionalAttr<MXGPU_QuantizeScheduleAttr>:$quantize_schedule,
    DefaultValuedAttr<I64Attr, "1">:$cluster,
    OptionalAttr<I64Attr>:$min_ctas,
    OptionalAttr<I64Attr>:$registers,
    OptionalAttr<I64Attr>:$smem_bytes,
    OptionalAttr<I64Attr>:$tmem_columns,
    OptionalAttr<I64Attr>:$tmem_slot,
    OptionalAttr<I64Attr>:$tmem_warp,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::LogicalResult verifyType() { return ::llvm::success(); }
    ::llvm::LogicalResult verifyBody() { return ::llvm::success(); }
    /// Threads of a CTA: those of all roles, in whole warpgroups where roles
    /// divide the registers.
    int64_t getNumThreads();
    /// Whether CTAs come in pairs.
    bool isPair() { return getCluster() == 2; }
  }];
}

def MXGPU_RoleOp : MXGPU_Op<"role", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"KernelOp">]> {
  let summary = "what some of the kernel's warps do";
  let description = [{
    `warps` warps execute the body; with `elected`, one thread of the (single)
    warp does; with `on_leader`, those of a pair's leading CTA do. Each thread
    of the role has `registers` registers (PTX ISA, setmaxnreg): the same for
    all roles that share a warpgroup. `mxgpu-allocate` sets `first_warp` and, where
    the role's threads wait for each other, the number of the named `barrier`
    that they use.

    Example:

    ```mlir
    mxgpu.role @load warps(1) elected { ... }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    ConfinedAttr<I64Attr, [IntPositive]>:$warps,
    UnitAttr:$elected,
    UnitAttr:$on_leader,
    OptionalAttr<I64Attr>:$registers,
    OptionalAttr<I64Attr>:$first_warp,
    OptionalAttr<I64Attr>:$barrier);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `warps` `(` $warps `)` (`elected` $elected^)?
    (`on_leader` $on_leader^)? (`registers` `(` $registers^ `)`)?
    (`first_warp` `(` $first_warp^ `)`)? (`barrier` `(` $barrier^ `)`)?
    $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the role's warps wait for each other: they share slots that they
    /// fill for bulk stores, which no barrier in memory guards.
    bool needsBarrier();
  }];
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def MXGPU_TileSchedulerOp : MXGPU_Op<"tile_scheduler", [
    Pure, AttrSizedOperandSegments, MXGPU_NamesResult]> {
  let summary = "divide a problem into units of work, and share them out";
  let description = [{
    The problem has `rows` x `columns` outputs and reduces over `reduction`
    elements; a unit is a tile of `tile` outputs with the whole reduction. Units
    are numbered in the order of `raster`.

    - `static`: CTA i takes units i, i + number of CTAs, and so on;
    - `clc`: cluster launch control. There is a CTA for each unit, but those
      that run take the units of those that have not begun. The answers to the
      requests are the stages of a ring;
    - `atomic_counter`: CTA i begins with unit i, and draws the numbers of further units
      from a counter in memory, which is 0 before the launch and again behind it.
      They come by a ring too;
    - `groups`: as `static`, where groups have the units. A warp of each CTA
      finds the next one, which comes by a ring to all roles;
    - `single`: there is a CTA for each unit, which takes that alone.

    With `split(n step k)` a unit has one of n parts of the reduction. Parts
    begin at multiples of `k` elements and differ in length by `k` at most; some
    are empty when there are fewer steps than parts.

    With `ragged(offsets)` rows belong to groups, which end at these offsets.
    Each group is given whole tiles of packed rows, in the order of the groups;
    `rows` / `tile[0]` tiles and one for each group suffice for any offsets. A
    unit's slice is its group, its row a packed row (by `groups`, its start), and
    its start and end are the rows of the tensor that it holds. Units behind the last group are not
    visited. Offsets that decrease or exceed `rows` count as the nearest that do
    not.

    With `stride`, by `groups` only, the groups' rows begin at multiples of it,
    and `offsets` holds how many rows each has: no more than `stride` count.

    With `over_reduction`, by `groups` only, groups divide the reduction, and
    each has `rows` x `columns` outputs of its own. A unit's slice
    is its group; its start and end are where the group's part of the reduction
    lies in the layout `#mx.ragged`, up to the next multiple of 128.

    Units of one group come one after the other, in the order of `raster` by
    `groups`.

    Example:

    ```mlir
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128]
        of(%m, %n, %k)
    %units = mxgpu.ring "units" : !mxgpu.ring<2 x (unit: smem<16xi8>),
                                      producer = clc, consumer = roles>
    %other = mxgpu.tile_scheduler clc(%units : !units_ring) raster = hilbert
        tile [128, 256] split(4 step 128) of(%m, %n, %k)
    %third = mxgpu.tile_scheduler single raster = linear tile [128, 128]
        ragged(%offsets : memref<?xi32>) of(%m, %n, %c0)
    %found = mxgpu.ring "found" : !mxgpu.ring<2 x (unit: smem<32xi8>),
                                      producer = groups, consumer = roles>
    %fourth = mxgpu.tile_scheduler groups(%found : !found_ring) raster = linear
        tile [128, 128] ragged(%offsets : memref<?xi32>) over_reduction
        of(%m, %n, %k)
    ```
  }];
  let arguments = (ins
    Index:$rows, Index:$columns, Index:$reduction,
    Optional<MXGPU_RingType>:$units, Optional<AnyMemRef>:$counter,
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
                   CArg<"::mlir::Value", "{}">:$units,
                   CArg<"int64_t", "1">:$splits, CArg<"int64_t", "1">:$splitStep)>,
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   "bool":$single, "::mlir::Value":$units,
                   "::mlir::Value":$counter, "::mlir::Value":$offsets)>,
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::mlir::Value":$reduction,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   "::mlir::Value":$units, "::mlir::Value":$offsets,
                   "::mlir::Value":$stride, "bool":$overReduction)>
  ];
  let assemblyFormat = [{
    custom<Scheduler>($single, $units, type($units), $counter, type($counter))
    `raster` `=` custom<Raster>($raster) `tile` $tile
    (`split` `(` $splits^ `step` $split_step `)`)?
    (`ragged` `(` $offsets^ `:` type($offsets) `)`)?
    (`stride` `(` $stride^ `)`)? (`over_reduction` $over_reduction^)?
    `of` `(` $rows `,` $columns `,` $reduction `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of parts of the reduction.
    int64_t getNumSplits() { return getSplits().value_or(1); }
  }];
}

def MXGPU_ForEachWorkTileOp : MXGPU_Op<"for_each_work_tile", [
    SingleBlock, NoTerminator, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    MXGPU_NamesBlockArguments]> {
  let summary = "visit this CTA's units of work";
  let description = [{
    The body's arguments are the unit: its slice (the part of a split reduction,
    or the expert of a grouped product), first row, first column, start and end
    of the reduction; the last four in elements.

    Where units come by a ring, each role visits at least one unit, its own, and
    says by `next_work_tile` where the next one stands.
  }];
  let arguments = (ins MXGPU_TileSchedulerType:$work);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
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
  let summary = "go on with the unit of work in a buffer";
  let description = [{
    The buffer holds the answer of cluster launch control, or a number drawn from a counter, or a unit
    of a group: the number of a unit, or that there is none, and then the loop
    ends. Such an answer of
    cluster launch control does not say that all units are done; whatever is
    left is launched.

    Example:

    ```mlir
    %stage, %unit = mxgpu.consumer_wait %units : !units_ring
    mxgpu.next_work_tile %unit : !unit
    mxgpu.consumer_release %stage : !units_stage
    ```
  }];
  // Declares no effects: what the loop does next is none that MLIR knows.
  let arguments = (ins MXGPU_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def MXGPU_ForEachKOp : MXGPU_Op<"for_each_k", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface, [
        "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    MXGPU_NamesBlockArguments]> {
  let summary = "visit the tiles of a reduction";
  let description = [{
    The body's arguments are the first reduction element of the tile, the
    number of elements that are left in it (at most `step`), and whether it is
    the first tile. Values that the loop carries follow: they begin as
    `iter_args` and are what the body yields afterwards.

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
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getK() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getExtent() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getFirst() { return getBody().getArgument(2); }
    YieldOp getYield();
  }];
}

def MXGPU_YieldOp : MXGPU_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"ForEachKOp">]> {
  let summary = "end an iteration of a loop with the values that it carries";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins)>];
}

def MXGPU_CtaRankOp : MXGPU_Op<"cta_rank", [Pure, MXGPU_NamesResult]> {
  let summary = "number of this CTA in its pair, 0 for the leader";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def MXGPU_ThreadIdOp : MXGPU_Op<"thread_id", [Pure, MXGPU_NamesResult]> {
  let summary = "number of this thread within its role";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Other kernels
//===----------------------------------------------------------------------===//

def MXGPU_WaitDependenciesOp : MXGPU_Op<"wait_dependencies"> {
  let summary = "wait for the kernels that this one was launched behind";
  let description = [{
    The kernel is launched programmatically: its set-up runs while they still
    do. They have ended, and what they wrote is there, when this is done (PTX
    ISA, griddepcontrol.wait), so neither a role nor an access to memory may
    stand before it.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def MXGPU_LaunchDependentsOp : MXGPU_Op<"launch_dependents"> {
  let summary = "let kernels that are launched behind this one begin";
  let description = [{
    They begin when all CTAs have said so or ended (PTX ISA,
    griddepcontrol.launch_dependents). It promises nothing about memory: they
    wait for the end of this kernel before they use any.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUKERNELOPS_TD
