// RUN: mx-opt %s --split-input-file --mx-sink-scalars=host-reads | FileCheck %s

// The kernel, not the host, reads a scalar that is computed from an array. Other
// inputs of the computation become kernel arguments, a scalar used by several
// arguments is read once, and host scalars stay arguments.

// CHECK-LABEL: func.func @sunk(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[X:.*]]: memref<?xf32>, %[[S:.*]]: f32, %[[I:.*]]: index)
// CHECK-NOT:     = memref.load
// CHECK:         %[[END:.*]] = memref.dim %[[A]]
// CHECK:         arith.cmpi slt, %[[I]], %[[END]]
// CHECK:         mxgpu.require %{{.*}}, "'memref.load' op expected an access inside of its array: out-of-bounds access"
// CHECK-NOT:     = memref.load
// CHECK:         mxgpu.launch @kernels::@kernel grid(%{{.*}}) args(%[[X]], %[[S]], %[[A]], %[[I]], %[[S]] : memref<?xf32>, f32, memref<?xf32>, index, f32)
// CHECK:         mxgpu.kernel @kernel(%[[KX:.*]]: memref<?xf32>, %[[KS:.*]]: f32, %[[KA:.*]]: memref<?xf32>, %[[KI:.*]]: index, %[[KT:.*]]: f32)
// CHECK-NEXT:      %[[N:.*]] = memref.load %[[KA]][%[[KI]]]
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[N]], %[[KT]]
// CHECK-NEXT:      %[[H:.*]] = arith.truncf %[[M]] : f32 to f16
// CHECK:           arith.addf %[[KS]], %[[M]]
// CHECK:           arith.extf %[[H]]
module attributes {gpu.container_module} {
  func.func @sunk(%a: memref<?xf32>, %x: memref<?xf32>, %s: f32, %i: index) {
    %c1 = arith.constant 1 : index
    %n = memref.load %a[%i] : memref<?xf32>
    %m = arith.mulf %n, %s : f32
    %h = arith.truncf %m : f32 to f16
    mxgpu.launch @kernels::@kernel grid(%c1) args(%x, %m, %s, %h : memref<?xf32>, f32, f32, f16)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%x: memref<?xf32>, %m: f32, %s: f32, %h: f16) {
      mxgpu.role @a warps(1) {
        %c0 = arith.constant 0 : index
        %y = arith.addf %s, %m : f32
        %w = arith.extf %h : f16 to f32
        %z = arith.addf %y, %w : f32
        memref.store %z, %x[%c0] : memref<?xf32>
      }
    }
  }
}

// -----

// The host reads the array if this kernel, or a launch or fill before it, writes the array, because
// the kernel would read the new value. The host also reads grid sizes and values that are defined
// outside a loop. A kernel that is launched early reads the scalar after its wait.

