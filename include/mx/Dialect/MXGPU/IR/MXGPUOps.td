//===- MXGPUOps.td - Operations of the mxgpu dialect -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mx/Dialect/MX/IR/MXEnums.td"
include "mx/Dialect/MXGPU/IR/MXGPUAttrs.td"
include "mx/Dialect/MXGPU/IR/MXGPUTypes.td"

class MXGPU_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MXGPU_Dialect, opMnemonic, traits>;

/// Operations that give their results, or their bodies' arguments, names that
/// make a printed kernel readable.
def MXGPU_NamesResult
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
def MXGPU_NamesBlockArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

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
    CTAs come in pairs, of which the one with rank 0 leads. `mxgpu-allocate`
    adds the bytes of shared memory, and the columns of tensor memory with the place
    in shared memory that holds their address.

    Example:

    ```mlir
    mxgpu.kernel @scale(%x: memref<?x?xbf16>, %n: index) smem(4100) tmem(256 at 4096) { ... }
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
    OptionalAttr<I64Attr>:$smem_bytes,
    OptionalAttr<I64Attr>:$tmem_columns,
    OptionalAttr<I64Attr>:$tmem_slot,
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
    all roles that share a warpgroup. `first_warp` is set by `mxgpu-allocate`.

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
    OptionalAttr<I64Attr>:$first_warp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `warps` `(` $warps `)` (`elected` $elected^)?
    (`on_leader` $on_leader^)? (`registers` `(` $registers^ `)`)?
    (`first_warp` `(` $first_warp^ `)`)? $body attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def MXGPU_WorkSourceOp : MXGPU_Op<"work_source", [
    Pure, AttrSizedOperandSegments, MXGPU_NamesResult]> {
  let summary = "divide a problem into units of work, and share them out";
  let description = [{
    The problem has `rows` x `columns` outputs and reduces over `reduction`
    elements; a unit is a tile of `tile` outputs with the whole reduction. Units
    are numbered in the order of `raster`.

    - `static`: CTA i takes units i, i + number of CTAs, and so on;
    - `clc`: cluster launch control. There is a CTA for each unit, but those
      that run take the units of those that have not begun. The answers to the
      requests are the slots of a ring;
    - `tickets`: CTA i begins with unit i, and draws the numbers of further units
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
    %work = mxgpu.work_source static raster = linear tile [128, 128]
        of(%m, %n, %k)
    %units = mxgpu.ring "units" : !mxgpu.ring<2 x (unit: smem<16xi8>),
                                      producer = clc, consumer = roles>
    %other = mxgpu.work_source clc(%units : !units_ring) raster = hilbert
        tile [128, 256] split(4 step 128) of(%m, %n, %k)
    %third = mxgpu.work_source single raster = linear tile [128, 128]
        ragged(%offsets : memref<?xi32>) of(%m, %n, %c0)
    %found = mxgpu.ring "found" : !mxgpu.ring<2 x (unit: smem<32xi8>),
                                      producer = groups, consumer = roles>
    %fourth = mxgpu.work_source groups(%found : !found_ring) raster = linear
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
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$parts,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$part_step);
  let results = (outs MXGPU_WorkSourceType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$rows, "::mlir::Value":$columns,
                   "::mlir::Value":$reduction,
                   "::llvm::ArrayRef<int64_t>":$tile, "RasterAttr":$raster,
                   CArg<"::mlir::Value", "{}">:$units,
                   CArg<"int64_t", "1">:$parts, CArg<"int64_t", "1">:$partStep)>,
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
    (`split` `(` $parts^ `step` $part_step `)`)?
    (`ragged` `(` $offsets^ `:` type($offsets) `)`)?
    (`stride` `(` $stride^ `)`)? (`over_reduction` $over_reduction^)?
    `of` `(` $rows `,` $columns `,` $reduction `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of parts of the reduction.
    int64_t getNumParts() { return getParts().value_or(1); }
  }];
}

