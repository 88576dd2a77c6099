// RUN: mx-opt %s --split-input-file --mxgpu-verify-resources --mx-describe-entries --convert-mxgpu-host-to-plan --canonicalize --cse | mx-translate --split-input-file --mx-to-manifest | FileCheck %s

// Translates a plan with arguments, arithmetic, a tensor map and a launch. Constants are
// folded, equal expressions are listed once, and requirements that always hold are dropped.

// CHECK:      "target": "sm_100a",
// CHECK-NEXT: "ptx": "kernels.ptx",
// CHECK:      {"name": "kernel", "block": [96, 1, 1], "dynamic_smem": 8208, "programmatic": true}
// CHECK:      "name": "launch",
// CHECK:      {"name": "a", "type": "memref<?x256xf8E4M3FN>", "dtype": "u1", "shape": ["?", 256]},
// CHECK-NEXT: {"name": "arg1", "type": "memref<?x4xf32>", "dtype": "f4", "shape": ["?", 4]},
// CHECK-NEXT: {"name": "arg2", "type": "f32", "dtype": "f4"},
// CHECK-NEXT: {"name": "arg3", "type": "index", "dtype": "i8"}
// CHECK:      "results": [],
// CHECK-NEXT: "values": [
// CHECK-NEXT:   ["le", 0, "arg3"],
// CHECK-NEXT:   ["ceildiv", "arg3", 128],
// CHECK-NEXT:   ["floordiv", "sm_count", 2],
// CHECK-NEXT:   ["min", "v1", "v2"],
// CHECK-NEXT:   ["mod", "arg0.address", 16],
// CHECK-NEXT:   ["eq", "v4", 0],
// CHECK-NEXT:   ["eq", "arg0[0]", "arg1[0]"],
// CHECK-NEXT:   ["min", "v5", "v6"],
// CHECK-NEXT:   ["max", "v6", "v7"]
// CHECK:      "requires": [
// Unsigned division requires a nonnegative number.
// CHECK-NEXT:   {"condition": "v0", "message": "{{.*}}: expected a number of at least 0, found {}", "values": ["arg3"]},
// CHECK-NEXT:   {"condition": "v5", "message": "{{.*}}:5: expected 100% of {}, found {}", "values": [16, "v4"]},
// CHECK-NEXT:   {"condition": "v8", "message": "{{.*}}: expected rows", "values": []}
// CHECK:      "workspace": 0,
// CHECK:      "tensor_maps": [
// CHECK-NEXT:   {"buffer": "arg0", "offset": 0, "type": "u8", "dims": [256, "arg0[0]"], "strides": [256], "box": [128, 64], "swizzle": "128b", "l2": "64b", "oob": "zero"}
// CHECK:        {"launch": "kernel", "grid": ["v3", 1, 1], "args": [{"tensor_map": 0}, {"buffer": "arg1"}, {"i64": "arg1[0]"}, {"argument": 2}, {"i64": "v3"}, {"bytes": "0000003f"}, {"i32": 7}]}
// CHECK-NEXT: ]
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  func.func @launch(%a: memref<?x256xf8E4M3FN> {mx.name = "a"}, %y: memref<?x4xf32>, %f: f32, %n: index) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %half = arith.constant 0.5 : f32
    %seven = arith.constant 7 : i32
    %tiles = arith.ceildivui %n, %c128 : index
    %sms = mxgpu.sm_count
    %pairs = arith.divui %sms, %c2 : index
    %grid = arith.minui %tiles, %pairs : index
    %again = arith.minui %pairs, %tiles : index
    %address = memref.extract_aligned_pointer_as_index %a : memref<?x256xf8E4M3FN> -> index
    %rest = arith.remui %address, %c16 : index
    %aligned = arith.cmpi eq, %rest, %c0 : index
    mxgpu.require %aligned, "expected 100%% of %lld, found %lld" (%c16, %rest)
    %rows = memref.dim %a, %c0 : memref<?x256xf8E4M3FN>
    %rows_y = memref.dim %y, %c0 : memref<?x4xf32>
    %same = arith.cmpi eq, %rows_y, %rows : index
    %both = arith.andi %same, %aligned : i1
    %either = arith.ori %both, %same : i1
    %holds = arith.cmpi eq, %grid, %again : index
    mxgpu.require %either, "expected rows"
    mxgpu.require %holds, "expected nothing"
    %map = mxgpu.encode_tensor_map %a l2_promotion = b64 : memref<?x256xf8E4M3FN> -> !map
    mxgpu.launch @kernels::@kernel grid(%grid) args(%map, %y, %f, %again, %half, %seven : !map, memref<?x4xf32>, f32, index, f32, i32)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map, %y: memref<?x4xf32>, %f: f32, %n: index, %half: f32, %seven: i32) {
      mxgpu.wait_dependencies
      %in = mxgpu.ring "in" : !mxgpu.ring<1 x (a: smem<64x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit>
      mxgpu.role @a warps(1) {
      }
      mxgpu.role @b warps(2) {
      }
    }
  }
}

