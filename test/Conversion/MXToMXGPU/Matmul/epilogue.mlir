// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t

// Vectorizes the region of an epilogue. Values that depend only on the row are computed before the
// loop over columns. The bias and the residual are loaded as vectors if all columns are in bounds,
// and element by element otherwise. The residual is not read past the last row, because it may
// alias the result, which other CTAs write at the same time.

// CHECK-LABEL: func.func @region(
// CHECK:         mxgpu.launch @kernels::@region_matmul grid(%{{.*}}) args(%{{.*}}, %arg7, %arg4, %arg5, %arg6 :
// CHECK-LABEL: mxgpu.kernel @region_matmul(
// CHECK-SAME:    %[[R:[a-z]*]]: memref<?x?xbf16>, %[[K:[a-z0-9_]*]]: index, %[[ALPHA:[a-z0-9_]*]]: f32
// CHECK:         mxgpu.role @epilogue warps(4) {
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[T:.*]] = mxgpu.fragment_row 0 of !fragment
// CHECK:             %[[OWN:.*]] = arith.addi %{{.*}}, %[[T]]
// CHECK:             %[[IN:.*]] = arith.cmpi ult, %[[OWN]], %[[ROWS:.*]] :
// CHECK:             %[[LAST:.*]] = arith.subi %[[ROWS]],
// CHECK:             %[[ROW:.*]] = arith.minui %[[OWN]], %[[LAST]]
// CHECK:             memref.load %{{.*}}[%[[ROW]]] : memref<?xf32>
// CHECK:             mxgpu.consumer_wait
// CHECK:             scf.if
// CHECK:               scf.for
// CHECK:                 vector.load %{{.*}}[%[[C:.*]]] {alignment = 32 : i64} : memref<?xf32>, vector<32xf32>
// CHECK:                 scf.if %[[IN]] -> (vector<32xbf16>) {
// CHECK:                   %[[LOADED:.*]] = vector.load %{{.*}}[%[[ROW]], %[[C]]] {alignment = 16 : i64} : memref<?x?xbf16>, vector<32xbf16>
// CHECK-NEXT:              scf.yield %[[LOADED]]
// CHECK-NEXT:            } else {
// CHECK-NEXT:              scf.yield %{{.*}} : vector<32xbf16>
// CHECK:                 mxgpu.store_fragment %{{.*}}, %[[R]][%[[OWN]], %[[C]]] when(%[[IN]]) aligned(32)
// CHECK:             } else {
// CHECK:               %[[LASTC:.*]] = arith.subi
// CHECK:               scf.for
// CHECK:                 mxgpu.load_accumulator
// CHECK:                 %[[C0:.*]] = arith.minui %{{.*}}, %[[LASTC]]
// CHECK:                 memref.load %{{.*}}[%[[C0]]] : memref<?xf32>
// CHECK:                 memref.load %{{.*}}[%[[ROW]], %[[C0]]] : memref<?x?xbf16>
// CHECK:                 mxgpu.store_fragment %{{.*}}, %[[R]][%[[OWN]], %{{.*}}] when(%[[IN]]) : vector<32xbf16>
// CHECK:             mxgpu.consumer_release
!a = memref<?x?xf8E4M3FN>
!s = memref<?x?x32x4x4xf8E8M0FNU>
func.func @region(%a: !a, %as: !s, %b: !a, %bs: !s, %bias: memref<?xf32>, %scale: memref<?xf32>, %residual: memref<?x?xbf16>,
                  %alpha: f32, %y: memref<?x?xbf16>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) alpha(%alpha) outs(%y : memref<?x?xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %p = memref.load %bias[%col] : memref<?xf32>
    %x = arith.addf %acc, %p : f32
    %q = memref.load %scale[%row] : memref<?xf32>
    %z = arith.mulf %x, %q : f32
    %d = memref.load %residual[%row, %col] : memref<?x?xbf16>
    %e = arith.extf %d : bf16 to f32
    %v = arith.addf %z, %e : f32
    %o = arith.truncf %v : f32 to bf16
    mx.yield %o : bf16
  }
  return
}

// -----

// The sum is added to the previous result with a single rounding.

