/* Every function of mx-c/Compiler.h, where it succeeds and where it fails. */

#include "mx-c/Compiler.h"
#undef NDEBUG /* asserts are the test */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char text[1 << 16];
  size_t count;
} Text;

static void append(const char *bytes, size_t count, void *user) {
  Text *text = user;
  if (text->count + count >= sizeof text->text)
    abort();
  memcpy(text->text + text->count, bytes, count);
  text->count += count;
  text->text[text->count] = 0;
}

static Text messages;

static void tell(int severity, const char *text, void *user) {
  assert(user == &messages);
  char line[4096];
  int count = snprintf(line, sizeof line, "%d %s\n", severity, text);
  append(line, (size_t)count, user);
}

static void expect(const char *what) {
  if (!strstr(messages.text, what)) {
    printf("expected '%s', found '%s'\n", what, messages.text);
    exit(1);
  }
  messages.count = messages.text[0] = 0;
}

static void test_attributes_and_types(mxcContext context) {
  Text text = {"", 0};
  assert(!mxcParseAttribute(context, "#mx.scale_layout< sf_128x4 >", append,
                            &text));
  printf("%s\n", text.text);
  text.count = 0;
  assert(!mxcParseType(context, "tensor<4x?xf8E4M3FN>", append, &text));
  printf("%s\n", text.text);
  assert(mxcParseAttribute(context, "#mx.scale_layout<other>", append, &text) ==
         MXC_REFUSED);
  expect("0 ");
  assert(mxcParseType(context, "tensor<", append, &text) == MXC_REFUSED);
  expect("0 ");
}

static mxcModule parse(mxcContext context, const char *text) {
  return mxcModuleParse(context, text, strlen(text), "it.mlir");
}

static void test_modules(mxcContext context) {
  assert(!parse(context, "func.func @f( {"));
  expect("0 it.mlir:1:");
  assert(!mxcModuleParse(context, "f", 1, NULL));
  expect("0 text:1:1: ");
  mxcModule empty = mxcModuleParse(context, NULL, 0, NULL);
  assert(empty);
  mxcModuleDestroy(empty);
  const char *text = "func.func @f(%a: i32) -> i32 {\n"
                     "  %c = arith.constant 0 : i32\n"
                     "  %r = arith.addi %a, %c : i32\n"
                     "  return %r : i32\n}\n";
  mxcModule module = parse(context, text), copy = mxcModuleClone(module);
  assert(module && copy);
  assert(!mxcModuleRunPasses(module, "builtin.module(canonicalize)"));
  Text printed = {"", 0};
  assert(!mxcModulePrint(module, append, &printed));
  assert(!strstr(printed.text, "arith.addi"));
  printed.count = 0;
  assert(!mxcModulePrint(copy, append, &printed));
  assert(strstr(printed.text, "arith.addi"));

  printed.count = 0;
  assert(!mxcModuleWriteBytecode(copy, append, &printed));
  mxcModule again =
      mxcModuleParse(context, printed.text, printed.count, "it.mlirbc");
  assert(again);

  assert(mxcModuleRunPasses(copy, "builtin.module(mx-no-pass)") == MXC_REFUSED);
  expect("'mx-no-pass' does not refer to a registered pass");
  assert(mxcModuleRunPasses(copy, "func.func(canonicalize)") == MXC_REFUSED);
  expect("0 expected a pipeline 'builtin.module(...)', found "
         "'func.func(canonicalize)'");
  mxcModuleDestroy(again);
  mxcModuleDestroy(copy);
  mxcModuleDestroy(module);
}

static const char quantize[] =
    "func.func @f(%x: tensor<4x64xbf16>, %e: tensor<4x64xf8E4M3FN>,\n"
    "             %s: tensor<4x2xf8E8M0FNU>)\n"
    "    -> (tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>) {\n"
    "  %q:2 = mx.quantize ins(%x : tensor<4x64xbf16>) outs(%e, %s :\n"
    "      tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>)\n"
    "      -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>\n"
    "  return %q#0, %q#1 : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>\n}\n"
    "func.func @g() {\n  return\n}\n";