// -----

// Results are in the caller's memory, even through a view. A result is copied if it
// is returned twice or equals an argument. Other allocations are in the workspace,
// and share memory if their lifetimes are disjoint.

// CHECK:      "name": "memory",
// CHECK:      "results": [
// CHECK-NEXT:   {"name": "result0", "type": "memref<?x2xf32>", "dtype": "f4", "shape": ["arg0[0]", 2]},
// CHECK-NEXT:   {"name": "result1", "type": "memref<?x4xbf16>", "dtype": "u2", "shape": ["arg0[0]", 4]},
// CHECK-NEXT:   {"name": "result2", "type": "memref<?x2xf32>", "dtype": "f4", "shape": ["arg0[0]", 2]}
// CHECK:      "values": [
// CHECK-NEXT:   ["mul", "arg0[0]", 8{{.*}}],
// CHECK-NEXT:   ["max", "v0", 4096],
// CHECK-NEXT:   ["ceildiv", "v1", 256],
// CHECK-NEXT:   ["mul", "v2", 256{{.*}}],
// CHECK-NEXT:   ["ceildiv", "v0", 256],
// CHECK-NEXT:   ["mul", "v4", 256{{.*}}],
// CHECK-NEXT:   ["add", "v3", "v5"{{.*}}]
// CHECK:      "workspace": "v6",
// CHECK-NEXT: "buffers": [
// CHECK-NEXT:   {"offset": 0, "bytes": "v0"},
// CHECK-NEXT:   {"offset": "v3", "bytes": "v0"},
// CHECK-NEXT:   {"offset": 0, "bytes": 4096}
// CHECK:      "steps": [
// CHECK-NEXT:   {"copy": "arg0", "to": "work0", "bytes": "v0"},
// CHECK-NEXT:   {"copy": "work0", "to": "work1", "bytes": "v0"},
// CHECK-NEXT:   {"memset": "work2", "byte": 255, "bytes": 4096},
// CHECK-NEXT:   {"copy": "arg0", "to": "result1", "bytes": "v0"},
// CHECK-NEXT:   {"copy": "result0", "to": "result2", "bytes": "v0"}
// CHECK-NEXT: ]
func.func @memory(%x: memref<?x4xbf16>) -> (memref<?x2xf32>, memref<?x4xbf16>, memref<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %ones = arith.constant -1 : i16
  %n = memref.dim %x, %c0 : memref<?x4xbf16>
  %twice = arith.muli %n, %c2 : index
  %a = memref.alloc(%n) : memref<?x4xbf16>
  %b = memref.alloc(%n) : memref<?x4xbf16>
  %c = memref.alloc() : memref<2048xi16>
  memref.copy %x, %a : memref<?x4xbf16> to memref<?x4xbf16>
  memref.copy %a, %b : memref<?x4xbf16> to memref<?x4xbf16>
  memref.dealloc %a : memref<?x4xbf16>
  gpu.memset %c, %ones : memref<2048xi16>, i16
  memref.dealloc %c : memref<2048xi16>
  %flat = memref.alloc(%twice) : memref<?xf32>
  %y = memref.expand_shape %flat [[0, 1]] output_shape [%n, 2] : memref<?xf32> into memref<?x2xf32>
  memref.copy %b, %b : memref<?x4xbf16> to memref<?x4xbf16>
  return %y, %x, %y : memref<?x2xf32>, memref<?x4xbf16>, memref<?x2xf32>
}

