//===- MXGPUMma.td - Matrix instructions and fragments -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An attribute says which instruction multiplies tiles; the interface is all
// that passes know of it. A new instruction is an attribute here, a file in
// lib/Dialect/MXGPU/IR/Mma, and a row in lib/Target/TargetInfo.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUMMA_TD
#define MX_DIALECT_MXGPU_IR_MXGPUMMA_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/Interfaces.td"
include "mx/Dialect/MXGPU/IR/MXGPUEnums.td"

def MXGPU_FragmentLayoutAttr : AttrDef<MXGPU_Dialect, "FragmentLayout"> {
  let mnemonic = "fragment_layout";
  let summary = "which elements of a matrix each thread holds";
  let description = [{
    Thread t of a role and register v of it hold one element. The number of the
    thread, and that of the register, is a mixed-radix number whose digits are
    called modes (CuTe's thread-value layouts, with the coordinates written
    out). They are listed lowest first, each with a size and a step of rows or
    of columns: the element's row is the sum over all modes of the mode's value
    times its step of rows, and its column likewise.

    What a thread holds of one row is split into runs of adjacent columns, the
    same in each of its rows. Threads that differ in a mode whose step is 0 hold
    the same elements: an operand that several warps read.

    Examples: a row for each of 128 threads; the accumulator of wgmma with 16
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
    /// The layout in which tcgen05.ld.32x32b gives `columns` columns: a row for
    /// each of 128 threads.
    static FragmentLayoutAttr getRowPerThread(::mlir::MLIRContext *context,
                                              int64_t columns);
    /// A tile as `threads` threads read it: a row each, or several, or a slice
    /// of one where there are fewer rows.
    static FragmentLayoutAttr getRowsOfThreads(::mlir::MLIRContext *context,
                                               int64_t threads,
                                               int64_t tileRows,
                                               int64_t tileColumns);
    /// The layout of these modes without those of size 1, which count nothing.
    static FragmentLayoutAttr getWithoutUnits(
        ::mlir::MLIRContext *context,
        ::llvm::ArrayRef<::mx::mxgpu::FragmentMode> threads,
        ::llvm::ArrayRef<::mx::mxgpu::FragmentMode> values);

    int64_t getNumThreads() const;
    /// Elements that a thread holds.
    int64_t getNumValues() const;
    /// Rows and columns of the matrix.
    ::std::pair<int64_t, int64_t> getShape() const;
    /// Rows of the thread's elements, counted from that of register 0.
    ::llvm::SmallVector<int64_t> getRowOffsets() const;
    /// The adjacent columns of one of its rows, in ascending order, counted
    /// from that of register 0.
    ::llvm::SmallVector<::mx::mxgpu::FragmentRun> getRuns() const;
    /// The blocks of so many columns that its columns touch, in ascending order,
    /// counted from that of register 0.
    ::llvm::SmallVector<int64_t> getBlocks(int64_t block) const;
    /// The register that holds column `column` of the thread's row number
    /// `row`, both counted as above.
    int64_t getRegister(int64_t row, int64_t column) const;
    /// Rows that a warp holds, if they are adjacent and the warps' rows follow
    /// each other; else 0.
    int64_t getWarpRows() const;
    /// The same layout of so many of the matrix's columns, as far as the last
    /// modes of the registers count them; null if they do not.
    FragmentLayoutAttr withColumns(int64_t columns) const;
    /// The number of the highest mode of the registers that counts rows and
    /// without which the layout is `slice`, with rows numbered anew.
    ::std::optional<unsigned> findRowMode(FragmentLayoutAttr slice) const;
    /// The fewest columns, from a multiple of them on, of which every thread
    /// has as many: what the threads' modes count.
    int64_t getSharedColumns() const;
    /// The layout in which each lane has the rows of 16 bytes that it names to
    /// ldmatrix, register by register, so that this layout is what it loads
    /// where an element takes `bits` bits; null if ldmatrix loads another.
    FragmentLayoutAttr getMatrixRows(int64_t bits) const;
  }];
}

