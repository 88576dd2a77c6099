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
  let summary = "Select a schedule for each matmul";
  let description = [{
    Sets `mxgpu.schedule` of each `mx.matmul` without a schedule. An analytic
    model of the chip selects the fastest legal schedule for the shape
    (docs/design/ScheduleModel.md). A matmul with dynamic sizes gets
    `mxgpu.schedules` instead: up to `max-schedules` schedules, each with its
    range of sizes, unless a single schedule suits all sizes. Existing schedules
    are kept; if they do not set the number of stages, the pass sets as many as
    fit in shared memory.

    `tuned` names a table of schedules measured by `mx-compile --tune`
    (docs/guide/Tuning.md). An entry for the matmul, chip, GPU and compiler
    build takes precedence over the model. The schedule must still be legal.

    `explain`, or `--mx-explain` in mx-opt and mx-run, prints the candidates
    with their modelled terms, the bottleneck of the second candidate, and the
    memory map.
  }];
  let options = [
    MX_ChipOption,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Print the schedule and memory map of each matmul, and why other schedules "
           "were rejected">,
    Option<"maxSchedules", "max-schedules", "int64_t", /*default=*/"::mx::target::kMaxSchedules",
           "Maximum number of schedules for a matmul with dynamic sizes; with 1, the "
           "result of a row does not depend on the number of rows">,
    Option<"tuned", "tuned", "std::string", /*default=*/"",
           "Table of measured schedules, which take precedence over the model">,
    Option<"tunedGpu", "tuned-gpu", "std::string", /*default=*/"",
           "GPU whose entries are used (default: the only GPU in the table for "
           "the chip)">
  ];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXExpandSchedules : Pass<"mx-expand-schedules", "::mlir::ModuleOp"> {
  let summary = "Expand matmuls with several schedules into a switch on sizes";
  let description = [{
    Replaces each matmul that carries `mxgpu.schedules` with an
    `scf.index_switch`. For each schedule, the switch has a region that contains
    the matmul with this schedule. At run time, the host selects the first case
    whose limits hold. Several cases may share a schedule.

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
  let summary = "Select a schedule for each quantizer";
  let description = [{
    Sets `mxgpu.quantize_schedule` of each `mx.fused_quantize` and
    `mx.dequantize` without a schedule, from a table
    (docs/reference/Quantize.md). The schedule depends on the destinations, so
    `mx-fuse-fake-quantize` must run first.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = ["::mx::mxgpu::MXGPUDialect"];
}

def MXDequantizeOperands
    : Pass<"mx-dequantize-operands", "::mlir::ModuleOp"> {
  let summary = "Dequantize operands in the workspace of a schedule";
  let description = [{
    Splits each `mx.matmul` and `mx.grouped_matmul` that carries an
    `mxgpu.schedule` with a `workspace` of `a`, `b` or `ab`. An `mx.dequantize`
    converts each workspace operand to bf16, or an expanded operand (`promote`)
    to f8E4M3FN, and a matmul with the rest of the schedule uses the converted
    operands. Layouts must be materialized
    (`mx-materialize-layouts`).

    If the matmul divides an operand into expert groups, the `mx.dequantize`
    divides the operand likewise, by rows or as a ragged reduction. Segments of
    a ragged reduction stay in place (`padded`). Elements outside all expert
    groups are not dequantized.

    Results are equal to those of kernels that dequantize internally. Chips with
    block-scaled MMA instructions do not support workspaces.

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
  let summary = "Lower linalg operations without a kernel to parallel loops";
  let description = [{
    Lowers `linalg` operations on memrefs if `convert-mx-to-mxgpu` does not
    support them. An `scf.parallel` iterates over the parallel loops that index
    every result. The other loops become nested `scf.for` loops that carry the
    results. A `memref.copy` of a slice becomes such loops, and a `memref.store`
    becomes a loop with one iteration. The attribute `mxgpu.simple_kernel` names
    the kernel that `mx-loops-to-kernels` creates.

    A remark reports each operation and the reason why no other kernel includes
    it (docs/reference/Fusion.md). Sizes are checked at run time as on the CPU
    path.

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
  let summary = "Outline marked parallel loops to kernels";
  let description = [{
    Replaces each `scf.parallel` that carries the attribute
    `mxgpu.simple_kernel` with a kernel launch. The kernel runs a thread for
    each iteration. Values defined outside the loop become kernel arguments;
    `i1` values are passed as bytes.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mx::mxgpu::MXGPUDialect"];
}

def ConvertMXToMXGPU
    : Pass<"convert-mx-to-mxgpu", "::mlir::ModuleOp"> {
  let summary = "Convert mx operations on memrefs to kernels and launches";
  let description = [{
    Replaces each operation with a launch of a kernel in the module's
    `gpu.module`, preceded by checks of dynamic shapes. All memrefs refer to
    device memory.

    Supported operations are `mx.quantize`, `mx.dequantize`, `mx.relayout` and
    `mx.pack_operand` (table in docs/reference/Quantize.md); `mx.matmul`, which
    supports all operands with scales in `sf_128x4` tiles on tcgen05 chips
    (docs/design/Matmul.md); `linalg.fill` with zeros; and `linalg` operations
    that reduce the rows of matrices (docs/reference/Fusion.md). Other
    operations are an error: run `mx-linalg-to-loops` and `mx-loops-to-kernels`
    first.
  }];
  let options = [MX_ChipOption];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mx::mxgpu::MXGPUDialect"];
}

def MXPeerStores : Pass<"mx-peer-stores", "::mlir::func::FuncOp"> {
  let summary = "Replace collectives by accesses to windows of other ranks";
  let description = [{
    A quantizer with only gathered results stores them to the windows of
    all ranks, and an ordered sum of rows from `mx.all_to_all` reads them in the
    windows of the ranks that computed them. If `mx.peers` is 0 at run time, the
    ranks execute the original collectives. Results are the same to the bit.

    ```mlir
    mx.fused_quantize ins(%x : ...) outs(%e, %s : ...)
    mx.all_gather @ep ins(%e : ...) outs(%we : ...)
    mx.all_gather @ep ins(%s : ...) outs(%ws : ...)
    ```

    becomes

    ```mlir
    scf.if %mapped { mx.barrier @ep } // peers have read the windows
    %te = mx.to_peers @ep %we[%t] : ...
    %ts = mx.to_peers @ep %ws[%t] : ...
    mx.fused_quantize ins(%x : ...) outs(%te, %ts : ...)
    scf.if %mapped {
      mx.barrier @ep
    } else {
      mx.all_gather @ep outs(%we : ...)
      mx.all_gather @ep outs(%ws : ...)
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MXSinkScalars : Pass<"mx-sink-scalars", "::mlir::ModuleOp"> {
  let summary = "Sink scalars computed from device memory into kernels";
  let description = [{
    To compute integers and floats from array elements, the host would have to
    wait for the device. With this pass, the kernel receives the arrays and
    computes these scalars at its start.

    ```mlir
    %amax = memref.load %a[] : memref<f32>
    %g = arith.divf %c, %amax : f32
    mxgpu.launch @kernels::@quantize grid(%n) args(%x, %q, %g : ...)
    ```

    becomes

    ```mlir
    mxgpu.launch @kernels::@quantize grid(%n) args(%x, %q, %a : ...)
    ```

    A scalar is not sunk if the array may be written between the load and the
    launch or by the kernel, if load and launch are in different blocks, or if
    the scalar is an `index` (a size). A kernel that may overlap earlier kernels
    loads the array after `mxgpu.wait_dependencies`. If a scalar cannot be sunk,
    the pass fails, unless `host-reads` permits the host to read the scalar.
  }];
  let options = [
    Option<"hostReads", "host-reads", "bool", /*default=*/"false",
           "The host can read scalars from device memory, as a launch plan does">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def MXStoreAsBytes : Pass<"mx-store-as-bytes", "::mlir::ModuleOp"> {
  let summary = "Convert memrefs of f4, f6 and i1 elements to bytes";
  let description = [{
    Converts memrefs of `f4E2M1FN` to `i8` with two elements per byte, the first
    in the low nibble, which halves the last dimension. Elements of `f6E3M2FN`,
    `f6E2M3FN` and `i1` (0 or 1) become one `i8` each. Function signatures are
    converted too, with the same bytes as in `convert-mx-to-cpu`. Run the pass
    after all operations that access such elements are converted.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // MX_CONVERSION_MXTOMXGPU_PASSES