// CHECK-LABEL: mxgpu.kernel @accumulate_matmul(
// CHECK:         %[[SUM_SUMS:.*]] = mxgpu.load_accumulator
// CHECK:         %[[SUM:.*]] = mxgpu.to_rows %[[SUM_SUMS]]
// CHECK:         %[[OLD:.*]] = vector.load %{{.*}} {alignment = 32 : i64} : memref<128x128xf16>, vector<32xf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[OLD]]
// CHECK:         %[[TOTAL:.*]] = math.fma %[[SUM]], %{{.*}}, %[[WIDE]]
// CHECK:         %[[NEW:.*]] = arith.select %{{.*}}, %[[WIDE]], %[[TOTAL]]
// CHECK:         arith.truncf %[[NEW]] : vector<32xf32> to vector<32xf16>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @accumulate(%a: !a, %s: !s, %alpha: f32, %y: memref<128x128xf16>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) alpha(%alpha) outs(%y : memref<128x128xf16>) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>}
  return
}

// -----

// Stores through shared memory need no bounds checks, and the copy engine adds
// to the result without a load. An empty reduction adds -0, which changes
// nothing.

// CHECK-LABEL: func.func @staged(
// CHECK-SAME:    %[[Y:[a-z0-9]*]]: memref<130x72xf32>
// CHECK:         %[[DATA:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK:         mxgpu.require %{{.*}}, "expected the result's data to be aligned to 16 bytes for epilogue = tma_store, found a remainder of %lld: pad the result or use epilogue = direct"
// CHECK:         %[[MAP:.*]] = mxgpu.encode_tensor_map %[[Y]] : memref<130x72xf32> -> [[$MAPT:!map[0-9]*]]
// CHECK-LABEL: mxgpu.kernel @staged_matmul(
// CHECK-SAME:    %[[C:[a-z0-9_]*]]: [[$MAPT]]) schedule(<{{.*}}epilogue = tma_store, staging = 3>)
// CHECK:         %[[RING:.*]] = mxgpu.ring "staging" :
// CHECK:         mxgpu.role @epilogue
// CHECK-NOT:     scf.if
// CHECK:         scf.for
// CHECK:           %[[SUM_SUMS:.*]] = mxgpu.load_accumulator
// CHECK:           %[[SUM:.*]] = mxgpu.to_rows %[[SUM_SUMS]]
// CHECK-NOT:       vector.load
// CHECK:           %[[SENT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK:           %[[STAGE:.*]], %[[ROWS:.*]] = mxgpu.producer_acquire %[[RING]]
// CHECK:           %[[FRAGMENT:.*]] = mxgpu.from_rows %[[SENT]] : vector<32xf32>
// CHECK-NEXT:      mxgpu.store_shared %[[FRAGMENT]], %[[ROWS]] : !fragment
// CHECK:           mxgpu.tma_store %[[ROWS]] to %[[C]][%{{.*}}, %{{.*}}] add
// CHECK-NEXT:      mxgpu.producer_commit %[[STAGE]]
!a = memref<130x64xf8E4M3FN>
!as = memref<2x1x32x4x4xf8E8M0FNU>
!b = memref<72x64xf8E4M3FN>
!bs = memref<1x1x32x4x4xf8E8M0FNU>
func.func @staged(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: memref<130x72xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : memref<130x72xf32>) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, epilogue = tma_store, staging = 3>}
  return
}

// -----

// Results unsupported by the copy engine are stored from registers.

// REMARK: remark: epilogue = direct instead of tma_store: expected the row length to be a multiple of 16 bytes, found 142; pad the result to 144 bytes per row
// CHECK-LABEL: mxgpu.kernel @rows_matmul(
// CHECK-SAME:    epilogue = direct>)
// CHECK-NOT:     mxgpu.tma_store
!a = memref<130x64xf8E4M3FN>
!as = memref<2x1x32x4x4xf8E8M0FNU>
!b = memref<71x64xf8E4M3FN>
!bs = memref<1x1x32x4x4xf8E8M0FNU>
func.func @rows(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: memref<130x71xbf16>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : memref<130x71xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, epilogue = tma_store, staging = 3>}
  return
}

// -----

// REMARK: remark: epilogue = direct instead of tma_store: a bulk reduction to 16 bits would round the sum before it is added
// CHECK-LABEL: mxgpu.kernel @roundings_matmul(
// CHECK-SAME:    epilogue = direct
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @roundings(%a: !a, %s: !s, %y: memref<128x128xbf16>) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : memref<128x128xbf16>) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, epilogue = tma_store>}
  return
}
