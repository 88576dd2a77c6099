// RUN: mx-opt %s --mx-clamp-indices --verify-diagnostics

func.func @complex(%x: tensor<?xcomplex<f32>>, %at: tensor<5xi64>, %is: i1) -> tensor<5xcomplex<f32>> {
  %y = tensor.generate {
  ^bb0(%i: index):
    %a = tensor.extract %at[%i] : tensor<5xi64>
    %p = arith.index_cast %a : i64 to index
    %none = complex.constant [1.0 : f32, 0.0 : f32] : complex<f32>
    %r = scf.if %is -> complex<f32> {
      // expected-error @below {{expected an array of static size or of integers or floats, because a branch or loop reads the array at an index that the device computes, found elements of 'complex<f32>'}}
      %e = tensor.extract %x[%p] : tensor<?xcomplex<f32>>
      scf.yield %e : complex<f32>
    } else {
      scf.yield %none : complex<f32>
    }
    tensor.yield %r : complex<f32>
  } : tensor<5xcomplex<f32>>
  return %y : tensor<5xcomplex<f32>>
}
