// RUN: mx-opt %s --verify-diagnostics --mx-sink-scalars

// Host code outside launch plans cannot wait for a device scalar. Unused
// scalars are not read.

func.func @reads(%a: memref<4xf32>, %i: index) -> f32 {
  %unused = memref.load %a[%i] : memref<4xf32>
  // expected-error @below {{'memref.load' op expected tensors to stay in device memory, where the host cannot read an element: return the tensor, and give what depends on it to another function as an argument; launch plans, those of mx-compile and mx-run, read it}}
  %n = memref.load %a[%i] : memref<4xf32>
  return %n : f32
}
