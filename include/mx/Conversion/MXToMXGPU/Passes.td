//===- Passes.td - Build kernels for mx operations ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_PASSES
#define MX_CONVERSION_MXTOMXGPU_PASSES

include "mlir/Pass/PassBase.td"

def MX_ChipOption
    : Option<"chip", "chip", "std::string", /*default=*/"::mx::target::kDefaultChip",
             "GPU to compile for, e.g. sm_100a (the default)">;

def MXSelectSchedule
    : Pass<"mx-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose how each matmul runs";
  let description = [{
    Gives each `mx.matmul` that has no `mxgpu.schedule` the legal schedule that
    an analytic model of the chip finds fastest for its shape
    (docs/design/ScheduleModel.md). Where types leave sizes open it gets
    `mxgpu.schedules` instead, up to `max-schedules` schedules and the ranges
    of sizes that each is for, unless one suits all sizes. An existing schedule is kept;
    if it does not give the number of stages, it gets as many as fit into shared
    memory.

    `tuned` names a table of schedules that `mx-compile --tune` measured
    (docs/guide/Tuning.md). A matmul that has an entry there, for this chip, GPU and
    build of the compiler, takes its schedule, if no rule forbids it.

    `explain`, or `--mx-explain` in mx-opt and mx-run, prints the candidates
    with their modelled terms, why the second one lost, and the memory map.
  }];
  let options = [
    MX_ChipOption,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Print the choice, the memory map and the reason to stderr">,
    Option<"maxSchedules", "max-schedules", "int64_t", /*default=*/"::mx::target::kMaxSchedules",
           "Most schedules of a matmul of unknown sizes; with 1 a row's sums do "
           "not depend on how many rows there are">,
    Option<"tuned", "tuned", "std::string", /*default=*/"",
           "Table of measured schedules, which come before the model's">,
    Option<"tunedGpu", "tuned-gpu", "std::string", /*default=*/"",
           "The GPU whose entries are taken; by default the only one that is "
           "there for the chip">
  ];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXExpandSchedules : Pass<"mx-expand-schedules", "::mlir::ModuleOp"> {
  let summary = "Choose by the sizes of a call where there are several schedules";
  let description = [{
    A matmul with `mxgpu.schedules` becomes an `scf.index_switch` with a region
    for each schedule, and in it the matmul with that schedule. The host, which
    knows the sizes when it is called, takes the schedule of the first case that
    they fit. Several cases may have the same schedule.

    ```mlir
    %y = mx.matmul ins(%a, %as, %b, %bs : ...) outs(%init : ...) {mxgpu.schedules = [
        #mxgpu.schedule_case<max_m = 64, schedule = #few>,
        #mxgpu.schedule_case<max_m = 512, schedule = #many>,
        #mxgpu.schedule_case<max_m = 640, schedule = #few>,
        #mxgpu.schedule_case<schedule = #many>]}
    ```

    becomes

    ```mlir
    %m = tensor.dim %a, %c0 : tensor<?x512xf8E4M3FN>
    %0 = arith.cmpi sle, %m, %c640 : index
    %1 = arith.select %0, %c0, %c1 : index
    %2 = arith.cmpi sle, %m, %c512 : index
    %3 = arith.select %2, %c1, %1 : index
    %4 = arith.cmpi sle, %m, %c64 : index
    %schedule = arith.select %4, %c0, %3 : index
    %y = scf.index_switch %schedule -> tensor<?x256xbf16>
    case 0 {
      %few = mx.matmul ins(%a, %as, %b, %bs : ...) outs(%init : ...) {mxgpu.schedule = #few}
      scf.yield %few : tensor<?x256xbf16>
    }
    default {
      %many = mx.matmul ins(%a, %as, %b, %bs : ...) outs(%init : ...) {mxgpu.schedule = #many}
      scf.yield %many : tensor<?x256xbf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def MXSelectQuantizeSchedule
    : Pass<"mx-select-quantize-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose how each quantizer runs";
  let description = [{
    Gives each `mx.fused_quantize` and each `mx.dequantize` that has no
    `mxgpu.quantize_schedule` one from a table (docs/reference/Quantize.md). It depends on
    what is written, so that `mx-fuse-fake-quantize` runs before.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXDequantizeOperands
    : Pass<"mx-dequantize-operands", "::mlir::ModuleOp"> {
  let summary = "Dequantize operands to memory where the schedule says so";
  let description = [{
    An `mx.matmul` or `mx.grouped_matmul` whose `mxgpu.schedule` has a
    `workspace` of `a`, `b` or `ab` becomes an `mx.dequantize` to bf16 of each of
    these operands, and the matmul of the numbers with the rest of the
    schedule. Layouts must be shapes already (`mx-materialize-layouts`).

    Operands that expert groups divide have those of the matmul, by rows or as a
    ragged reduction whose segments stay where they are (`padded`). What no group
    has is not dequantized.

    The numbers, and so the results, are those of the kernels that dequantize
    themselves. Chips whose tensor core multiplies by scales refuse it.

    Example:

    ```mlir
    %y = mx.matmul ins(%a, %as, %b, %bs : ...) outs(%init : ...)
        {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64], workspace = a>}
    ```

    becomes

    ```mlir
    %x = mx.dequantize ins(%a, %as : ...) outs(%empty : tensor<256x512xbf16>)
        -> tensor<256x512xbf16>
    %y = mx.matmul ins(%x, %b, %bs : ...) outs(%init : ...)
        {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64]>}
    ```
  }];
  let options = [MX_ChipOption];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mx::MXDialect"];
}

def MXLinalgToLoops
    : Pass<"mx-linalg-to-loops", "::mlir::ModuleOp"> {
  let summary = "Turn what no other kernel computes into parallel loops";
  let description = [{
    A `linalg` operation on memrefs that `convert-mx-to-mxgpu` has no kernel for
    becomes an `scf.parallel` over its parallel loops that every result has an
    index for; its other loops are `scf.for` inside, in their order, and carry
    the results. A `memref.copy` of a slice of an array becomes such loops too,
    and a `memref.store` one of a single iteration. The attribute
    `mxgpu.simple_kernel` names the kernel that `mx-loops-to-kernels` makes.

    A remark says of each which it is, and why it is not part of another kernel
    (docs/reference/Fusion.md). Sizes are checked at run time as on the CPU path.

    Example:

    ```mlir
    scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) {
      %a = memref.load %x[%j, %i] : memref<?x?xf32>
      memref.store %a, %y[%i, %j] : memref<?x?xf32>
    } {mxgpu.simple_kernel = "linalg_transpose"}
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::index::IndexDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXLoopsToKernels
    : Pass<"mx-loops-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Put marked parallel loops into kernels";
  let description = [{
    Each `scf.parallel` with the attribute `mxgpu.simple_kernel` becomes a
    launch of a kernel with one thread for each iteration. Values from outside
    become arguments of the kernel; bits (`i1`) are given as bytes.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mx::mxgpu::MXGPUDialect"];
}

def ConvertMXToMXGPU
    : Pass<"convert-mx-to-mxgpu", "::mlir::ModuleOp"> {
  let summary = "Replace mx operations on memrefs with kernels and launches";
  let description = [{
    Memrefs are device memory. Each operation becomes a launch of a kernel in
    the module's `gpu.module`, preceded by checks of dynamic shapes that its
    verifier could not do.

    Supported: `mx.quantize`, `mx.dequantize`, `mx.relayout` and
    `mx.pack_operand` (docs/reference/Quantize.md has the table); on chips with tcgen05, `mx.matmul` of all operands with
    scales in `sf_128x4` tiles (docs/design/Matmul.md); `linalg.fill` with zeros, and
    `linalg` operations that reduce rows of matrices (docs/reference/Fusion.md).
    Anything else is an error that says what is supported: `mx-linalg-to-loops`
    and `mx-loops-to-kernels` run before and take what they can.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXSinkScalars : Pass<"mx-sink-scalars", "::mlir::ModuleOp"> {
  let summary = "Let kernels compute numbers that follow from device memory";
  let description = [{
    Where a launch is given an integer or a float that the host computes from
    elements of arrays, the kernel is given the arrays and computes it before
    anything else: the host need not wait for the device.

    ```mlir
    %amax = memref.load %a[] : memref<f32>
    %g = arith.divf %c, %amax : f32
    mxgpu.launch @kernels::@quantize grid(%n) args(%x, %q, %g : ...)
    ```

    becomes

    ```mlir
    mxgpu.launch @kernels::@quantize grid(%n) args(%x, %q, %a : ...)
    ```

    A number stays with the host if its array may be written between the load
    and the launch, or by the kernel; if they are not in one block; and if it is
    an `index`, a size. A kernel that may start before those before it have
    ended reads after `mxgpu.wait_dependencies`. Where a number stays, and where the host itself needs a number, a launch plan waits
    and reads it (`host-reads`), and other host code is refused.
  }];
  let options = [
    Option<"hostReads", "host-reads", "bool", /*default=*/"false",
           "The host can read numbers from device memory, as a launch plan does">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXStoreAsBytes : Pass<"mx-store-as-bytes", "::mlir::ModuleOp"> {
  let summary = "Store device arrays of f4 and f6 elements as bytes";
  let description = [{
    Memrefs of `f4E2M1FN` become `i8` with two elements, the lower one in the
    low nibble, and half as many in the last dimension; those of `f6E3M2FN` and
    `f6E2M3FN` become one `i8` each, in function signatures too: the same bytes
    as in `convert-mx-to-cpu`. Those of `i1` become one `i8` each, 0 or 1. It runs when no operation is left that accesses
    elements.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // MX_CONVERSION_MXTOMXGPU_PASSES
