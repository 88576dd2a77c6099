//===- MXGPUPipelineOps.td - Rings, loads, tensor core -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

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

#endif // MX_DIALECT_MXGPU_IR_MXGPUPIPELINEOPS_TD
