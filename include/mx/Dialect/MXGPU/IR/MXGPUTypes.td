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
  let summary = "tensor map with the box that each copy moves";
  let description = [{
    `box` is the shape of the box, outermost dimension first. `swizzle` is the
    permutation applied in shared memory. Reads outside the tensor return zeros.

    4- and 6-bit elements are contiguous in global memory. With `padded` the
    copy spreads every 16 of these elements over 16 bytes of shared memory, the
    form that the tensor core combines with 8-bit operands (PTX ISA,
    cp.async.bulk.tensor: b4x16_p64, b6x16_p32). Padded boxes are 128 elements
    wide.

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
    int64_t getSizeInBytes() const;
  }];
}

def MXGPU_BufferType : MXGPU_Type<"Buffer", "buffer"> {
  let summary = "buffer in shared or tensor memory";
  let description = [{
    A view of a buffer in a stage of a ring. A ring's type lists its buffers
    without the dialect prefix. As in a tensor map, a `padded` element occupies
    one byte on average.

    The shape of a tensor core operand is `rows x elements`. If a row is longer
    than the swizzle, the shape is `panels x rows x elements`. Panel i holds the
    i-th segment of each row.

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
    /// Returns the size of the buffer, including the gaps of `padded`.
    int64_t getSizeInBytes() const;
    /// Returns the bytes that a copy into the buffer counts at a barrier,
    /// without the gaps of `padded` buffers.
    int64_t getTransactionBytes() const;
    static ::mlir::FailureOr<BufferType> parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def MXGPU_RingType : MXGPU_Type<"Ring", "ring"> {
  let summary = "circular queue of stages between two roles";
  let description = [{
    A ring consists of `stages` stages, each with the same named buffers.
    `producer` and `consumer` are the mechanisms that fill and empty a stage.
    They determine the barriers, arrivals, byte counts and fences that the
    lowering creates:

    - `bulk_copy`: a stage is full once the bulk copies have delivered the byte
      count expected by its barrier (PTX ISA, mbarrier, complete-tx);
    - `mma_commit`: a stage is full or empty once all matrix instructions issued
      by the role have completed, which signals its barrier (PTX ISA,
      tcgen05.commit);
    - `threads(n)`: n threads of a single role, or of several roles that all
      consume each stage. One lane of each warp arrives. If producer and
      consumer are both `threads`, every thread arrives;
    - `async_threads(n)`: n threads whose asynchronous instructions read the
      stage (PTX ISA, async proxy). One lane of each warp arrives after the wait
      for the instructions. Before threads commit a stage that they fill, they
      make their writes visible to the async proxy;
    - `bulk_store`: a stage is empty once bulk stores have read it; the issuing
      thread waits for them (PTX ISA, bulk async-group);
    - `clc`: cluster launch control, which returns a work tile;
    - `atomic_counter`: a thread that draws work tiles from an atomic counter;
    - `groups`: a warp that computes the work tiles of expert groups;
    - `roles`: every role that visits the work tiles.

    `scope` is the set of threads that share a stage. With `pair`, a stage is at
    the same address in both CTAs of a pair and both CTAs fill it. The tensor
    core of the leader empties both copies; with `async_threads` each CTA
    empties its own copy, which loads of both CTAs fill. With `warp`, each warp
    owns private stages.

    Two stages in tensor memory can share `overlap` columns: the last columns of
    the first stage are the first columns of the second. Such a stage is
    released once its shared columns have been read, before its other columns
    are read.

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
    /// Returns the index of a buffer, or -1.
    int64_t getFieldIndex(::llvm::StringRef name) const {
      auto field = ::llvm::find_if(
          getNames(), [&](::mlir::StringAttr own) { return own == name; });
      return field == getNames().end() ? -1 : field - getNames().begin();
    }
    /// Returns the memory space, which all buffers of a ring share.
    ::mx::mxgpu::Space getSpace() const { return getBuffers()[0].getSpace(); }
    /// Returns the type with `stages` stages and `overlap` shared columns.
    RingType withStages(int64_t stages, int64_t overlap = 0) const;
    int64_t getStageBytes() const;
    /// Returns true if threads fill the stages for bulk stores. The thread that
    /// issues the stores waits, without a barrier, until the stores have read
    /// the stage.
    bool isStaging() const { return getConsumer() == AsyncKind::BulkStore; }
    /// Returns true if threads release the stages, directly or after waiting
    /// for asynchronous instructions.
    bool isEmptiedByThreads() const {
      return hasThreads(getConsumer());
    }
    bool isPair() const { return getScope() == Scope::Pair; }
    /// Returns true if each CTA of the pair owns its stages, while the loads of
    /// both CTAs fill them. The full barrier of each CTA then covers its own
    /// stage, and the empty barriers cover both. Otherwise the leader's full
    /// barrier covers both stages.
    bool isFilledByBoth() const {
      return isPair() && getConsumer() == AsyncKind::AsyncThreads;
    }
    /// Returns the bytes that copies into a stage count at its barrier.
    int64_t getTransactionBytes() const;
  }];
}

def MXGPU_StageType : MXGPU_Type<"Stage", "stage"> {
  let summary = "token for a stage of a ring";
  let description = [{
    Result of `producer_acquire` or `consumer_wait`: a linear token that grants
    the right to fill or empty the stage. Each token is committed or released
    exactly once. In `mxbar` the token becomes a position in the ring, carried
    through loops.
  }];
  let parameters = (ins "::mx::mxgpu::RingType":$ring);
  let assemblyFormat = "`<` qualified($ring) `>`";
}

def MXGPU_TileSchedulerType : MXGPU_Type<"TileScheduler", "tile_scheduler"> {
  let summary = "source of a kernel's work tiles";
}

def MXGPU_ScalesType : MXGPU_Type<"Scales", "scales"> {
  let summary = "scale factors of a tile in tensor memory";
  let description = [{
    Scales of `rows` rows in the layout that `mxgpu.mma` reads: 4 * `tiles`
    scales for each row. The element type defaults to f8E8M0FNU.

    Example: `!mxgpu.scales<128>`, `!mxgpu.scales<256x2>`,
    `!mxgpu.scales<128x4, f8E4M3FN>`.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$tiles,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the columns of tensor memory: 4 for each 128 rows of a tile.
    int64_t getColumns() const {
      return getRows() / ::mx::target::kScaleRowsPerGroup *
             ::mx::target::kScaleColumnsPerGroup * getTiles();
    }
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUTYPES_TD
