//===- MXGPUMma.td - Matrix instructions and fragments -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes select the instruction that multiplies tiles. Passes use only
// their interface. A new instruction needs an attribute here, a file in
// lib/Dialect/MXGPU/IR/Mma, and a row in lib/Target/TargetInfo.cpp.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUMMA_TD
#define MX_DIALECT_MXGPU_IR_MXGPUMMA_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/Interfaces.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

def MXGPU_FragmentLayoutAttr : AttrDef<MXGPU_Dialect, "FragmentLayout"> {
  let mnemonic = "fragment_layout";
  let summary = "distribution of a matrix over threads and registers";
  let description = [{
    Maps register v of thread t to an element of the matrix. The thread number
    and the register number are mixed-radix numbers, and their digits are called
    modes, as in CuTe's thread-value layouts. Modes are listed lowest first,
    each with a size and a step in rows or columns. To compute the row of the
    element, multiply each digit by the row step of its mode and add the
    products. The column is computed likewise.

    In each of its rows, a thread holds runs of adjacent columns. These runs are
    the same in all rows of the thread. A thread mode with step 0 replicates
    elements, for operands that several warps read.

    Examples: one row for each of 128 threads, and the wgmma accumulator with 16
    columns (PTX ISA, wgmma.mma_async, Register Fragments: D).

    ```mlir
    #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>
    #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
                           values = [2: 1 column, 2: 8 rows, 2: 8 columns]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mx::mxgpu::FragmentMode">:$threads,
    ArrayRefParameter<"::mx::mxgpu::FragmentMode">:$values);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the layout of `columns` columns read by tcgen05.ld.32x32b: one
    /// row for each of 128 threads.
    static FragmentLayoutAttr getRowPerThread(::mlir::MLIRContext *context,
                                              int64_t columns);
    /// Returns the layout of a tile divided over `threads` threads. Each thread
    /// holds one or several rows, or a slice of a row if there are fewer rows
    /// than threads.
    static FragmentLayoutAttr getRowsOfThreads(::mlir::MLIRContext *context,
                                               int64_t threads,
                                               int64_t tileRows,
                                               int64_t tileColumns);
    /// Returns the layout with these modes, without modes of size 1.
    static FragmentLayoutAttr getWithoutUnits(
        ::mlir::MLIRContext *context,
        ::llvm::ArrayRef<::mx::mxgpu::FragmentMode> threads,
        ::llvm::ArrayRef<::mx::mxgpu::FragmentMode> values);

    int64_t getNumThreads() const;
    /// Returns the number of elements per thread.
    int64_t getNumValues() const;
    ::std::pair<int64_t, int64_t> getShape() const;
    /// Returns the thread's rows, relative to the row of register 0.
    ::llvm::SmallVector<int64_t> getRowOffsets() const;
    /// Returns the runs of adjacent columns in a thread's row, in ascending
    /// order and relative to the column of register 0.
    ::llvm::SmallVector<::mx::mxgpu::FragmentRun> getRuns() const;
    /// Returns the blocks of `block` columns that the thread's columns touch,
    /// in ascending order and relative to the column of register 0.
    ::llvm::SmallVector<int64_t> getBlocks(int64_t block) const;
    /// Returns the register of column `column` in the thread's `row`-th row,
    /// both counted as in getRowOffsets and getRuns.
    int64_t getRegister(int64_t row, int64_t column) const;
    /// Returns the number of rows per warp, or 0 unless they are adjacent and
    /// the rows of successive warps follow each other.
    int64_t getWarpRows() const;
    /// Returns the layout restricted to the first `columns` columns, or null
    /// unless the last register modes count columns.
    FragmentLayoutAttr withColumns(int64_t columns) const;
    /// Returns the index of the highest row mode among the register modes whose
    /// removal, with rows renumbered, results in `slice`.
    ::std::optional<unsigned> findRowMode(FragmentLayoutAttr slice) const;
    /// Returns the column count of the smallest slice of which each thread
    /// holds an equal part. Slices start at multiples of their size.
    int64_t getSharedColumns() const;
    /// Returns the layout of the 16-byte rows that each lane addresses for
    /// ldmatrix, register by register, or null if ldmatrix does not load this
    /// layout for `bits`-bit elements.
    FragmentLayoutAttr getMatrixRows(int64_t bits) const;
  }];
}

def MXGPU_MmaAttrInterface : AttrInterface<"MmaAttrInterface"> {
  let cppNamespace = "::mx::mxgpu";
  let description = [{
    A matrix instruction, as the attribute of `mxgpu.mma`. The rest of mxgpu is
    independent of the available instructions.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the locations of A, B, their scales and the accumulator, the
      number of threads that issue the instruction together, and the form of
      completion. The verifier of `mxgpu.mma` and passes query nothing else.
    }], "::mx::target::MmaRoles", "getRoles">,
    InterfaceMethod<[{
      Rows and columns of the accumulator, over all CTAs that share an
      instruction, and reduction elements of one instruction.
    }], "::mx::mxgpu::MmaShape", "getMmaShape">,
    InterfaceMethod<[{
      Returns the layout modes of `columns` columns of the accumulator, or none
      for an accumulator in tensor memory.
    }], "::mx::mxgpu::FragmentModes", "getAccumulatorModes",
        (ins "int64_t":$columns),
        /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
      Returns the layout modes of a register operand with `columns` reduction
      elements, or scales, of type `element`. Returns none if the instruction
      does not support such an operand in registers.
    }], "::mx::mxgpu::FragmentModes", "getOperandModes",
        (ins "::mx::mxgpu::MmaOperand":$operand, "::mlir::Type":$element,
             "int64_t":$columns),
        /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Returns an error message unless the chip is supported.",
        "::std::string", "checkTarget",
        (ins "const ::mx::target::TargetInfo &":$target)>,
    InterfaceMethod<"Tensor core cycles per instruction.",
        "int64_t", "getCycles", (ins "const ::mx::target::Rates &":$rates)>,
    InterfaceMethod<[{
      Reports unsupported types, shapes and optional operands at `op`. Operand
      locations are already verified against `getRoles` and `getOperandModes`.
    }], "::llvm::LogicalResult", "verifyMma", (ins "::mx::mxgpu::MmaOp &":$op)>,
    InterfaceMethod<[{
      Emits the instructions for a tile. Returns the accumulator if it is in
      registers, or null.
    }], "::mlir::Value", "emit",
        (ins "::mx::mxgpu::NVVMBuilder &":$builder, "::mx::mxgpu::MmaOp &":$op,
             "const ::mx::mxgpu::MmaOperands &":$operands)>
  ];
  let extraClassDeclaration = [{
    /// Returns the type of `columns` columns of the accumulator with elements
    /// of type `element`, or null for tensor memory.
    ::mx::mxgpu::FragmentType getAccumulatorType(::mlir::Type element,
                                                 int64_t columns);
    /// Returns the type of a register operand with `columns` reduction elements
    /// or scales. Returns null if the operand is not read from registers.
    ::mx::mxgpu::FragmentType getOperandType(::mx::mxgpu::MmaOperand operand,
                                             ::mlir::Type element,
                                             int64_t columns);
  }];
}

class MXGPU_Mma<string name, string attrMnemonic,
                list<string> optional = []> : AttrDef<MXGPU_Dialect, name,
    [DeclareAttrInterfaceMethods<MXGPU_MmaAttrInterface, optional>]> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def MXGPU_MmaKind : MXGPU_I32Enum<"MmaKind",
    "kinds of tcgen05.mma and mma.sync (PTX ISA, .kind)", [
      I32EnumAttrCase<"F16", 0, "f16">,
      I32EnumAttrCase<"MXF8F6F4", 4, "mxf8f6f4">,
      I32EnumAttrCase<"MXF4", 5, "mxf4">,
      I32EnumAttrCase<"MXF4NVF4", 6, "mxf4nvf4">]>;

def MXGPU_Tcgen05MmaAttr : MXGPU_Mma<"Tcgen05Mma", "tcgen05_mma"> {
  let summary = "tcgen05.mma";
  let description = [{
    One thread issues the instruction for its CTA or, with `ctas = 2`, for a CTA
    pair. Then `m` counts the rows of both CTAs. Operands are in shared memory,
    scales and accumulators in tensor memory. A scale covers `block` elements
    (PTX ISA, tcgen05.mma). Kind f16, for bf16 and f16 operands, is unscaled,
    with block 0.

    Examples: `#mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256>`,
    `#mxgpu.tcgen05_mma<mxf4nvf4, m = 256, n = 128, ctas = 2, block = 16>`,
    `#mxgpu.tcgen05_mma<f16, m = 128, n = 256>`.
  }];
  let parameters = (ins
    EnumParameter<MXGPU_MmaKind>:$kind, "int64_t":$m, "int64_t":$n,
    DefaultValuedParameter<"int64_t", "1">:$ctas,
    DefaultValuedParameter<"int64_t", "32">:$block);
}