def MXGPU_ForEachWorkOp : MXGPU_Op<"for_each_work", [
    SingleBlock, NoTerminator, MXGPU_NamesBlockArguments]> {
  let summary = "visit this CTA's units of work";
  let description = [{
    The body's arguments are the unit: its slice (the part of a split reduction,
    or the expert of a grouped product), first row, first column, start and end
    of the reduction; the last four in elements.

    Where units come by a ring, each role visits at least one unit, its own, and
    says by `next_unit` where the next one stands.
  }];
  let arguments = (ins MXGPU_WorkSourceType:$work);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getSlice() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getRow() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getColumn() { return getBody().getArgument(2); }
    ::mlir::BlockArgument getStart() { return getBody().getArgument(3); }
    ::mlir::BlockArgument getEnd() { return getBody().getArgument(4); }
  }];
}

def MXGPU_NextUnitOp : MXGPU_Op<"next_unit"> {
  let summary = "go on with the unit of work in a slot";
  let description = [{
    The slot holds the answer of cluster launch control, or a ticket, or a unit
    of a group: the number of a unit, or that there is none, and then the loop
    ends. Such an answer of
    cluster launch control does not say that all units are done; whatever is
    left is launched.

    Example:

    ```mlir
    %slot = mxgpu.consume %units : !units_ring
    mxgpu.next_unit %slot : !units_slot
    mxgpu.release %slot : !units_slot
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def MXGPU_ForEachKOp : MXGPU_Op<"for_each_k", [
    SingleBlock, NoTerminator, MXGPU_NamesBlockArguments]> {
  let summary = "visit the tiles of a reduction";
  let description = [{
    The body's arguments are the first reduction element of the tile, the
    number of elements that are left in it (at most `step`), and whether it is
    the first tile.

    Example:

    ```mlir
    mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 128 { ... }
    ```
  }];
  let arguments = (ins Index:$start, Index:$end,
                       ConfinedAttr<I64Attr, [IntPositive]>:$step);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getK() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getExtent() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getFirst() { return getBody().getArgument(2); }
  }];
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

def MXGPU_WaitDependenciesOp : MXGPU_Op<"wait_dependencies", [
    HasParent<"KernelOp">]> {
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

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

def MXGPU_RingOp : MXGPU_Op<"ring", [HasParent<"KernelOp">, MXGPU_NamesResult]> {
  let summary = "make a ring of buffers between two roles";
  let description = [{
    `mxgpu-allocate` adds where it lies. `offsets` gives where each field of the
    first slot starts: bytes from the start of shared memory, or a column of
    tensor memory. `barriers` gives the bytes where the full barrier of the first
    slot lies, with its empty barrier behind it, and `stride` the bytes of shared
    memory from one slot to the next. A slot in shared memory holds its fields
    and its barriers, so that one address is all that a role has to keep of it.
    A slot of a warp (`scope = warp`) has no barriers.

    Example:

    ```mlir
    %in = mxgpu.ring "in" : !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>),
                                   producer = tma, consumer = mma>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<DenseI64ArrayAttr>:$offsets,
                       OptionalAttr<I64Attr>:$barriers,
                       OptionalAttr<I64Attr>:$stride);
  let results = (outs MXGPU_RingType:$result);
  let assemblyFormat = [{
    $name (`offsets` $offsets^)? (`barriers` `(` $barriers^ `)`)?
    (`stride` `(` $stride^ `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

class MXGPU_TakeSlotOp<string mnemonic> : MXGPU_Op<mnemonic, [
    MXGPU_NamesResult,
    TypesMatchWith<"slot belongs to the ring", "ring", "slot",
                   "::mx::mxgpu::SlotType::get($_self.getContext(), ::llvm::cast<::mx::mxgpu::RingType>($_self))">]> {
  let arguments = (ins MXGPU_RingType:$ring);
  let results = (outs MXGPU_SlotType:$slot);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

class MXGPU_GiveSlotOp<string mnemonic> : MXGPU_Op<mnemonic> {
  let arguments = (ins MXGPU_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def MXGPU_AcquireOp : MXGPU_TakeSlotOp<"acquire"> {
  let summary = "wait until the ring's next slot is empty";
}

def MXGPU_PublishOp : MXGPU_Op<"publish"> {
  let summary = "hand a filled slot to the consumer";
  let description = [{
    The slot becomes full when what the producer started has completed. With
    `empty` true nothing was started: the slot is full at once and the
    consumer must not read it. What a slot of cluster launch control waits for
    is the answer to a request that is made here.
  }];
  let arguments = (ins MXGPU_SlotType:$slot, Optional<I1>:$empty);
  let assemblyFormat = "$slot (`empty` `(` $empty^ `)`)? attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def MXGPU_ConsumeOp : MXGPU_TakeSlotOp<"consume"> {
  let summary = "wait until the ring's next slot is full";
}

def MXGPU_ReleaseOp : MXGPU_GiveSlotOp<"release"> {
  let summary = "hand an emptied slot back to the producer";
  let description = [{
    The slot becomes empty when what the consumer started on it has completed.
  }];
}

//===----------------------------------------------------------------------===//
// Loads and the tensor core
//===----------------------------------------------------------------------===//

def MXGPU_TmaLoadOp : MXGPU_Op<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "copy a box of a tensor into a field of a slot";
  let description = [{
    `coords` are the box's first element, outermost dimension first; missing
    trailing coordinates are 0. A field that holds several boxes is filled one
    `part` at a time. `cache` says what the L2 cache should keep. With
    `multicast` both CTAs of a pair receive the box: each loads the part that
    has its number.

    Example:

    ```mlir
    mxgpu.tma_load %a[%row, %k] into %s["a"] : !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>, !slot
    mxgpu.tma_load %b[%column, %k2] into %s["b"] part(%c1) cache = evict_last : !map, !slot
    ```
  }];
  let arguments = (ins MXGPU_TensorMapType:$map, Variadic<Index>:$coords,
                       MXGPU_SlotType:$slot, StrAttr:$field,
                       Optional<Index>:$part, UnitAttr:$multicast,
                       DefaultValuedAttr<MXGPU_CacheHintAttr, "::mx::mxgpu::CacheHint::None">:$cache);
  let assemblyFormat = [{
    $map `` `[` $coords `]` `into` $slot `` `[` $field `]`
    (`part` `(` $part^ `)`)? (`multicast` $multicast^)? (`cache` `=` $cache^)? attr-dict
    `:` type($map) `,` type($slot)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$map, "::mlir::ValueRange":$coords,
                   "::mlir::Value":$slot, "::llvm::StringRef":$field), [{
      build($_builder, $_state, map, coords, slot,
            $_builder.getStringAttr(field), ::mlir::Value(),
            /*multicast=*/false);
    }]>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Boxes that the field holds.
    int64_t getParts();
  }];
}

def MXGPU_CopyScalesOp : MXGPU_Op<"copy_scales", [MXGPU_NamesResult]> {
  let summary = "copy scale factors from shared to tensor memory";
  let description = [{
    The field holds tiles of 128 rows by 4 scales, all those of one group of 128
    rows before those of the next.

    `column` is set by `mxgpu-allocate`. Copies and MMAs of a thread execute in
    order, so that one place in tensor memory serves all slots (PTX ISA, tcgen05
    pipelined instructions). With `slots(n)` there are n places, which the slots
    that a role consumes take in turn: with as many places as slots, no copy
    needs that order.
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field,
                       DefaultValuedAttr<I64Attr, "1">:$slots,
                       OptionalAttr<I64Attr>:$column);
  let results = (outs MXGPU_ScalesType:$result);
  let assemblyFormat = [{
    $slot `` `[` $field `]` (`slots` `(` $slots^ `)`)?
    (`column` `(` $column^ `)`)? attr-dict
    `:` type($slot) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def MXGPU_MmaOp : MXGPU_Op<"mma", [AttrSizedOperandSegments]> {
  let summary = "multiply a tile of A by a tile of B with block scales";
  let description = [{
    `d (+)= (a * a_scales) * (b * b_scales)^T` over the first `extent`
    elements of the tile's reduction dimension, a multiple of what one
    instruction multiplies. Elements beyond `extent` are not multiplied,
    whatever they hold. Without `accumulate` true the old accumulator is not
    read.

    A scale belongs to `block_size` elements, 32 unless given. `b_offset` is
    the row of `b_scales` that belongs to the first row of B: 0, the default,
    or 64.

    The kind of the instruction follows from the operands: mxf8f6f4 for 8-bit
    and padded ones, mxf4 or mxf4nvf4 for dense f4E2M1FN (PTX ISA, tcgen05.mma).
  }];
  let arguments = (ins
    MXGPU_SlotType:$inputs, StrAttr:$a, StrAttr:$b,
    MXGPU_ScalesType:$a_scales, MXGPU_ScalesType:$b_scales,
    MXGPU_SlotType:$accumulator, StrAttr:$d,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    Optional<Index>:$b_offset,
    Optional<I1>:$accumulate, Optional<Index>:$extent);
  let assemblyFormat = [{
    $inputs `` `[` $a `,` $b `]` `scales` `(` $a_scales `,` $b_scales `)`
    (`block_size` `(` $block_size^ `)`)? (`b_offset` `(` $b_offset^ `)`)?
    `into` $accumulator `` `[` $d `]`
    (`accumulate` `(` $accumulate^ `)`)? (`extent` `(` $extent^ `)`)? attr-dict
    `:` type($inputs) `,` qualified(type($a_scales)) `,` qualified(type($b_scales)) `,` type($accumulator)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Operands and accumulator of the operation.
    ::mx::mxgpu::BufferType getABuffer();
    ::mx::mxgpu::BufferType getBBuffer();
    /// The instruction for scales at id 0. Fails with the rule that the
    /// operands break.
    ::mlir::FailureOr<::mx::target::InstrDescriptor>
    getInstruction(std::string &error);
    ::llvm::LogicalResult
    verifyScales(const ::mx::target::InstrDescriptor &instruction);
  }];
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

def MXGPU_LoadAccumulatorOp : MXGPU_Op<"load_accumulator", [MXGPU_NamesResult]> {
  let summary = "read part of an accumulator into registers";
  let description = [{
    Thread t of the role reads row t, columns `column` and following: a vector
    of consecutive elements of one row (tensor memory's 32x32b access: a warp
    reads its own 32 lanes, one lane a thread; PTX ISA, tcgen05 data movement
    shape .32x32b). With `empty` true the accumulator was never written, and the
    elements are zero.

    Example:

    ```mlir
    %x = mxgpu.load_accumulator %s["d"] column(%c) empty(%e) : !slot -> vector<32xf32>
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field, Index:$column,
                       Optional<I1>:$empty);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $slot `` `[` $field `]` `column` `(` $column `)` (`empty` `(` $empty^ `)`)?
    attr-dict `:` type($slot) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_DrainColumnOp : MXGPU_Op<"drain_column", [Pure]> {
  let summary = "column of an accumulator that is read at a given place";
  let description = [{
    Accumulators that overlap are read beginning with the columns that they
    share, so that the next one can be written soon: place 0 is the first shared
    column, wherever it lies in this slot. The columns from place `overlap` on
    may be read after the slot is released. Without overlap column and place are
    the same.

    Of an accumulator in `parts`, each of as many adjacent columns, which are
    read together, this is the column of `part`: that of the part which has the
    shared columns, and the same of the others.

    Examples:

    ```mlir
    %column = mxgpu.drain_column %d, %place : !slot
    %gate = mxgpu.drain_column %d, %place part 0 of 2 : !slot
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, Index:$place,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       DefaultValuedAttr<I64Attr, "1">:$parts);
  let results = (outs Index:$result);
  let assemblyFormat = [{
    $slot `,` $place (`part` $part^)? (`of` $parts^)? attr-dict `:` type($slot)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Columns of a part.
    int64_t getWidth();
    /// Whether the place is known to be behind the shared columns, or among
    /// them.
    bool isRest();
    bool isShared();
  }];
}

def MXGPU_StoreFragmentOp : MXGPU_Op<"store_fragment"> {
  let summary = "write consecutive elements of a row, as far as they exist";
  let description = [{
    A thread for which `when` holds writes row `row`, columns `column` and
    following, as far as `dest` has such columns; any alignment of rows is
    taken. With `aligned(n)` all the columns exist, and the first of them starts
    at a multiple of n bytes, 16 or 32: the elements are written n bytes at a
    time, without taking place in the L1 cache. With `add` elements of f32 are
    added to those that `dest` holds, in one piece each, so that rows of several
    threads may be the same (PTX ISA, red).

    Example:

    ```mlir
    mxgpu.store_fragment %y, %c[%row, %column] when(%present) aligned(32)
        : vector<32xbf16>, memref<?x?xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$fragment,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column, I1:$present,
                       OptionalAttr<I64Attr>:$alignment, UnitAttr:$add);
  let assemblyFormat = [{
    $fragment `,` $dest `` `[` $row `,` $column `]` `when` `(` $present `)`
    (`aligned` `(` $alignment^ `)`)? (`add` $add^)? attr-dict
    `:` type($fragment) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def MXGPU_LoadSharedOp : MXGPU_Op<"load_shared", [MXGPU_NamesResult]> {
  let summary = "read a fragment of a tile in shared memory";
  let description = [{
    The thread reads the rows and columns of its result's shape that begin at
    `row` and `column`, multiples of that shape, where the swizzle has put them.
    A vector of one dimension is part of one row. Panels of a field are one
    matrix: panel i holds the i-th part of each row. With `rows(n)` rows from n
    on are zeros, whatever they hold.

    Example: 32 elements of a row; 32 rows of two columns.

    ```mlir
    %x = mxgpu.load_shared %s["x"] at [%row, %column] : !slot -> vector<32xbf16>
    %y = mxgpu.load_shared %s["x"] at [%row, %column] : !slot -> vector<32x2xbf16>
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field,
                       Index:$row, Index:$column, Optional<Index>:$rows);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $slot `` `[` $field `]` `at` `[` $row `,` $column `]`
    (`rows` `(` $rows^ `)`)? attr-dict
    `:` type($slot) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_StoreSharedOp : MXGPU_Op<"store_shared"> {
  let summary = "write rows that threads hold into a field";
  let description = [{
    Thread l of the warp writes row l of a matrix in shared memory, permuted as
    its swizzle says.

    With `at` each thread writes a fragment, whose first element has that row
    and column, multiples of the fragment's shape. The ring is that of all
    threads of a role (`scope = cta`).

    Examples:

    ```mlir
    mxgpu.store_shared %y, %s["c"] : vector<32xf32>, !slot
    mxgpu.store_shared %q, %s["rows"] at [%row, %column] : vector<2x32xf8E4M3FN>, !slot
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, MXGPU_SlotType:$slot,
                       StrAttr:$field, Variadic<Index>:$coords);
  let assemblyFormat = [{
    $value `,` $slot `` `[` $field `]` (`at` `[` $coords^ `]`)? attr-dict
    `:` type($value) `,` type($slot)
  }];
  let hasVerifier = 1;
}

def MXGPU_StoreScaleOp : MXGPU_Op<"store_scale"> {
  let summary = "write one scale into a tile of scales in shared memory";
  let description = [{
    The field is a tile of 128 rows by 4 scales, as the tensor core reads it:
    the scale of row r and block b is byte `r % 32 * 16 + r / 32 * 4 + b` of
    512 (PTX ISA, tcgen05 scale factor layouts). A field of `m x n x 512` bytes
    is a matrix of such tiles.

    Example:

    ```mlir
    mxgpu.store_scale %f, %s["scales"] at [%row, %block] : f8E8M0FNU, !slot
    ```
  }];
  let arguments = (ins AnyFloat:$scale, MXGPU_SlotType:$slot, StrAttr:$field,
                       Index:$row, Index:$block);
  let assemblyFormat = [{
    $scale `,` $slot `` `[` $field `]` `at` `[` $row `,` $block `]` attr-dict
    `:` type($scale) `,` type($slot)
  }];
  let hasVerifier = 1;
}

def MXGPU_BulkStoreOp : MXGPU_Op<"bulk_store", [AttrSizedOperandSegments]> {
  let summary = "copy a field of a slot to consecutive bytes of memory";
  let description = [{
    `coords` are where the bytes begin, the leading indices of `dest`; those
    that are not given are 0. The slot is empty again when the copy has read it.
    A field of several tiles is copied one `part` at a time, and only `when` a
    condition holds that the threads agree on.

    Example:

    ```mlir
    mxgpu.bulk_store %s["scales"] to %f[%tile, %block]
        : !slot, memref<?x?x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Variadic<Index>:$coords, Optional<I1>:$condition,
                       OptionalAttr<I64Attr>:$part);
  let assemblyFormat = [{
    $slot `` `[` $field `]` (`part` `(` $part^ `)`)?
    `to` $dest `` `[` $coords `]` (`when` `(` $condition^ `)`)? attr-dict
    `:` type($slot) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def MXGPU_StoreRowsOp : MXGPU_Op<"store_rows"> {
  let summary = "write the first rows of a field to a matrix";
  let description = [{
    The threads of the role write the first `rows` rows of the field, as far as
    they are in `dest`, to `dest`, beginning at `coords`, if a condition holds
    that they agree on: for tiles that a bulk copy would write too much of.

    Example:

    ```mlir
    mxgpu.store_rows %s["rows"] to %q[%row, %column] rows(%n) when(%partial)
        : !slot, memref<?x?xf8E4M3FN>
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column, Index:$rows, I1:$condition);
  let assemblyFormat = [{
    $slot `` `[` $field `]` `to` $dest `` `[` $row `,` $column `]`
    `rows` `(` $rows `)` `when` `(` $condition `)` attr-dict
    `:` type($slot) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def MXGPU_TmaStoreOp : MXGPU_Op<"tma_store", [AttrSizedOperandSegments]> {
  let summary = "copy a field of a slot into a box of a tensor";
  let description = [{
    `coords` are the box's first element, outermost dimension first. What lies
    outside the tensor is not written. With `add` the elements are added to
    those of the tensor, each in one rounding. The slot is empty again when the
    copy has read it. A field that holds several boxes, its panels or rows of
    them, is copied one `part` at a time. There is a copy only `when` a condition holds that the
    threads, or those of a warp with a ring of its own, agree on. The box of one
    matrix of several has a leading 1 more than the field.

    Example:

    ```mlir
    mxgpu.tma_store %s["c"] to %c[%row, %column] : !slot, !mxgpu.tensor_map<32x32xf32, sw128>
    ```
  }];
  let arguments = (ins MXGPU_SlotType:$slot, StrAttr:$field,
                       MXGPU_TensorMapType:$map, Variadic<Index>:$coords,
                       Optional<I1>:$condition, UnitAttr:$add,
                       OptionalAttr<I64Attr>:$part);
  let assemblyFormat = [{
    $slot `` `[` $field `]` (`part` `(` $part^ `)`)?
    `to` $map `` `[` $coords `]` (`add` $add^)?
    (`when` `(` $condition^ `)`)? attr-dict `:` type($slot) `,` type($map)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

def MXGPU_LoadBlockOp : MXGPU_Op<"load_block"> {
  let summary = "read consecutive elements of a row, zeros outside the tensor";
  let description = [{
    The elements lie all inside or all outside, and start at a multiple of 16
    bytes or of their own size; rows may lie apart. Elements of 4 and 6 bits come from a matrix of
    bytes (i8), the former in pairs. With `in_bounds` they are known to lie
    inside, and nothing is compared.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Index:$row, Index:$column, UnitAttr:$in_bounds);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $source `` `[` $row `,` $column `]` (`in_bounds` $in_bounds^)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_QuantizeBlockOp : MXGPU_Op<"quantize_block", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "give a block of elements one scale and round them";
  let description = [{
    The semantics of `mx.quantize` on one block along a row, held in the
    registers of a thread or, with `lanes(n)`, of n adjacent lanes of a warp,
    each of which has the next elements, or the next row of a square, and gets
    the scale. `encode` is the
    factor of the tensor that NVFP4 takes; `seed` rounds stochastically, and
    comes with the linear index in the tensor of the first element that the
    thread holds.

    Example: blocks of 32 that two lanes share.

    ```mlir
    %q, %f = mxgpu.quantize_block %x scale_rounding = ceil lanes(2)
        : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input,
                       Optional<F32>:$encode,
                       Optional<I64>:$seed, Optional<Index>:$first,
                       MX_ScaleRoundingAttr:$scale_rounding,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let results = (outs AnyVectorOfNonZeroRank:$elements, AnyFloat:$scale);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::Value":$input,
                   "::mx::ScaleRounding":$rounding), [{
      build($_builder, $_state, types, input, /*encode=*/::mlir::Value(),
            /*seed=*/::mlir::Value(), /*first=*/::mlir::Value(), rounding,
            /*lanes=*/1);
    }]>
  ];
  let assemblyFormat = [{
    $input (`encode` `(` $encode^ `)`)? (`seed` `(` $seed^ `at` $first `)`)?
    `scale_rounding` `=` `` $scale_rounding (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scale)
  }];
  let hasVerifier = 1;
}

def MXGPU_QuantizeColumnsOp : MXGPU_Op<"quantize_columns", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "quantize blocks that stand side by side in columns";
  let description = [{
    The semantics of `mx.quantize` along axis 0 on the rows of some columns held
    in a thread's registers: each column is a block, and a row of `elements`,
    which are transposed thereby. `scales` has one of each. `encode` is the
    factor of the tensor that NVFP4 takes. With `rows(n)` the blocks end before
    row n, a signed number: other rows hold zeros, and their elements are 0 even
    where a scale is NaN.
    With `lanes(n)` n adjacent lanes of a warp have the columns of a square,
    which have one scale. `seed` rounds stochastically, and comes with the
    linear index in the tensor of the first element and the distance to the
    one in the next row.

    Example:

    ```mlir
    %q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
        : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input,
                       Optional<F32>:$encode, Optional<Index>:$rows,
                       Optional<I64>:$seed, Optional<Index>:$first,
                       Optional<Index>:$stride,
                       MX_ScaleRoundingAttr:$scale_rounding,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let results = (outs AnyVectorOfNonZeroRank:$elements,
                      AnyVectorOfNonZeroRank:$scales);
  let assemblyFormat = [{
    $input (`encode` `(` $encode^ `)`)? (`rows` `(` $rows^ `)`)?
    (`seed` `(` $seed^ `at` $first `by` $stride `)`)?
    `scale_rounding` `=` `` $scale_rounding (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scales)
  }];
  let hasVerifier = 1;
}

def MXGPU_LargestMagnitudeOp : MXGPU_Op<"largest_magnitude", [Pure]> {
  let summary = "the largest magnitude that a thread holds";
  let description = [{
    That of all elements of the vectors, as `mx.amax` defines it. With
    `as_integers` it is found as quantizers to NVFP4 find that of a block, and
    without as the others do: where a vector is quantized too, it is the same
    instructions.

    Example:

    ```mlir
    %m = mxgpu.largest_magnitude %x, %y : vector<8xbf16>, vector<8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values,
                       UnitAttr:$as_integers);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $values (`as_integers` $as_integers^)? attr-dict `:` type($values)
  }];
  let hasVerifier = 1;
}

def MXGPU_ReadMagnitudeOp : MXGPU_Op<"read_magnitude"> {
  let summary = "what a number that warps raise was at some time";
  let description = [{
    It was at least this: numbers only rise. Read long before it is needed,
    nobody waits for it.

    Example:

    ```mlir
    %known = mxgpu.read_magnitude %dest : memref<f32>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[F32], [0]>, "", [MemRead]>:$source);
  let results = (outs F32:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def MXGPU_RaiseMagnitudeOp : MXGPU_Op<"raise_magnitude"> {
  let summary = "raise a number to the largest one that a warp holds";
  let description = [{
    `dest` becomes the largest of what it is and of the `value` of each lane of
    a warp, all of which take part. These are results of
    `mxgpu.largest_magnitude`, NaN among them the largest. Other warps raise it
    at the same time; one that has no more than what is `known` of it, a result
    of `mxgpu.read_magnitude`, does not write.

    Example:

    ```mlir
    mxgpu.raise_magnitude %m above %known into %dest : memref<f32>
    ```
  }];
  let arguments = (ins F32:$value, F32:$known,
                       Arg<MemRefRankOf<[F32], [0]>, "", [MemRead, MemWrite]>:$dest);
  let assemblyFormat =
      "$value `above` $known `into` $dest attr-dict `:` type($dest)";
}

def MXGPU_StoreBlockOp : MXGPU_Op<"store_block"> {
  let summary = "write consecutive elements of a row unless they are outside";
  let description = [{
    The elements lie all inside or all outside, and start at a multiple of 16
    bytes or of their own size. Elements of 4 and 6 bits go to a matrix of bytes
    (i8), the former in pairs.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column);
  let assemblyFormat = [{
    $value `,` $dest `` `[` $row `,` $column `]` attr-dict
    `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def MXGPU_LoadScaleOp : MXGPU_Op<"load_scale"> {
  let summary = "read the scale of a block, 0 outside";
  let description = [{
    The scale at `row` and `block` of a matrix of scales, or of tiles of them,
    `tiles of rows x tiles of blocks x 32 x 4 x 4`. Nothing writes them while
    the kernel runs.

    Example:

    ```mlir
    %f = mxgpu.load_scale %scales[%row, %block]
        : memref<?x?x32x4x4xf8E8M0FNU> -> f8E8M0FNU
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Index:$row, Index:$block);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = [{
    $source `` `[` $row `,` $block `]` attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_DequantizeBlockOp : MXGPU_Op<"dequantize_block", [Pure]> {
  let summary = "multiply elements by the scale of their block";
  let description = [{
    The semantics of `mx.dequantize` on elements of one block: the exact product
    with the scale, and with `decode`, the factor of the tensor that NVFP4 takes,
    rounded once.

    Example:

    ```mlir
    %x = mxgpu.dequantize_block %q by %f
        : vector<8xf8E4M3FN>, f8E8M0FNU -> vector<8xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input, AnyFloat:$scale,
                       Optional<F32>:$decode);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $input `by` $scale (`decode` `(` $decode^ `)`)? attr-dict
    `:` type($input) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_StoreScalesOp : MXGPU_Op<"store_scales"> {
  let summary = "write the scales that the lanes of a warp hold";
  let description = [{
    Groups of `lanes` adjacent lanes hold one scale each, at `row` and `block`
    of `rows x blocks` scales; four adjacent groups hold those of a row whose
    first block is a multiple of 4.

    `dest` is a matrix of the scales, or holds tiles of them, `tiles of rows x
    tiles of blocks x 32 x 4 x 4`, where these four are adjacent bytes. Of tiles
    that have a scale, all bytes are written, 0 behind the last row and block.

    Example:

    ```mlir
    mxgpu.store_scales %f into %dest[%row, %block] of(%rows, %blocks) lanes(2)
        : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins AnyFloat:$scale,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$block, Index:$rows, Index:$blocks,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let assemblyFormat = [{
    $scale `into` $dest `` `[` $row `,` $block `]`
    `of` `(` $rows `,` $blocks `)` (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($scale) `into` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def MXGPU_ReduceLanesOp : MXGPU_Op<"reduce_lanes", [
    Pure, SameOperandsAndResultType]> {
  let summary = "the sum, or the like, of what the lanes of a warp hold";
  let description = [{
    All lanes of a warp take part, and all are given the same result, of an
    order that never changes. `maximum` and `minimum` are those of
    `arith.maximumf` and `arith.minimumf`: NaN if there is one.

    Example:

    ```mlir
    %sum = mxgpu.reduce_lanes add %x : f32
    ```
  }];
  let arguments = (ins MXGPU_ReduceKindAttr:$kind, F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Host side
//===----------------------------------------------------------------------===//

def MXGPU_EncodeTensorMapOp : MXGPU_Op<"encode_tensor_map"> {
  let summary = "describe a tensor in device memory to the copy engine";
  let description = [{
    Dimensions and strides are those of the memref, whose elements are adjacent
    in the last dimension; bytes (i8) stand for the elements of 4 or 6 bits that
    they hold without gaps. A tensor without elements gives a map that no kernel
    uses. `l2_promotion` is how much the L2 cache fetches at a time, b256 by
    default.

    Example:

    ```mlir
    %map = mxgpu.encode_tensor_map %x l2_promotion = b64
        : memref<?x?xbf16> -> !mxgpu.tensor_map<64x64xbf16, sw128>
    ```
  }];
  let arguments = (ins AnyMemRef:$source,
    DefaultValuedAttr<MXGPU_L2PromotionAttr,
                      "::mx::mxgpu::L2Promotion::B256">:$l2_promotion);
  let results = (outs MXGPU_TensorMapType:$result);
  let assemblyFormat = [{
    $source (`l2_promotion` `=` $l2_promotion^)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MXGPU_SmCountOp : MXGPU_Op<"sm_count"> {
  let summary = "number of streaming multiprocessors of the device";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MXGPU_RequireOp : MXGPU_Op<"require"> {
  let summary = "report an error at run time unless a condition holds";
  let description = [{
    `message` is a printf format; each `%lld` in it shows one of `values`.
    After an error the runtime launches no kernel, until it is cleared;
    `mxGetLastError` returns the message with its location.

    Example:

    ```mlir
    mxgpu.require %same, "expected %lld rows, found %lld" (%m, %n)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message,
                       Variadic<Index>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)`)? attr-dict";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def MXGPU_LaunchOp : MXGPU_Op<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launch a kernel on a grid of CTAs";
  let description = [{
    An empty grid launches nothing. Block size and shared memory are the
    kernel's own.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$grid,
                       Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUOPS_TD
