func.func @twice(%x: memref<4xf32>) {
  call @double(%x) : (memref<4xf32>) -> ()
  call @double(%x) : (memref<4xf32>) -> ()
  return
}
func.func private @double(%x: memref<4xf32>) {
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