def MXGPU_WgmmaAttr
    : MXGPU_Mma<"Wgmma", "wgmma", ["getAccumulatorModes", "getOperandModes"]> {
  let summary = "wgmma.mma_async";
  let description = [{
    The four warps of a warpgroup issue the instruction together and hold the
    accumulator in registers. Operands are unscaled (PTX ISA, wgmma.mma_async).
    Several `warpgroups` of a role divide the `m` rows evenly, in order, with
    separate instructions for each block of 64 rows. With A in registers and
    several warpgroups, more than 128 columns are split into two instructions,
    because ptxas limits an instruction to the registers available at launch.

    B is in shared memory; A is in shared memory or a fragment. Let `32 * w + 4
    * i + j` be the number of a thread in its warpgroup. In a fragment, this
    thread holds rows `16 * w + i` and `16 * w + i + 8` of each block. From each
    32 bytes of a row the thread holds the word at byte `4 * j` and the word 16
    bytes later (PTX ISA, wgmma.mma_async, Register Fragments: A).

    Examples: `#mxgpu.wgmma<n = 128, k = 16>`, `#mxgpu.wgmma<m = 256, n = 128, k
    = 16, warpgroups = 2>`. The second attribute implies the first layout below
    for the accumulator, and the second layout for 64 reduction elements of A:

    ```mlir
    #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows],
                           values = [2: 1 column, 2: 8 rows, 2: 64 rows, 16: 8 columns]>
    #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows],
                           values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns, 2: 64 rows]>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "64">:$m,
    "int64_t":$n, "int64_t":$k,
    DefaultValuedParameter<"int64_t", "1">:$warpgroups);
  let extraClassDeclaration = [{
    /// Returns the number of 64-row blocks per warpgroup.
    int64_t getBlocks() const;
  }];
}

def MXGPU_MmaSyncAttr
    : MXGPU_Mma<"MmaSync", "mma_sync",
                ["getAccumulatorModes", "getOperandModes"]> {
  let summary = "mma.sync";
  let description = [{
    Each warp of a role computes a share of the `m` rows and `n` columns, with
    instructions of 16 rows and 8 columns. `warps` warps divide the rows, and
    `column_warps` warps divide the columns. Operands, accumulator and scales
    are fragments (PTX ISA, mma, Block scaling for mma.sync). Kind f16, for bf16
    operands, is unscaled, with block 0. 4-bit elements stay packed in
    registers, and are expanded to bytes for `mxf8f6f4` just before the
    instruction. Even elements form the first half of an instruction's
    reduction, so two shifts and two masks unpack a word.

    A register contains the scales of four blocks. The instruction reads scales
    starting at block `first_scale` of the fragments, so an `mxgpu.mma` can
    multiply a slice of the elements that a scale fragment covers. `extent`
    counts elements from block 0.

    Examples: `#mxgpu.mma_sync<mxf8f6f4, m = 128, n = 128, warps =
    4>`, `#mxgpu.mma_sync<mxf4nvf4, m = 32, n = 256, column_warps =
    4, block = 16, first_scale = 4>`.
  }];
  let parameters = (ins
    EnumParameter<MXGPU_MmaKind>:$kind, "int64_t":$m, "int64_t":$n,
    DefaultValuedParameter<"int64_t", "1">:$warps,
    DefaultValuedParameter<"int64_t", "1">:$column_warps,
    DefaultValuedParameter<"int64_t", "32">:$block,
    DefaultValuedParameter<"int64_t", "0">:$first_scale);
  let extraClassDeclaration = [{
    int64_t getWarpRows() const { return getM() / getWarps(); }
    int64_t getWarpColumns() const { return getN() / getColumnWarps(); }
    /// Returns a copy that reads scales starting at block `scale`.
    MmaSyncAttr withFirstScale(int64_t scale) const;
  }];
}

def MXGPU_FragmentType : TypeDef<MXGPU_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "a matrix in the registers of a role's threads";
  let description = [{
    The layout maps registers of threads to elements. If an instruction adds in
    registers, its accumulator is a fragment.

    Example: `!mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128:
    1 row], values = [32: 1 column]>>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "::mx::mxgpu::FragmentLayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::mlir::Type":$elementType,
        "::mx::mxgpu::FragmentLayoutAttr":$layout), [{
      auto [rows, columns] = layout.getShape();
      return $_get(layout.getContext(), ::llvm::ArrayRef<int64_t>{rows, columns},
                   elementType, layout);
    }]>
  ];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Returns the type of a thread's share of a row.
    ::mlir::VectorType getRowType() const;
    /// Returns the number of elements per register. LLVM lacks vectors of 4-
    /// and 6-bit types, so a register is a word of packed elements. For other
    /// types the number is 1.
    int64_t getElementsOfWord() const;
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUMMA_TD