// -----

// A subview requires the address of the whole array. Alignments in the workspace are
// known. The first row of the subview, its last row (unless there are no rows) and
// its static columns must be inside the array.

// CHECK:      "name": "segments",
// CHECK:      "values": [
// CHECK-NEXT:   ["sub", "arg0[0]", "arg1"{{.*}}],
// CHECK-NEXT:   ["lt", 0, "v0"],
// CHECK-NEXT:   ["add", "arg0[0]", 1{{.*}}],
// CHECK-NEXT:   ["select", "v1", "arg0[0]", "v2"],
// CHECK-NEXT:   ["sub", "v0", 1{{.*}}],
// CHECK-NEXT:   ["add", "v4", "arg1"{{.*}}],
// CHECK-NEXT:   ["lt", "v5", "arg0[0]"],
// CHECK-NEXT:   ["le", 0, "v5"],
// CHECK-NEXT:   ["min", "v6", "v7"],
// CHECK-NEXT:   ["select", "v1", "v8", 1],
// CHECK-NEXT:   ["lt", "arg1", "v3"],
// CHECK-NEXT:   ["le", 0, "arg1"],
// CHECK-NEXT:   ["min", "v10", "v11"],
// CHECK-NEXT:   ["mod", "arg0.address", 512],
// CHECK-NEXT:   ["eq", "v13", 0]
// CHECK:      "requires": [
// CHECK-NEXT:   {"condition": "v12", "message": "{{.*}}'memref.subview' op expected an access inside of its array: offset 0 is out-of-bounds", "values": []},
// CHECK-NEXT:   {"condition": "v9", "message": "{{.*}}subview runs out-of-bounds along dimension 0", "values": []},
// CHECK-NEXT:   {"condition": "v14", {{.*}}}
// CHECK:      "tensor_maps": [
// CHECK-NEXT:   {"buffer": "work0", "offset": 0, "type": "u8", "dims": [128, 64], "strides": [128], "box": [128, 64], "swizzle": "128b", "l2": "256b", "oob": "zero"}
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
!rows = memref<?x128xf8E4M3FN, strided<[1024, 1], offset: ?>>
module attributes {gpu.container_module} {
  func.func @segments(%a: memref<?x1024xf8E4M3FN>, %first: index) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c512 = arith.constant 512 : index
    %n = memref.dim %a, %c0 : memref<?x1024xf8E4M3FN>
    %rows = arith.subi %n, %first : index
    %part = memref.subview %a[%first, 64] [%rows, 128] [1, 1] : memref<?x1024xf8E4M3FN> to !rows
    %address = memref.extract_aligned_pointer_as_index %part : !rows -> index
    %rest = arith.remui %address, %c512 : index
    %aligned = arith.cmpi eq, %rest, %c0 : index
    mxgpu.require %aligned, "expected %lld" (%rest)
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %part : !rows -> memref<f8E4M3FN>, index, index, index, index, index
    %is1024 = arith.remui %strides#0, %c512 : index
    %stride = arith.cmpi eq, %is1024, %c0 : index
    mxgpu.require %stride, "expected nothing"
    %work = memref.alloc() : memref<64x128xf8E4M3FN>
    %address2 = memref.extract_aligned_pointer_as_index %work : memref<64x128xf8E4M3FN> -> index
    %rest2 = arith.remui %address2, %c16 : index
    %below = arith.subi %address2, %rest2 : index
    %aligned2 = arith.cmpi eq, %rest2, %c0 : index
    mxgpu.require %aligned2, "expected nothing but %lld" (%below)
    %0 = mxgpu.encode_tensor_map %work : memref<64x128xf8E4M3FN> -> !map
    mxgpu.launch @kernels::@kernel grid(%c16) args(%0 : !map)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// The kernel's arguments are the address of the whole array and the dynamic parts of
// the subview's type: size, stride and offset.

// CHECK:      "name": "slice",
// CHECK:        ["mul", "arg0[1]", "arg1"{{.*}}],
// CHECK-NEXT:   ["add", "[[ROW:v[0-9]+]]", 64{{.*}}]
// CHECK:      "args": [{"buffer": "arg0"}, {"i64": "arg0[1]"}, {"i64": "v{{[0-9]+}}"}]
!slice = memref<32x128xbf16, strided<[?, 1], offset: ?>>
module attributes {gpu.container_module} {
  func.func @slice(%a: memref<?x?xbf16>, %first: index) {
    %c1 = arith.constant 1 : index
    %slice = memref.subview %a[%first, 64] [32, 128] [1, 1] : memref<?x?xbf16> to !slice
    mxgpu.launch @kernels::@kernel grid(%c1) args(%slice : !slice)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%a: !slice) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// A requirement may read the bits of a float argument.

// CHECK:      "name": "bits",
// CHECK:      "values": [
// CHECK-NEXT:   ["bitcast.f32.i32", "arg0.bits"],
// CHECK-NEXT:   ["extui.i32.i64", "v0"],
// CHECK-NEXT:   ["lt", 0, "v1"]
// CHECK:      "requires": [
// CHECK-NEXT:   {"condition": "v2", "message": "{{.*}}: expected another number than 0, found {}", "values": ["v1"]}
func.func @bits(%f: f32) {
  %c0 = arith.constant 0 : index
  %bits = arith.bitcast %f : f32 to i32
  %shown = arith.index_castui %bits : i32 to index
  %isPositive = arith.cmpi ult, %c0, %shown : index
  mxgpu.require %isPositive, "expected another number than 0, found %lld" (%shown)
  return
}

// -----

// The file contains each used constant once, and aligned to 256 bytes. The
// address of a constant needs no check.

// CHECK:      "data": "constants.bin",
// CHECK-NEXT: "constants": [
// CHECK-NEXT:   {"name": "second", "offset": 0, "bytes": 4},
// CHECK-NEXT:   {"name": "first", "offset": 256, "bytes": 12}
// CHECK:      "name": "constants",
// CHECK:      "values": [],
// CHECK:      {"copy": "const0", "to": "arg0", "bytes": 4},
// CHECK-NEXT: {"copy": "const1", "to": "arg1", "bytes": 12},
// CHECK-NEXT: {"copy": "const0", "to": "arg0", "bytes": 4}
memref.global "private" constant @first : memref<3xf32> = dense<[1.0, 2.0, 3.0]>
memref.global "private" constant @unused : memref<3xf32> = dense<[1.0, 2.0, 4.0]>
memref.global "private" constant @second : memref<2xbf16> = dense<1.0>
func.func @constants(%x: memref<2xbf16>, %y: memref<3xf32>) {
  %a = memref.get_global @second : memref<2xbf16>
  %b = memref.get_global @first : memref<3xf32>
  %address = memref.extract_aligned_pointer_as_index %b : memref<3xf32> -> index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %rest = arith.remui %address, %c16 : index
  %isAligned = arith.cmpi eq, %rest, %c0 : index
  mxgpu.require %isAligned, "expected an address at a multiple of 16"
  memref.copy %a, %x : memref<2xbf16> to memref<2xbf16>
  memref.copy %b, %y : memref<3xf32> to memref<3xf32>
  memref.copy %a, %x : memref<2xbf16> to memref<2xbf16>
  return
}