// CHECK-LABEL: func.func @written(
// CHECK:         %[[OWN:.*]] = memref.load %[[X:.*]][]
// CHECK:         mxgpu.launch @kernels::@own grid(%{{.*}}) args(%[[X]], %[[OWN]] : memref<f32>, f32)
// CHECK:         %[[FILLED:.*]] = memref.load %[[Y:.*]][]
// CHECK:         gpu.memset
// CHECK:         mxgpu.launch @kernels::@filled grid(%{{.*}}) args(%{{.*}}, %[[FILLED]] : memref<f32>, f32)
// CHECK:         %[[SIZE:.*]] = memref.load %{{.*}}[] : memref<index>
// CHECK:         mxgpu.launch @kernels::@size grid(%[[SIZE]]) args(%{{.*}}, %[[SIZE]] : memref<f32>, index)
// CHECK:         %[[OUTSIDE:.*]] = memref.load
// CHECK:         scf.for
// CHECK:           mxgpu.launch @kernels::@inside grid(%{{.*}}) args(%{{.*}}, %[[OUTSIDE]] : memref<f32>, f32)
// CHECK:         mxgpu.launch @kernels::@early grid(%{{.*}}) args(%{{.*}}, %{{.*}} : memref<f32>, memref<f32>)
// CHECK-COUNT-4: mxgpu.kernel @{{.*}}(%{{.*}}: memref<f32>, %{{.*}}: {{f32|index}})
// CHECK:         mxgpu.kernel @early(%[[EX:.*]]: memref<f32>, %[[EY:.*]]: memref<f32>)
// CHECK-NEXT:      mxgpu.wait_dependencies
// CHECK-NEXT:      %[[E:.*]] = memref.load %[[EY]][]
// CHECK:             memref.store %[[E]], %[[EX]][]
module attributes {gpu.container_module} {
  func.func @written(%x: memref<f32>, %y: memref<f32>, %n: memref<index>, %c1: index, %zero: f32) {
    %own = memref.load %x[] : memref<f32>
    %same = memref.cast %x : memref<f32> to memref<f32>
    mxgpu.launch @kernels::@own grid(%c1) args(%x, %own : memref<f32>, f32)
    %filled = memref.load %y[] : memref<f32>
    gpu.memset %y, %zero : memref<f32>, f32
    mxgpu.launch @kernels::@filled grid(%c1) args(%x, %filled : memref<f32>, f32)
    %size = memref.load %n[] : memref<index>
    mxgpu.launch @kernels::@size grid(%size) args(%x, %size : memref<f32>, index)
    %outside = memref.load %y[] : memref<f32>
    scf.for %i = %c1 to %size step %c1 {
      mxgpu.launch @kernels::@inside grid(%c1) args(%x, %outside : memref<f32>, f32)
    }
    %early = memref.load %y[] : memref<f32>
    mxgpu.launch @kernels::@early grid(%c1) args(%x, %early : memref<f32>, f32)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @own(%x: memref<f32>, %s: f32) {
      mxgpu.role @a warps(1) {
        %same = memref.cast %x : memref<f32> to memref<f32>
        memref.store %s, %same[] : memref<f32>
      }
    }
    mxgpu.kernel @filled(%x: memref<f32>, %s: f32) {
      mxgpu.role @a warps(1) {
      }
    }
    mxgpu.kernel @size(%x: memref<f32>, %s: index) {
      mxgpu.role @a warps(1) {
      }
    }
    mxgpu.kernel @inside(%x: memref<f32>, %s: f32) {
      mxgpu.role @a warps(1) {
      }
    }
    mxgpu.kernel @early(%x: memref<f32>, %s: f32) {
      mxgpu.wait_dependencies
      mxgpu.role @a warps(1) {
        memref.store %s, %x[] : memref<f32>
      }
    }
  }
}

// -----

// If the host also uses a scalar, both the host and the kernel read the array. The kernel still
// reads the array if an earlier kernel only reads the array.

// CHECK-LABEL: func.func @both(
// CHECK:         %[[N:.*]] = memref.load
// CHECK:         mxgpu.launch @kernels::@reader grid(%{{.*}}) args(%[[A:.*]] : memref<f32>)
// CHECK:         mxgpu.launch @kernels::@kernel grid(%{{.*}}) args(%{{.*}}, %[[A]], %[[A]] : memref<?xf32>, memref<f32>, memref<f32>)
// CHECK:         return %[[N]]
module attributes {gpu.container_module} {
  func.func @both(%a: memref<f32>, %x: memref<?xf32>) -> f32 {
    %c1 = arith.constant 1 : index
    %n = memref.load %a[] : memref<f32>
    mxgpu.launch @kernels::@reader grid(%c1) args(%a : memref<f32>)
    mxgpu.launch @kernels::@kernel grid(%c1) args(%x, %n, %a : memref<?xf32>, f32, memref<f32>)
    return %n : f32
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @reader(%a: memref<f32>) {
      mxgpu.role @a warps(1) {
        %n = memref.load %a[] : memref<f32>
      }
    }
    mxgpu.kernel @kernel(%x: memref<?xf32>, %m: f32, %a: memref<f32>) {
      mxgpu.role @a warps(1) {
        %n = memref.load %a[] : memref<f32>
      }
    }
  }
}
