// RUN: mx-translate %s --split-input-file --mx-to-manifest | FileCheck %s

// Translates control flow in plans. The table lists values that depend only on
// arguments, even if they are used within a block, unless an early evaluation
// could fail. Steps compute values that depend on an iteration or on device data.

// CHECK:      "name": "loop",
// CHECK:      "values": [
// CHECK-NEXT:   ["mul", "arg1", 4{{.*}}],
// CHECK:      "workspace": "v{{[0-9]+}}",
// CHECK-NEXT: "buffers": [
// CHECK-NEXT:   {"offset": {{.*}}, "bytes": "v0"},
// CHECK-NEXT:   {"offset": {{.*}}, "bytes": "v0"},
// CHECK-NEXT:   {"offset": {{.*}}, "bytes": 64}
// CHECK:      "steps": [
// CHECK:          "for": "[[I:v[0-9]+]]",
// CHECK-NEXT:     "from": 0,
// CHECK-NEXT:     "to": "arg1",
// CHECK-NEXT:     "step": 1,
// CHECK-NEXT:     "carries": ["buf0", "[[SUM:v[0-9]+]]"],
// CHECK-NEXT:     "init": ["arg0", 0],
// The next iteration must not overwrite the buffer that the loop carries.
// CHECK:              {"choose": "buf1", "among": ["work0", "work1"], "besides": ["buf0"]},
// CHECK-NEXT:         {"compute": "[[BYTES:v[0-9]+]]", "as": ["mul", "[[I]]", 4{{.*}}]},
// CHECK-NEXT:         {"compute": "[[FEW:v[0-9]+]]", "as": ["lt", "[[BYTES]]", 64]},
// CHECK-NEXT:         {"require": {"condition": "[[FEW]]", "message": "{{.*}}expected few rounds, found {}", "values": ["[[I]]"]}},
// CHECK-NEXT:         {"copy": "buf0", "to": "buf1", "bytes": "v0"},
// A buffer used only within an iteration gets one place for all iterations.
// CHECK-NEXT:         {"memset": "work2", "byte": 3, "bytes": 64},
// CHECK-NEXT:         {"compute": "[[NEXT:v[0-9]+]]", "as": ["add", "[[SUM]]", "[[BYTES]]"{{.*}}]}
// CHECK:            "yields": ["buf1", "[[NEXT]]"]
// CHECK:        {"copy": "buf0", "to": "result0", "bytes": 64}
// CHECK-NEXT: ]
func.func @loop(%x: !mxplan.buffer, %n: index) -> (!mxplan.buffer, index)
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<16xf32>, memref<16xf32>>, #mxplan.value<"n", index, index>],
                mxplan.results = [#mxplan.value<"y", memref<16xf32>, memref<16xf32>>, #mxplan.value<"bytes", index, index>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %bytes = arith.muli %n, %c4 : index
  %y, %total = scf.for %i = %c0 to %n step %c1 iter_args(%last = %x, %sum = %c0) -> (!mxplan.buffer, index) {
    %new = mxplan.alloc %bytes
    %of = arith.muli %i, %c4 : index
    %few = arith.cmpi slt, %of, %c64 : index
    mxgpu.require %few, "expected few rounds, found %lld" (%i)
    mxplan.copy %last to %new bytes(%bytes)
    %own = mxplan.alloc %c64
    mxplan.fill %own, 3 bytes(%c64)
    %next = arith.addi %sum, %of : index
    scf.yield %new, %next : !mxplan.buffer, index
  }
  return %y, %total : !mxplan.buffer, index
}

// -----

// A buffer passed into an inner loop may be the loop's result, so it must
// outlive the iteration of the outer loop.

