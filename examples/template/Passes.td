//===- Passes.td - The passes of this compiler --------------*- tablegen -*-===//

#ifndef MY_PASSES_TD
#define MY_PASSES_TD

include "mlir/Pass/PassBase.td"

def MyChooseRecipes : InterfacePass<"my-choose-recipes", "mlir::FunctionOpInterface"> {
  let summary = "Choose the formats of matmuls by the size of their weights";
  let description = [{
    Sets the attribute `mx.recipe`, read by `mx-quantize-matmuls`, on
    `linalg.matmul` and other contractions. The second operand is the weight. A
    weight of at least `min-elements` elements is bound by memory and becomes
    MXFP4, half the bytes of MXFP8. Existing attributes are kept. A weight of
    dynamic size becomes `mxfp8`, with a remark.
  }];
  let options = [
    Option<"minElements", "min-elements", "int64_t", /*default=*/"1 << 20",
           "Minimum number of elements of weights in MXFP4">,
  ];
}

def MyFuseRelu : InterfacePass<"my-fuse-relu", "mlir::FunctionOpInterface"> {
  let summary = "Turn ReLUs of matmuls into epilogues";
}

#endif // MY_PASSES_TD
