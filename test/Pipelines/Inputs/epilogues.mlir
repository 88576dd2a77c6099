// Kernels that store results in every supported way. epilogues*.test compiles them.

!a = memref<512x512xf8E4M3FN>
!s = memref<4x4x32x4x4xf8E8M0FNU>
!d = memref<?x?xf8E4M3FN>
!ds = memref<?x?x32x4x4xf8E8M0FNU>

func.func @direct(%a: !a, %s: !s, %y: memref<512x512xbf16>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<512x512xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2>}
  return
}

func.func @staged(%a: !a, %s: !s, %y: memref<512x512xbf16>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<512x512xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2, epilogue = tma_store>}
  return
}

func.func @added(%a: !a, %s: !s, %y: memref<512x512xf32>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<512x512xf32>) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, epilogue = tma_store, staging = 3>}
  return
}

func.func @region(%a: !d, %as: !ds, %b: !d, %bs: !ds, %bias: memref<?xf32>, %scale: memref<?xf32>,
                  %residual: memref<?x?xbf16>, %alpha: f32, %y: memref<?x?xf16>) {
  mx.matmul ins(%a, %as, %b, %bs : !d, !ds, !d, !ds) alpha(%alpha) outs(%y : memref<?x?xf16>) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>} epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %one = arith.constant 1.0 : f32
    %p = memref.load %bias[%col] : memref<?xf32>
    %x = arith.addf %acc, %p : f32
    %minus = arith.negf %x : f32
    %exp = math.exp %minus : f32
    %under = arith.addf %one, %exp : f32
    %silu = arith.divf %x, %under : f32
    %q = memref.load %scale[%row] : memref<?xf32>
    %z = arith.mulf %silu, %q : f32
    %d = memref.load %residual[%row, %col] : memref<?x?xbf16>
    %e = arith.extf %d : bf16 to f32
    %v = arith.addf %z, %e : f32
    %o = arith.truncf %v : f32 to f16
    mx.yield %o : f16
  }
  return
}

// Uses all functions without library calls in one kernel, to save time.
func.func @functions(%a: !a, %s: !s, %y: memref<512x512xf32>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<512x512xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, epilogue = tma_store>} epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %0 = math.absf %acc : f32
    %1 = math.sqrt %0 : f32
    %2 = math.floor %1 : f32
    %3 = math.ceil %acc : f32
    %4 = math.trunc %acc : f32
    %5 = math.roundeven %acc : f32
    %6 = math.copysign %2, %3 : f32
    %7 = math.fma %4, %5, %6 : f32
    %8 = math.tanh %7 : f32
    %9 = math.rsqrt %8 : f32
    %10 = math.isnan %9 : f32
    %11 = arith.select %10, %acc, %9 : f32
    %12 = arith.bitcast %11 : f32 to i32
    %13 = math.ctpop %12 : i32
    %14 = math.ctlz %13 : i32
    %15 = math.cttz %14 : i32
    %16 = math.absi %15 : i32
    %17 = arith.sitofp %16 : i32 to f32
    %18 = arith.truncf %17 : f32 to bf16
    %19 = arith.truncf %11 : f32 to bf16
    %20 = arith.mulf %18, %19 : bf16
    %21 = arith.extf %20 : bf16 to f32
    %22 = arith.index_cast %col : index to i64
    %23 = arith.index_cast %row : index to i64
    %24 = arith.cmpi sle, %22, %23 : i64
    %25 = arith.select %24, %21, %11 : f32
    %26 = arith.cmpf une, %25, %11 : f32
    %27 = math.isfinite %25 : f32
    %28 = arith.xori %26, %27 : i1
    %29 = arith.uitofp %28 : i1 to f32
    %30 = arith.maxnumf %25, %29 : f32
    %31 = arith.remsi %12, %16 : i32
    %32 = arith.maxsi %31, %12 : i32
    %33 = arith.sitofp %32 : i32 to f32
    %34 = arith.minimumf %30, %33 : f32
    mx.yield %34 : f32
  }
  return
}