// CHECK:      "name": "inner",
// CHECK:      {"choose": "buf1", "among": ["work0", "work1"], "besides": ["buf0"]},
// CHECK:        "carries": ["buf2"],
// CHECK-NEXT:   "init": ["buf1"],
// CHECK:          {"choose": "buf3", "among": ["work2", "work3", "work4"], "besides": ["buf0", "buf2"]},
// CHECK:          "yields": ["buf3"]
// CHECK:      "yields": ["buf2"]
func.func @inner(%x: !mxplan.buffer, %n: index) -> !mxplan.buffer
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<16xf32>, memref<16xf32>>, #mxplan.value<"n", index, index>],
                mxplan.results = [#mxplan.value<"y", memref<16xf32>, memref<16xf32>>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> !mxplan.buffer {
    %b = mxplan.alloc %c64
    mxplan.copy %a to %b bytes(%c64)
    %z = scf.for %j = %i to %n step %c1 iter_args(%c = %b) -> !mxplan.buffer {
      %d = mxplan.alloc %c64
      mxplan.copy %c to %d bytes(%c64)
      scf.yield %d : !mxplan.buffer
    }
    scf.yield %z : !mxplan.buffer
  }
  return %y : !mxplan.buffer
}

// -----

// A branch depends on device data, so the values of the condition are computed after the read.

// CHECK:      "name": "read",
// CHECK:      "values": [
// CHECK-NEXT:   ["mul", "arg1", 4{{.*}}]
// CHECK:      "steps": [
// CHECK-NEXT:   {"read": "arg0", "offset": "v0", "dtype": "i4", "to": "v1"},
// CHECK-NEXT:   {"compute": "v2", "as": ["lt", 0, "v1"]},
// CHECK:          "if": "v2",
// CHECK-NEXT:     "results": ["buf0", "v3"],
// CHECK:              {"memset": "work0", "byte": 255, "bytes": 64},
// CHECK-NEXT:         {"compute": "v4", "as": ["mul", "v1", 3{{.*}}]}
// CHECK:            "yields": ["work0", "v4"]
// CHECK:            "steps": [],
// CHECK-NEXT:       "yields": ["arg0", "v0"]
// CHECK:        {"compute": "v5", "as": ["mod", "buf0.address", 16]},
// CHECK-NEXT:   {"compute": "v6", "as": ["eq", "v5", 0]},
// CHECK-NEXT:   {"require": {"condition": "v6", "message": "{{.*}}expected an address of 16 bytes", "values": []}},
// CHECK-NEXT:   {"encode": 0, "map": {"buffer": "buf0", "offset": 0, "type": "u8", "dims": [128, "v3"], "strides": [128], "box": [128, 64], "swizzle": "128b", "l2": "256b", "oob": "zero"}},
// CHECK-NEXT:   {"launch": "kernel", "grid": ["v3", 1, 1], "args": [{"tensor_map": 0}, {"buffer": "buf0"}, {"i32": "v1"}]}
// CHECK-NEXT: ]
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  func.func @read(%x: !mxplan.buffer, %n: index)
      attributes {mxplan.arguments = [#mxplan.value<"x", memref<16xi32>, memref<16xi32>>, #mxplan.value<"n", index, index>],
                  mxplan.results = []} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %at = arith.muli %n, %c4 : index
    %word = mxplan.read %x[%at] : i32
    %count = arith.index_cast %word : i32 to index
    %some = arith.cmpi sgt, %count, %c0 : index
    %y, %rows = scf.if %some -> (!mxplan.buffer, index) {
      %ones = mxplan.alloc %c64
      mxplan.fill %ones, 255 bytes(%c64)
      %many = arith.muli %count, %c3 : index
      scf.yield %ones, %many : !mxplan.buffer, index
    } else {
      scf.yield %x, %at : !mxplan.buffer, index
    }
    %address = mxplan.address %y
    %rest = arith.remsi %address, %c16 : index
    %aligned = arith.cmpi eq, %rest, %c0 : index
    mxgpu.require %aligned, "expected an address of 16 bytes"
    %map = mxplan.encode_tensor_map %y offset(%c0) dims(%c128, %rows) strides(%c128) : !map
    mxplan.launch @kernels::@kernel grid(%rows) args(%map, %y, %word : !map, !mxplan.buffer, i32)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map, %y: memref<16xi32>, %n: i32) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// Each call of a function is inlined, and each copy uses separate memory. Private
