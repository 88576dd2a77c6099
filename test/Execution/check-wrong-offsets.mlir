// The check compares quantized expert groups with negative, decreasing or out-of-bounds offsets. The device and the
// reference leave the same rows undefined.
//
// REQUIRES: compiler
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; np.save('%t/x.npy', np.random.default_rng(0).integers(0, 0x4000, (300, 256)).astype(np.uint16))"
// RUN: %python -c "import numpy as np; np.save('%t/a.npy', np.array([-70000, 2228226, -5, 290], np.int32))"
// RUN: %python -c "import numpy as np; np.save('%t/b.npy', np.array([100, -1000, 50, 1 << 30], np.int32))"
// RUN: mx-run %s --device=cpu --check=cpu --arg %t/x.npy --arg %t/a.npy 2>&1 | FileCheck %s
// RUN: mx-run %s --device=cpu --check=cpu --arg %t/x.npy --arg %t/b.npy 2>&1 | FileCheck %s
// RUN: mx-run %s --device=sim --check=cpu --arg %t/x.npy --arg %t/a.npy 2>&1 | FileCheck %s
// RUN: mx-run %s --device=sim --check=cpu --arg %t/x.npy --arg %t/b.npy 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-COUNT-4: 0 bytes unequal
// CHECK: check: passed
!x = tensor<300x256xbf16>
!e = tensor<300x256xf8E4M3FN>
!s = tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!te = tensor<256x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!ts = tensor<256x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
func.func @main(%x: !x, %ends: tensor<4xi32>) -> (!e, !s, !te, !ts) {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %te = tensor.empty() : !te
  %ts = tensor.empty() : !ts
  %q:4 = mx.quantize ragged = rows ins(%x : !x) offsets(%ends : tensor<4xi32>) outs(%e, %s, %te, %ts : !e, !s, !te, !ts)
      axes = [1, 0] -> !e, !s, !te, !ts
  return %q#0, %q#1, %q#2, %q#3 : !e, !s, !te, !ts
}