def MXGPU_MmaAttrInterface : AttrInterface<"MmaAttrInterface"> {
  let cppNamespace = "::mx::mxgpu";
  let description = [{
    A matrix instruction: `mxgpu.mma` takes one, and nothing else in mxgpu knows
    which there are.
  }];
  let methods = [
    InterfaceMethod<[{
      Where A, B, their scales and the accumulator lie, how many threads issue
      it together, and how one learns that it is done. The operation is verified
      against this, and passes ask for nothing else.
    }], "::mx::target::MmaRoles", "getRoles">,
    InterfaceMethod<[{
      Rows and columns of the accumulator, of all CTAs that share an
      instruction, and elements of the reduction that one instruction
      multiplies.
    }], "::mx::mxgpu::MmaShape", "getMmaShape">,
    InterfaceMethod<[{
      The modes of the layout in which the threads of a role hold `columns`
      columns of the accumulator; none if it is in tensor memory.
    }], "::mx::mxgpu::FragmentModes", "getAccumulatorModes",
        (ins "int64_t":$columns),
        /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
      The modes of the layout in which the threads of a role hold an operand
      with `columns` elements, or scales, of the reduction, of type `element`;
      none if the instruction does not take the operand from registers, or not
      so many or such ones.
    }], "::mx::mxgpu::FragmentModes", "getOperandModes",
        (ins "::mx::mxgpu::MmaOperand":$operand, "::mlir::Type":$element,
             "int64_t":$columns),
        /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Empty if the chip has it, else why not.",
        "::std::string", "checkTarget",
        (ins "const ::mx::target::TargetInfo &":$target)>,
    InterfaceMethod<"Cycles that the tensor core takes for one.",
        "int64_t", "getCycles", (ins "const ::mx::target::Rates &":$rates)>,
    InterfaceMethod<[{
      Says at `op` what it does not multiply: types, shapes, and which of the
      operation's optional operands it knows. Operands lie where `getRoles` and
      `getOperandModes` say: that is verified before.
    }], "::llvm::LogicalResult", "verifyMma", (ins "::mx::mxgpu::MmaOp &":$op)>,
    InterfaceMethod<[{
      Emits the instructions that multiply a tile. Gives the accumulator where
      it is in registers, else null.
    }], "::mlir::Value", "emit",
        (ins "::mx::mxgpu::NVVMBuilder &":$builder, "::mx::mxgpu::MmaOp &":$op,
             "const ::mx::mxgpu::MmaOperands &":$operands)>
  ];
  let extraClassDeclaration = [{
    /// The type of `columns` columns of the accumulator, as elements of
    /// `element`; null if it is in tensor memory.
    ::mx::mxgpu::FragmentType getAccumulatorType(::mlir::Type element,
                                                 int64_t columns);
    /// The type of an operand in registers with `columns` elements, or scales,
    /// of the reduction; null if the instruction does not take it from there.
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
    One thread issues it, for its CTA or for both of a pair (`ctas = 2`), whose
    rows `m` counts. Operands lie in shared memory, scales and accumulators in
    tensor memory; a scale belongs to `block` elements (PTX ISA, tcgen05.mma).
    Kind f16, which multiplies bf16 and f16, has no scales: its block is 0.

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
    The four warps of a warpgroup issue it together and hold its accumulator in
    registers. There are no scales (PTX ISA, wgmma.mma_async). Several
    `warpgroups` of a role divide the `m` rows: each multiplies as many, which
    follow each other, in blocks of 64 with instructions of their own. With A in
    registers and several warpgroups, more than 128 columns are two instructions:
    ptxas allows one only as many registers as threads begin with.

    B lies in shared memory; A lies there too, or is a fragment. Thread 32 * w +
    4 * i + j of a warpgroup then holds of each block rows 16 * w + i and 8
    below it; of a row it holds, from each 32 bytes, the word at 4 * j and the
    one 16 bytes after it (PTX ISA, wgmma.mma_async, Register Fragments: A).

    Examples: `#mxgpu.wgmma<n = 128, k = 16>`,
    `#mxgpu.wgmma<m = 256, n = 128, k = 16, warpgroups = 2>`. The accumulator of
    the latter, and its A with 64 elements of the reduction:

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
    /// Blocks of 64 rows that each warpgroup multiplies.
    int64_t getBlocks() const;
  }];
}

def MXGPU_MmaSyncAttr
    : MXGPU_Mma<"MmaSync", "mma_sync",
                ["getAccumulatorModes", "getOperandModes"]> {
  let summary = "mma.sync";
  let description = [{
    Each warp of a role multiplies a share of the `m` rows and `n` columns, by
    instructions of 16 rows and 8 columns: `warps` divide the rows and
    `column_warps` the columns. Operands, accumulator and scales are fragments
    (PTX ISA, mma, Block scaling for mma.sync). Kind f16, which multiplies bf16,
    has no scales: its block is 0. Elements of 4 bits stay packed in registers,
    and with `mxf8f6f4` get a byte each where they are multiplied: those of even
    numbers are of the first half of an instruction's reduction, so that two
    shifts and two masks part them.

    A register of scales has those of four blocks. The instruction takes the
    scales of its elements from block `first_scale` of the fragments on, so that
    an `mxgpu.mma` may multiply a slice of what a fragment of scales is for;
    `extent` counts elements from block 0 on.

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
    /// Rows and columns of a warp.
    int64_t getWarpRows() const { return getM() / getWarps(); }
    int64_t getWarpColumns() const { return getN() / getColumnWarps(); }
    /// The same with the scales from another block on.
    MmaSyncAttr withFirstScale(int64_t scale) const;
  }];
}

def MXGPU_FragmentType : TypeDef<MXGPU_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "a matrix in the registers of a role's threads";
  let description = [{
    The layout says which thread holds which elements. Where a matrix
    instruction adds in registers, its accumulator is a value of this type.

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
    /// What a thread holds of one of its rows.
    ::mlir::VectorType getRowType() const;
    /// Elements of 4 and 6 bits, which LLVM has no types for, are words of so
    /// many; other types have registers of their own: 1.
    int64_t getElementsOfWord() const;
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUMMA_TD
