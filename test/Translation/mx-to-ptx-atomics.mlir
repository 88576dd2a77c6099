// These atomics keep their order and scope in PTX. LLVM drops both from an atomicrmw,
// so mx refuses orders stronger than .relaxed.gpu (mx-to-ptx-invalid.mlir).

// RUN: mx-translate --mx-to-ptx %s | FileCheck %s

// CHECK-LABEL: .entry f(
// CHECK: atom.global.add.u32
// CHECK: atom.global.exch.b32
// CHECK: atom.release.sys.global.cas.b32
// CHECK: atom.acq_rel.gpu.global.cas.b64
// CHECK: fence.acq_rel.sys
// CHECK: st.release.sys.global.b32
// CHECK: ld.acquire.sys.global.b32
// CHECK: red.release.sys.global.add.u32

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88", verifyTarget = false>] {
  llvm.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %wide = llvm.mlir.constant(1 : i64) : i64
    %0 = llvm.atomicrmw add %p, %one syncscope("device") monotonic : !llvm.ptr<1>, i32
    %1 = llvm.atomicrmw xchg %p, %0 syncscope("block") monotonic : !llvm.ptr<1>, i32
    %2 = llvm.cmpxchg %p, %1, %one release monotonic : !llvm.ptr<1>, i32
    %3 = llvm.cmpxchg %q, %wide, %wide syncscope("device") acq_rel monotonic : !llvm.ptr<1>, i64
    llvm.fence acq_rel
    llvm.store %one, %p atomic release {alignment = 4} : i32, !llvm.ptr<1>
    %4 = llvm.load %p atomic acquire {alignment = 4} : !llvm.ptr<1> -> i32
    llvm.inline_asm has_side_effects "red.release.sys.global.add.u32 [$0], $1;", "l,r" %q, %4 : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}
