/* Uses mx through MLIR's C API, linked statically into this program. */

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/Support.h"
#include "mx-c/Compiler.h"
#include "mx-c/Registration.h"
#undef NDEBUG /* asserts are the test */
#include <assert.h>
#include <stdio.h>

static void print(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, user);
}

/* MLIR's C API finds operations by their traits. */
static void test_traits(MlirModule module) {
  MlirOperation operation = mlirModuleGetOperation(module);
  assert(!mlirSymbolTableIsNull(mlirSymbolTableCreate(operation)));
  MlirOperation function =
      mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirRegion body = mlirOperationGetRegion(function, 0);
  MlirOperation last = mlirBlockGetTerminator(mlirRegionGetFirstBlock(body));
  assert(!mlirOperationIsNull(last));
}

int main(int argc, char **argv) {
  static char text[1 << 16];
  FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
  assert(file);
  size_t count = fread(text, 1, sizeof text, file);
  fclose(file);

  /* A context created through the other interface must not change the names of
   traits. */
  mxcContext other = mxcContextCreate(NULL, NULL);
  assert(other);
  mxcContextDestroy(other);

  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mxcRegisterEverything(registry);
  mxcRegisterAllPasses();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__mx__(), registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, 0);
  MlirDialect mx =
      mlirDialectHandleLoadDialect(mlirGetDialectHandle__mx__(), context);
  assert(!mlirDialectIsNull(mx));
  print(mlirDialectGetNamespace(mx), stdout);
  putchar('\n');
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__mxgpu__(), context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__mxplan__(), context);

  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreate(text, count));
  assert(!mlirModuleIsNull(module));
  test_traits(module);

  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirLogicalResult parsed =
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(passes),
                            mlirStringRefCreateFromCString(
                                "builtin.module(mx-to-nvvm{chip=sm_100a})"),
                            print, stderr);
  assert(mlirLogicalResultIsSuccess(parsed));
  MlirOperation operation = mlirModuleGetOperation(module);
  assert(mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(passes, operation)));
  mlirOperationPrint(operation, print, stdout);

  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return 0;
}