// functions are not entries.

// CHECK:      "name": "calls",
// CHECK:      "buffers": [
// CHECK-NEXT:   {"offset": 0, "bytes": "arg1"},
// CHECK-NEXT:   {"offset": "v{{[0-9]+}}", "bytes": 32}
// CHECK:      "steps": [
// CHECK-NEXT:   {"copy": "arg0", "to": "work0", "bytes": "arg1"},
// CHECK-NEXT:   {"copy": "work0", "to": "work1", "bytes": 32},
// CHECK-NEXT:   {"copy": "work1", "to": "result0", "bytes": 32}
// CHECK-NEXT: ]
// CHECK-NOT:  "name": "copied"
func.func private @copied(%x: !mxplan.buffer, %bytes: index) -> !mxplan.buffer {
  %y = mxplan.alloc %bytes
  mxplan.copy %x to %y bytes(%bytes)
  return %y : !mxplan.buffer
}
func.func @calls(%x: !mxplan.buffer, %n: index) -> !mxplan.buffer
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<8xf32>, memref<8xf32>>, #mxplan.value<"n", index, index>],
                mxplan.results = [#mxplan.value<"y", memref<8xf32>, memref<8xf32>>]} {
  %c32 = arith.constant 32 : index
  %once = call @copied(%x, %n) : (!mxplan.buffer, index) -> !mxplan.buffer
  %twice = call @copied(%once, %c32) : (!mxplan.buffer, index) -> !mxplan.buffer
  return %twice : !mxplan.buffer
}

// -----

// A division that could fail is not hoisted out of its branch.

// CHECK:      "name": "guarded",
// CHECK:      "values": [
// CHECK-NEXT:   ["lt", 0, "arg1"]
// CHECK:      "if": "v0",
// CHECK:      {"compute": "v1", "as": ["floordivsi.i64", 64, "arg1", "{{.*}}"]},
// CHECK-NEXT: {"memset": "arg0", "byte": 0, "bytes": "v1"}
func.func @guarded(%x: !mxplan.buffer, %n: index)
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<16xf32>, memref<16xf32>>, #mxplan.value<"n", index, index>],
                mxplan.results = []} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %some = arith.cmpi sgt, %n, %c0 : index
  scf.if %some {
    %part = arith.floordivsi %c64, %n : index
    mxplan.fill %x, 0 bytes(%part)
  }
  return
}

// -----

// Integers and floats other than sizes are computed in their own types. Float
// constants are written as bits.

