// RUN: mx-opt %s --verify-diagnostics --mx-sink-scalars

// Host code outside launch plans cannot wait for a device scalar. Unused
// scalars are not read.

func.func @reads(%a: memref<4xf32>, %i: index) -> f32 {
  %unused = memref.load %a[%i] : memref<4xf32>
  // expected-error @below {{'memref.load' op expected tensors to stay in device memory, where the host cannot read an element: return the tensor and pass the element to another function, or use a launch plan (mx-compile, mx-run), which can read elements}}
  %n = memref.load %a[%i] : memref<4xf32>
  return %n : f32
}
