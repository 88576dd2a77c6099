// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Dequantizes fragments to bf16. The bits of an element are moved to the fields of a bf16, and two
// elements are multiplied at a time.

!e4m3 = !mxgpu.fragment<128x4xf8E4M3FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>
!e5m2 = !mxgpu.fragment<128x4xf8E5M2, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>
!e2m3 = !mxgpu.fragment<128x4xf6E2M3FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>
!four = !mxgpu.fragment<128x4xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>
!e2m1 = !mxgpu.fragment<128x8xf4E2M1FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [8: 1 column]>>
!eight = !mxgpu.fragment<128x8xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [8: 1 column]>>
// Adjacent elements in a register belong to different blocks.
!far = !mxgpu.fragment<8x64xf8E4M3FN, #mxgpu.fragment_layout<threads = [16: 2 columns, 8: 1 row], values = [2: 32 columns, 2: 1 column]>>
!far_result = !mxgpu.fragment<8x64xbf16, #mxgpu.fragment_layout<threads = [16: 2 columns, 8: 1 row], values = [2: 32 columns, 2: 1 column]>>
!mixed = !mxgpu.fragment<128x8xf4E2M1FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [2: 4 columns, 4: 1 column]>>
!mixed6 = !mxgpu.fragment<128x4xf6E2M3FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [2: 2 columns, 2: 1 column]>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // Each element is sign-extended to 16 bits and shifted left by 4, and the extra copies of the
  // sign are cleared. Both halves of the multiplier have the exponent field 127 - 7 + the scale
  // byte. An element that is NaN or a scale above 134 sets the high bit of its byte, and the thread
  // then computes in f32.
  // CHECK-LABEL: llvm.func @e4m3(
  // CHECK:         %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[SCALE:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[SCALE]], %c0_i32
  // CHECK-COUNT-2: llvm.fmul %{{.*}} : vector<2xbf16>
  // CHECK:         %[[IS_RARE:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32
  // CHECK-NEXT:    %[[R:.*]]:2 = scf.if %[[IS_RARE]] -> (i32, i32) {
  // CHECK-COUNT-2:   nvvm.convert.f8x2.to.f16x2
  // CHECK-COUNT-2:   nvvm.convert.f32x2.to.bf16x2
  // CHECK:         } else {
  // CHECK-NEXT:      scf.yield %{{.*}}, %{{.*}}
  // CHECK:         vector.from_elements %[[R]]#0, %[[R]]#1
  mxgpu.kernel @e4m3() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!e4m3, vector<1x1xf8E8M0FNU>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) : !e4m3, vector<1x1xf8E8M0FNU> -> !four
      "use"(%x) : (!four) -> ()
    }
  }

  // With `finite`, the code does not check for NaN and large scales. With a reference, the exponent
  // field of the multiplier is 247 + the scale byte - the reference.
  // CHECK-LABEL: llvm.func @finite(
  // CHECK-DAG:     %[[BIAS:.*]] = arith.constant 247 : i32
  // CHECK-DAG:     %[[TWICE:.*]] = arith.constant 8388736 : i32
  // CHECK:         %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[SCALE:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[LESS:.*]] = arith.subi %[[BIAS]], %{{.*}} : i32
  // CHECK:         arith.muli %[[LESS]], %[[TWICE]] : i32
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[SCALE]], %c0_i32
  // CHECK-COUNT-2: llvm.fmul %{{.*}} : vector<2xbf16>
  // CHECK-NOT:     scf.if
  // CHECK:         llvm.return
  mxgpu.kernel @finite() {
    mxgpu.role @hold warps(4) {
      %q:3 = "q"() : () -> (!e4m3, vector<1x1xf8E8M0FNU>, i32)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) reference(%q#2) finite : !e4m3, vector<1x1xf8E8M0FNU> -> !four
      "use"(%x) : (!four) -> ()
    }
  }

  // Adding 4 to an E5M2 byte flips its sign bit if the exponent is 31, which means infinity or NaN.
  // CHECK-LABEL: llvm.func @e5m2(
  // CHECK-DAG:     %[[NAN:.*]] = arith.constant 67372036 : i32
  // CHECK:         %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[NEXT:.*]] = arith.addi %[[WORD]], %[[NAN]]
  // CHECK:         arith.xori %[[NEXT]], %[[WORD]]
  mxgpu.kernel @e5m2() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!e5m2, vector<1x1xf8E8M0FNU>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) : !e5m2, vector<1x1xf8E8M0FNU> -> !four
      "use"(%x) : (!four) -> ()
    }
  }

  // Shifts out the two unused bits above the element. E2M3 has no NaN, so the elements are not
  // checked.
  // CHECK-LABEL: llvm.func @e2m3(
  // CHECK:         %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[TOP:.*]] = arith.shli %[[WORD]], %c2_i32
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[TOP]], %[[TOP]]
  // CHECK-NOT:     arith.addi %[[WORD]]
  // CHECK:         llvm.return
  mxgpu.kernel @e2m3() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!e2m3, vector<1x1xf8E8M0FNU>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) : !e2m3, vector<1x1xf8E8M0FNU> -> !four
      "use"(%x) : (!four) -> ()
    }
  }

  // Elements from the low and high halves of bytes are interleaved. A large scale takes two
  // multiplications: by 2^126, which corrects the exponent bias, and by the scale.
  // CHECK-LABEL: llvm.func @e2m1(
  // CHECK:         %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[LOW:.*]] = arith.shli %[[WORD]], %c4_i32
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[LOW]], %[[WORD]]
  // CHECK-COUNT-3: nvvm.prmt <default> %{{.*}}, %[[LOW]], %[[WORD]]
  // CHECK:         scf.if
  // CHECK:           %[[EXACT:.*]] = llvm.fmul %{{.*}}, %{{.*}}
  // CHECK:           llvm.fmul %[[EXACT]]
  // CHECK-COUNT-6:   llvm.fmul
  // CHECK:         } else {
  // CHECK-COUNT-4:   llvm.fmul
  // CHECK-NOT:       llvm.fmul
  // CHECK:         llvm.return
  mxgpu.kernel @e2m1() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!e2m1, vector<1x1xf8E8M0FNU>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) : !e2m1, vector<1x1xf8E8M0FNU> -> !eight
      "use"(%x) : (!eight) -> ()
    }
  }

  // An E4M3 scale always takes two multiplications.
  // CHECK-LABEL: llvm.func @nvfp4(
  // CHECK:         scf.if
  // CHECK-NOT:     scf.if
  // CHECK:         nvvm.convert.f8x2.to.f16x2
  // CHECK-NOT:     nvvm.convert.f8x2.to.f16x2
  // CHECK-COUNT-8: llvm.fmul
  // CHECK-NOT:     llvm.fmul
  // CHECK:         llvm.return
  mxgpu.kernel @nvfp4() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!e2m1, vector<1x1xf8E4M3FN>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(16) : !e2m1, vector<1x1xf8E4M3FN> -> !eight
      "use"(%x) : (!eight) -> ()
    }
  }

  // The two halves of a register need different multipliers.
  // CHECK-LABEL: llvm.func @far(
  // CHECK-DAG:     %[[HALVES:.*]] = arith.constant 21520 : i32
  // CHECK:         %[[M0:.*]] = arith.addi
  // CHECK:         %[[M1:.*]] = arith.addi
  // CHECK:         nvvm.prmt <default> %[[HALVES]], %[[M0]], %[[M1]]
  mxgpu.kernel @far() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!far, vector<1x2xf8E8M0FNU>)
      %x = mxgpu.dequantize_fragment %q#0 by %q#1 block(32) : !far, vector<1x2xf8E8M0FNU> -> !far_result
      "use"(%x) : (!far_result) -> ()
    }
  }

  // Narrow elements are packed in words. `to_rows` unpacks them to bytes before it reorders them.
  // CHECK-LABEL: llvm.func @narrow(
  // CHECK-DAG:     %[[FIRST:.*]] = arith.constant 20800 : i32
  // CHECK-DAG:     %[[SECOND:.*]] = arith.constant 29538 : i32
  // CHECK-DAG:     %[[EVEN:.*]] = arith.constant 25632 : i32
  // CHECK:         %[[LOW:.*]] = arith.andi
  // CHECK:         %[[HIGH:.*]] = arith.andi
  // CHECK:         nvvm.prmt <default> %[[FIRST]], %[[LOW]], %[[HIGH]]
  // CHECK:         nvvm.prmt <default> %[[SECOND]], %[[LOW]], %[[HIGH]]
  // CHECK:         vector.shuffle %{{.*}} [0, 2, 4, 6, 1, 3, 5, 7] : vector<8xi8>
  // CHECK:         nvvm.prmt <default> %[[EVEN]],
  // CHECK:         vector.shuffle %{{.*}} [0, 2, 1, 3] : vector<4xi8>
  mxgpu.kernel @narrow() {
    mxgpu.role @hold warps(4) {
      %q:2 = "q"() : () -> (!mixed, !mixed6)
      %row = mxgpu.to_rows %q#0 : !mixed -> vector<8xf4E2M1FN>
      %row6 = mxgpu.to_rows %q#1 : !mixed6 -> vector<4xf6E2M3FN>
      "use"(%row, %row6) : (vector<8xf4E2M1FN>, vector<4xf6E2M3FN>) -> ()
    }
  }
}
