// RUN: %corpus %s

// Weights in a dense_resource, as model exporters write them.
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %b = arith.constant dense_resource<bias> : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %y0 = tensor.empty(%n) : tensor<?x4xf32>
  %bb = linalg.broadcast ins(%b : tensor<4xf32>) outs(%y0 : tensor<?x4xf32>) dimensions = [0]
  %y = arith.addf %x, %bb : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      bias: "0x040000000000803f000000400000404000008040"
    }
  }
#-}
