/* Compiles a file in memory, loads the program and lists the arguments of its
 * entries. mx_program.h describes launches. Needs libMXCAPI and libmx_runtime,
 * but no MLIR headers.
 *
 *   compile FILE.mlir CHIP
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "mx-c/Compiler.h"
#include "mx_program.h"
#include <stdio.h>
#include <stdlib.h>

static void tell(int severity, const char *text, void *user) {
  static const char *const names[] = {"error", "warning", "remark", "note"};
  (void)user;
  fprintf(stderr, "%s: %s\n", names[severity], text);
}

/* Reads a whole file; returns null on failure. */
static char *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = size < 0 ? NULL : malloc((size_t)size + 1);
  *bytes = text ? fread(text, 1, (size_t)size, file) : 0;
  fclose(file);
  return text;
}

static int show_entries(mxProgram program) {
  for (int32_t i = 0; i < mxProgramEntryCount(program); ++i) {
    mxEntry entry;
    mxEntryInfo info = {.structSize = sizeof info};
    mxValueInfo value = {.structSize = sizeof value};
    if (mxProgramGetEntryAt(&entry, program, i) || mxEntryGetInfo(entry, &info))
      return 1;
    printf("%s(", info.name);
    for (int32_t j = 0; j < info.argumentCount; ++j) {
      if (mxEntryGetArgument(entry, j, &value))
        return 1;
      printf("%s%s: %s", j ? ", " : "", value.name, value.type);
    }
    printf(")\n");
  }
  return 0;
}

/* Loads the compiled program and lists its entries. */
static int load_and_show(mxcCompiled compiled, const char *name) {
  size_t manifest_bytes, kernel_bytes, constant_bytes;
  const char *manifest =
      mxcCompiledGet(compiled, MXC_MANIFEST, &manifest_bytes);
  const char *kernels = mxcCompiledGet(compiled, MXC_PTX, &kernel_bytes);
  const char *constants =
      mxcCompiledGet(compiled, MXC_CONSTANTS, &constant_bytes);
  mxProgram program;
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxProgramParts parts = {.structSize = sizeof parts,
                          .manifest = manifest,
                          .manifestBytes = manifest_bytes,
                          .kernels = kernels,
                          .kernelBytes = kernel_bytes,
                          .constants = constants,
                          .constantBytes = constant_bytes,
                          .name = name};
  if (mxProgramLoadParts(&program, &parts)) {
    fprintf(stderr, "error: %s\n", mxGetThreadError());
    return 1;
  }
  int status = show_entries(program);
  mxProgramUnload(program);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: compile FILE.mlir CHIP\n");
    return 2;
  }
  size_t bytes = 0;
  char *text = read_file(argv[1], &bytes);
  if (!text) {
    fprintf(stderr, "error: %s: cannot read\n", argv[1]);
    return 2;
  }
  int status = MXC_REFUSED;
  mxcCompiled compiled = NULL;
  mxcCompileOptions options = {
      .structSize = sizeof options, .chip = argv[2], .ptxas = "none"};
  mxcContext context = mxcContextCreate(tell, NULL);
  mxcModule module =
      context ? mxcModuleParse(context, text, bytes, argv[1]) : NULL;
  if (module)
    status = mxcCompile(&compiled, module, &options);
  if (!status)
    status = load_and_show(compiled, argv[1]);

  mxcCompiledDestroy(compiled);
  mxcModuleDestroy(module);
  mxcContextDestroy(context);
  free(text);
  return status;
}
