//===- MXGPUTypes.td - Types of the mxgpu dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUTYPES_TD
#define MX_DIALECT_MXGPU_IR_MXGPUTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

class MXGPU_Type<string name, string typeMnemonic> : TypeDef<MXGPU_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def MXGPU_TensorMapType : MXGPU_Type<"TensorMap", "tensor_map"> {
  let summary = "a tensor in global memory and the box that one copy moves";
  let description = [{
    `box` is the shape of the box, outermost dimension first; `swizzle` is the
    permutation that the copy applies in shared memory. Reads outside the tensor
    return zeros.

    Elements of 4 and 6 bits are contiguous in global memory. With `padded` the
    copy spreads every 16 of them over 16 bytes of shared memory, as the tensor
    core reads them beside 8-bit operands (PTX ISA, cp.async.bulk.tensor:
    b4x16_p64, b6x16_p32); such boxes are 128 elements wide.

    Examples: `!mxgpu.tensor_map<128x128xf8E4M3FN, sw128>`,
    `!mxgpu.tensor_map<128x128xf4E2M1FN, sw128, padded>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$box,
    "::mlir::Type":$elementType,
    "::mx::mxgpu::Swizzle":$swizzle,
    "bool":$padded);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$box,
                     "::mlir::Type":$elementType,
                     "::mx::mxgpu::Swizzle":$swizzle,
                     CArg<"bool", "false">:$padded), [{
      return $_get($_ctxt, box, elementType, swizzle, padded);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Bytes of shared memory that one copy fills.
    int64_t getSizeInBytes() const;
  }];
}

def MXGPU_BufferType : MXGPU_Type<"Buffer", "buffer"> {
  let summary = "a buffer in shared or tensor memory";
  let description = [{
    Shape, element type and memory of a buffer. Values of this type are views of
    the buffers of a ring's stage. In a ring's type it is written without the
    dialect's prefix. `padded` means the same as for a tensor map: an element
    takes a byte on average.

    Operands of the tensor core are `rows x elements`, or
    `panels x rows x elements` if the rows are longer than the swizzle: panel i
    holds the i-th segment of each row.

    Example: `smem<128x128xf8E4M3FN, sw128>`, `smem<2x128x128xf8E4M3FN, sw128>`,
    `smem<128x256xf4E2M1FN, sw128>`, `smem<128x128xf4E2M1FN, sw128, padded>`,
    `tmem<128x256xf32>`.
  }];
  let parameters = (ins
    "::mx::mxgpu::Space":$space,
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    "::mx::mxgpu::Swizzle":$swizzle,
    "bool":$padded);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "::mx::mxgpu::Space":$space,
                     "::llvm::ArrayRef<int64_t>":$shape,
                     "::mlir::Type":$elementType,
                     "::mx::mxgpu::Swizzle":$swizzle,
                     CArg<"bool", "false">:$padded), [{
      return $_get($_ctxt, space, shape, elementType, swizzle, padded);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Bytes of memory that the buffer takes.
    int64_t getSizeInBytes() const;
    /// Bytes that a copy which fills it counts at a barrier: those of the
    /// elements, without the gaps of `padded`.
    int64_t getTransactionBytes() const;
    static ::mlir::FailureOr<BufferType> parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def MXGPU_RingType : MXGPU_Type<"Ring", "ring"> {
  let summary = "stages that one role fills and another empties";
  let description = [{
    A ring of `stages`. A stage holds named buffers. `producer` and `consumer`
    say how a stage is filled and how it is emptied. This determines the
    barriers, arrivals, byte counts and fences that the lowering creates:

    - `bulk_copy`: a stage is full when as many bytes of bulk copies have arrived
      as its barrier expects (PTX ISA, mbarrier, complete-tx);
    - `mma_commit`: a stage is full or empty when all matrix instructions that
      the role has issued have completed; they then arrive at its barrier (PTX
      ISA, tcgen05.commit);
    - `threads(n)`: n threads of a role, or of several roles that all consume
      each stage; one lane of each warp arrives, or every thread if both sides
      are threads;
    - `async_threads(n)`: as `threads(n)`, of which the instructions that read
      the stage run on by themselves (PTX ISA, async proxy) until the threads
      have waited for them. One lane of each warp arrives, and threads that fill
      the stage make their writes visible to such instructions first;
    - `bulk_store`: a stage is empty when bulk stores have read it, which the
      thread that started them waits for (PTX ISA, bulk async-group);
    - `clc`: cluster launch control, which answers with a work tile;
    - `atomic_counter`: a thread that takes the numbers of work tiles from an
      atomic counter;
    - `groups`: a warp that finds the work tiles of expert groups;
    - `roles`: every role that visits the work tiles.

    `scope` says who shares a stage. The stages of a CTA `pair` are at the same
    address in both CTAs: both fill them, and the leader's tensor core empties
    both; or with `async_threads` each CTA empties its own, which loads of both fill.
    With `warp`, each warp has its own stages, which no other warp
    accesses.

    Two stages in tensor memory can share `overlap` columns: the last ones of
    the first stage are the first ones of the second. A stage is then released
    when these columns have been read; the rest is read after that.

    Example: `!mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sfa:
    smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit, scope = pair>`.
  }];
  let parameters = (ins
    "int64_t":$stages,
    ArrayRefParameter<"::mlir::StringAttr">:$names,
    ArrayRefParameter<"::mx::mxgpu::BufferType">:$buffers,
    "::mx::mxgpu::AsyncKind":$producer, "int64_t":$producerThreads,
    "::mx::mxgpu::AsyncKind":$consumer, "int64_t":$consumerThreads,
    "::mx::mxgpu::Scope":$scope, "int64_t":$overlap);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Index of a buffer, or -1.
    int64_t getFieldIndex(::llvm::StringRef name) const {
      auto field = ::llvm::find_if(
          getNames(), [&](::mlir::StringAttr own) { return own == name; });
      return field == getNames().end() ? -1 : field - getNames().begin();
    }
    /// The memory of the stages, which is the same for all buffers.
    ::mx::mxgpu::Space getSpace() const { return getBuffers()[0].getSpace(); }
    /// Returns the ring with `stages` stages that share `overlap` columns.
    RingType withStages(int64_t stages, int64_t overlap = 0) const;
    /// Bytes of shared memory that one stage takes.
    int64_t getStageBytes() const;
    /// Whether threads fill the stages for bulk stores. No barrier in memory
    /// guards them: the thread that starts the stores knows when they have
    /// read.
    bool isStaging() const { return getConsumer() == AsyncKind::BulkStore; }
    /// Whether threads of roles release the stages when they are done with
    /// them, themselves or by instructions that they wait for.
    bool isEmptiedByThreads() const {
      return hasThreads(getConsumer());
    }
    /// Whether the stages are those of a CTA pair.
    bool isPair() const { return getScope() == Scope::Pair; }
    /// Whether each CTA of the pair has stages of its own, of which loads of
    /// the other fill a box: it hears of its own as full, and both must hear
    /// of all as empty. Else the leader hears of both as full.
    bool isFilledByBoth() const {
      return isPair() && getConsumer() == AsyncKind::AsyncThreads;
    }
    /// Bytes that the copies which fill a stage count at its barrier.
    int64_t getTransactionBytes() const;
  }];
}

def MXGPU_StageType : MXGPU_Type<"Stage", "stage"> {
  let summary = "one stage of a ring";
  let description = [{
    The result of `producer_acquire` or `consumer_wait`: a linear token, the
    right to fill or empty the stage. It is committed or released exactly once.
    In `mxbar` it is a place in the ring, which loops carry.
  }];
  let parameters = (ins "::mx::mxgpu::RingType":$ring);
  let assemblyFormat = "`<` qualified($ring) `>`";
}

def MXGPU_TileSchedulerType : MXGPU_Type<"TileScheduler", "tile_scheduler"> {
  let summary = "the source of a kernel's work tiles";
}

def MXGPU_ScalesType : MXGPU_Type<"Scales", "scales"> {
  let summary = "scale factors of a tile in tensor memory";
  let description = [{
    Scales of `rows` rows, as `mxgpu.mma` reads them: 4 * `tiles` for each row,
    f8E8M0FNU unless another type is given.

    Example: `!mxgpu.scales<128>`, `!mxgpu.scales<256x2>`,
    `!mxgpu.scales<128x4, f8E4M3FN>`.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$tiles,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns of tensor memory: 4 for each 128 rows of a tile.
    int64_t getColumns() const {
      return getRows() / ::mx::target::kScaleRowsPerGroup *
             ::mx::target::kScaleColumnsPerGroup * getTiles();
    }
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUTYPES_TD