static void test_compile(mxcContext context, const char *directory) {
  mxcModule module = parse(context, quantize);
  mxcCompiled compiled;
  size_t bytes;
  const char *entries[] = {"f"};
  mxcCompileOptions options = {
      .entries = entries, .entryCount = 1, .ptxas = "none", .prefix = "my-q"};
  assert(!mxcCompile(&compiled, module, &options));
  const char *manifest = mxcCompiledGet(compiled, MXC_MANIFEST, &bytes);
  assert(bytes == strlen(manifest) && strstr(manifest, "\"x\""));
  assert(!strstr(manifest, "\"g\""));
  const char *ptx = mxcCompiledGet(compiled, MXC_PTX, NULL);
  assert(strstr(ptx, ".target sm_100a"));
  assert(!mxcCompiledGet(compiled, MXC_CUBIN, &bytes) && !bytes);
  assert(strstr(mxcCompiledGet(compiled, MXC_HEADER, NULL), "my_q_f("));
  assert(!mxcCompiledGet(compiled, 99, &bytes) && !bytes);
  assert(!mxcCompiledWrite(compiled, directory));
  assert(mxcCompiledWrite(compiled, "/dev/null/no") == MXC_REFUSED);
  expect("0 /dev/null/no: cannot create");
  mxcCompiledDestroy(compiled);

  options.chip = "sm_120a";
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED && !compiled);
  expect("chip 'sm_120a' is not supported");
  options.chip = NULL;
  options.ptxas = "/bin/false";
  assert(mxcCompile(&compiled, module, &options) == MXC_FAULT && !compiled);
  expect("0 /bin/false: ");
  entries[0] = "h";
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("0 expected the entry to be one of [f, g], found 'h'");
  /* The module is as it was. */
  assert(!mxcCompile(&compiled, module, NULL));
  mxcCompiledDestroy(compiled);
  mxcModuleDestroy(module);
}

/* Compiles in a context of its own, and returns the PTX. */
static void *compile_alone(void *unused) {
  (void)unused;
  mxcCompileOptions options = {.ptxas = "none"};
  mxcCompiled compiled;
  mxcContext context = mxcContextCreate(NULL, NULL);
  mxcModule module = parse(context, quantize);
  assert(!mxcCompile(&compiled, module, &options));
  char *ptx = strdup(mxcCompiledGet(compiled, MXC_PTX, NULL));
  mxcCompiledDestroy(compiled);
  mxcModuleDestroy(module);
  mxcContextDestroy(context);
  return ptx;
}

static void test_threads(void) {
  enum { kThreads = 8 };
  pthread_t threads[kThreads];
  void *ptx[kThreads];
  for (int i = 0; i < kThreads; ++i)
    assert(!pthread_create(&threads[i], NULL, compile_alone, NULL));
  for (int i = 0; i < kThreads; ++i)
    assert(!pthread_join(threads[i], &ptx[i]));
  for (int i = 1; i < kThreads; ++i)
    assert(!strcmp(ptx[0], ptx[i]));
  for (int i = 0; i < kThreads; ++i)
    free(ptx[i]);
}

int main(int argc, char **argv) {
  (void)argc;
  assert(strstr(mxcGetVersion(), "0."));
  /* First: contexts are made at the same time. */
  test_threads();
  mxcContext context = mxcContextCreate(tell, &messages);
  mxcContext other = mxcContextCreate(tell, &messages);
  assert(context && other);
  test_attributes_and_types(context);
  test_modules(context);
  test_compile(other, argv[1]);
  if (messages.count)
    printf("unexpected messages: %s\n", messages.text);
  mxcContextDestroy(other);
  mxcContextDestroy(context);
  printf("done\n");
  return 0;
}