// CHECK:      "name": "floats",
// CHECK:      {"name": "g", "type": "f32", "dtype": "f4", "value": "v[[G:[0-9]+]]"}
// CHECK:      "values": [
// CHECK-NEXT:   ["addi.i32", "arg1", "arg1"],
// CHECK-NEXT:   ["sitofp.i32.f32", "v0"],
// CHECK-NEXT:   ["divf.f32", 1065353216, "arg0.bits"],
// CHECK-NEXT:   ["negf.f32", "v2"],
// CHECK-NEXT:   ["olt.f32", "v3", "v1"],
// CHECK-NEXT:   ["select", "v4", "v1", "v3"],
// CHECK-NEXT:   ["mulf.f32", "v5", "v1"]
// CHECK:      "requires": [],
// CHECK:      "args": [{"f32": "v6"}, {"argument": 0}, {"bytes": "0000803f"}, {"i8": "v4"}]
module attributes {gpu.container_module} {
  func.func @floats(%f: f32, %n: i32) -> f32
      attributes {mxplan.arguments = [#mxplan.value<"f", f32, f32>, #mxplan.value<"n", i32, i32>],
                  mxplan.results = [#mxplan.value<"g", f32, f32>]} {
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    %twice = arith.addi %n, %n : i32
    %x = arith.sitofp %twice : i32 to f32
    %inverse = arith.divf %one, %f : f32
    %negative = arith.negf %inverse : f32
    %less = arith.cmpf ogt, %x, %negative : f32
    %larger = arith.select %less, %x, %negative : f32
    %g = arith.mulf %larger, %x : f32
    mxplan.launch @kernels::@kernel grid(%c1) args(%g, %f, %one, %less : f32, f32, f32, i1)
    return %g : f32
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%a: f32, %b: f32, %c: f32, %d: i1) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// A while loop and a switch. The condition of the loop passes values to the body
// and to the results of the loop.

// CHECK:      "name": "until",
// CHECK:      "steps": [
// CHECK:          "while": ["buf0", "v0"],
// CHECK-NEXT:     "init": ["arg0", "arg1"],
// CHECK-NEXT:     "passes": ["v1", "buf1"],
// CHECK:              {"read": "buf0", "offset": 0, "dtype": "u2", "to": "v2"},
// CHECK-NEXT:         {"compute": "v3", "as": ["olt.bf16", "v2", 16256]}
// CHECK:            "yields": ["v3", "v0", "buf0"]
// CHECK:              {"choose": "buf2", "among": ["work0", "work1"], "besides": ["buf1"]},
// CHECK-NEXT:         {"copy": "buf1", "to": "buf2", "bytes": 64},
// CHECK:                "switch": "v1",
// CHECK-NEXT:           "cases": [1, 5],
// CHECK-NEXT:           "results": ["v4"],
// CHECK-NEXT:           "do": [
// CHECK:                  "yields": [7]
// CHECK:                  "yields": ["v1"]
// CHECK:                  "yields": [0]
// CHECK:            "yields": ["buf2", "v4"]
func.func @until(%x: !mxplan.buffer, %n: index) -> !mxplan.buffer
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<32xbf16>, memref<32xbf16>>, #mxplan.value<"n", index, index>],
                mxplan.results = [#mxplan.value<"y", memref<32xbf16>, memref<32xbf16>>]} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : bf16
  %k, %y = scf.while (%a = %x, %i = %n) : (!mxplan.buffer, index) -> (index, !mxplan.buffer) {
    %first = mxplan.read %a[%c0] : bf16
    %more = arith.cmpf olt, %first, %one : bf16
    scf.condition(%more) %i, %a : index, !mxplan.buffer
  } do {
  ^bb0(%i: index, %a: !mxplan.buffer):
    %b = mxplan.alloc %c64
    mxplan.copy %a to %b bytes(%c64)
    %j = scf.index_switch %i -> index
    case 1 {
      scf.yield %c7 : index
    }
    case 5 {
      scf.yield %i : index
    }
    default {
      scf.yield %c0 : index
    }
    scf.yield %b, %j : !mxplan.buffer, index
  }
  return %y : !mxplan.buffer
}

// -----

// A step allocates memory of a data-dependent size. A result of such a size owns
// the allocation.

// CHECK:      "name": "taken",
// CHECK:      {"name": "y", "type": "memref<?xf32>", "dtype": "f4", "shape": ["v0"], "from": "buf0"}
// CHECK:      "workspace": 0,
// CHECK:      "steps": [
// CHECK-NEXT:   {"read": "arg0", "offset": 0, "dtype": "i8", "to": "v0"},
// CHECK-NEXT:   {"compute": "v1", "as": ["mul", "v0", 4{{.*}}]},
// CHECK-NEXT:   {"take": "buf0", "bytes": "v1"},
// CHECK-NEXT:   {"memset": "buf0", "byte": 0, "bytes": "v1"}
// CHECK-NEXT: ]
func.func @taken(%x: !mxplan.buffer) -> (!mxplan.buffer, index)
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xindex>, memref<4xindex>>],
                mxplan.results = [#mxplan.value<"y", memref<?xf32>, memref<?xf32>>]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = mxplan.read %x[%c0] : index
  %bytes = arith.muli %n, %c4 : index
  %y = mxplan.alloc %bytes
  mxplan.fill %y, 0 bytes(%bytes)
  return %y, %n : !mxplan.buffer, index
}
