/* Calls every function of mx-c/Compiler.h, in success and in failure. */

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
  mxcCompileOptions options = {.structSize = sizeof options,
                               .entries = entries,
                               .entryCount = 1,
                               .ptxas = "none",
                               .prefix = "my-q"};
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

  options.chip = "sm_120";
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED && !compiled);
  expect("unknown chip 'sm_120'");
  options.chip = NULL;
  options.ptxas = "/bin/false";
  assert(mxcCompile(&compiled, module, &options) == MXC_FAULT && !compiled);
  expect("0 /bin/false: ");
  entries[0] = "h";
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("0 expected the entry to be one of [f, g], found 'h'");
  entries[0] = "f";
  options.ptxas = "none";
  options.tune = -1;
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("0 mxcCompile: expected tune of at least 0, and tuneRows of at least "
         "1");
  options.tune = 2;
  options.tuneRowCount = 1;
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("tuneRows");
  const int64_t rows[] = {16};
  options.tuneRows = rows;
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("0 tuning requires a GPU that runs sm_100a, found ");
  options.tune = 0;
  options.tuned = "/no/table";
  assert(mxcCompile(&compiled, module, &options) == MXC_REFUSED);
  expect("/no/table: cannot read: No such file or directory");
  /* The module is unchanged. */
  assert(!mxcCompile(&compiled, module, NULL));
  mxcCompiledDestroy(compiled);
  mxcModuleDestroy(module);
}

/* A data-dependent index, a memref written by the function, and operands that
 * must have equal shapes. */
static const char host[] =
    "func.func private @add(%x: f32, %y: f32) -> f32 {\n"
    "  %z = arith.addf %x, %y : f32\n  return %z : f32\n}\n"
    "func.func @at(%x: tensor<?x4xbf16>, %i: index) -> (tensor<4xbf16>, f32) "
    "{\n"
    "  %r = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1]\n"
    "      : tensor<?x4xbf16> to tensor<4xbf16>\n"
    "  %c = arith.constant 0 : index\n"
    "  %e = tensor.extract %r[%c] : tensor<4xbf16>\n"
    "  %f = arith.extf %e : bf16 to f32\n"
    "  %s = func.call @add(%f, %f) : (f32, f32) -> f32\n"
    "  return %r, %s : tensor<4xbf16>, f32\n}\n"
    "func.func @zero(%m: memref<3xi32>) {\n"
    "  %c = arith.constant 0 : i32\n"
    "  linalg.fill ins(%c : i32) outs(%m : memref<3xi32>)\n"
    "  return\n}\n"
    "func.func @sum(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<?xf32>)\n"
    "    -> tensor<?xf32> {\n"
    "  %s = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>)\n"
    "      outs(%o : tensor<?xf32>) -> tensor<?xf32>\n"
    "  return %s : tensor<?xf32>\n}\n";

static mxcHostProgram create(mxcModule module, const char *entry) {
  mxcHostProgram program;
  assert(!mxcHostProgramCreate(&program, module, entry) && program);
  return program;
}

static void test_host_values(mxcHostProgram at) {
  mxcHostValueInfo info = {.structSize = sizeof info};
  assert(mxcHostProgramArgumentCount(at) == 2);
  assert(mxcHostProgramResultCount(at) == 2);
  assert(!mxcHostProgramGetArgument(at, 0, &info));
  assert(!strcmp(info.name, "x") && !strcmp(info.type, "tensor<?x4xbf16>"));
  assert(!strcmp(info.dtype, "u2") && info.itemBytes == 2 && !info.isNumber);
  assert(info.rank == 2 && info.shape[0] == -1 && info.shape[1] == 4);
  assert(!mxcHostProgramGetArgument(at, 1, &info));
  assert(!strcmp(info.name, "i") && !strcmp(info.dtype, "i8"));
  assert(info.isNumber && info.rank == 0);
  assert(!mxcHostProgramGetResult(at, 1, &info));
  assert(!strcmp(info.name, "result1") && info.isNumber);
  assert(mxcHostProgramGetResult(at, 2, &info) == MXC_REFUSED);
  assert(mxcHostProgramGetArgument(at, -1, &info) == MXC_REFUSED);
}

static void test_host_calls(mxcHostProgram at) {
  /* Address below the alignment that kernels require. */
  uint16_t memory[9] = {0, 0, 0, 0, 0, 0x3F80, 0x4000, 0x4040, 0x4080};
  int64_t shape[] = {2, 4}, index = 1;
  enum { SIZE = sizeof(mxcHostArray) };
  mxcHostArray arguments[] = {{SIZE, memory + 1, shape}, {SIZE, &index, NULL}};
  mxcHostArray results[] = {{SIZE, NULL, NULL}, {SIZE, NULL, NULL}};
  assert(!mxcHostProgramCall(at, arguments, 2, results, 2));
  assert(results[0].shape[0] == 4 && !memcmp(results[0].data, memory + 5, 8));
  assert(*(const float *)results[1].data == 2.0f);

  index = 2; /* Twice: what the program found wrong does not end it. */
  for (int i = 0; i < 2; ++i) {
    assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
    expect("0 host.mlir:6:");
  }
  index = 0;
  assert(!mxcHostProgramCall(at, arguments, 2, results, 2));
  assert(*(const float *)results[1].data == 0.0f);

  shape[1] = 5;
  assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
  expect(
      "0 argument 0 of type tensor<?x4xbf16>: expected ?x4xu2, found 2x5xu2");
  shape[1] = 4, shape[0] = -1;
  assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
  expect("expected extents of at least 0, found -1x4xu2");
  shape[0] = INT64_MAX;
  assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
  expect("no memory for 9223372036854775807x4xu2");
  arguments[0].data = NULL;
  assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
  expect("expected the address of 9223372036854775807x4xu2, found null");
  arguments[0].shape = NULL;
  assert(mxcHostProgramCall(at, arguments, 2, results, 2) == MXC_REFUSED);
  expect("expected a shape, found null");
  assert(mxcHostProgramCall(at, arguments, 1, results, 2) == MXC_REFUSED);
  expect("0 expected 2 arguments of entry 'at', found 1");
  assert(mxcHostProgramCall(at, arguments, 2, results, 1) == MXC_REFUSED);
  expect("0 expected room for 2 results of entry 'at', found 1");
}

/* Structs of an older header, of a newer header, and without a size. */
static void test_sizes(mxcContext context, mxcHostProgram at) {
  assert(mxcGetInterfaceVersion() == MXC_INTERFACE_VERSION);
  struct {
    mxcHostValueInfo info;
    const char *added;
  } newer = {{.structSize = sizeof newer}, "untouched"};
  assert(!mxcHostProgramGetArgument(at, 0, &newer.info));
  assert(newer.info.rank == 2 && !strcmp(newer.added, "untouched"));
  struct {
    size_t structSize;
    const char *name, *type;
  } older = {sizeof older, NULL, "untouched"};
  older.structSize = offsetof(mxcHostValueInfo, type);
  assert(!mxcHostProgramGetArgument(at, 0, (mxcHostValueInfo *)&older));
  assert(older.name && !strcmp(older.type, "untouched"));
  mxcHostValueInfo unset = {0};
  assert(mxcHostProgramGetArgument(at, 0, &unset) == MXC_REFUSED);
  expect("expected structSize of mxcHostValueInfo to be at least 16, found 0: "
         "set it to sizeof(mxcHostValueInfo)");
  struct {
    mxcCompileOptions options;
    size_t added;
  } wished = {{.structSize = sizeof wished, .ptxas = "none"}, 0};
  mxcModule module = parse(context, quantize);
  mxcCompiled compiled;
  assert(!mxcCompile(&compiled, module, &wished.options));
  mxcCompiledDestroy(compiled);
  wished.added = 1;
  assert(mxcCompile(&compiled, module, &wished.options) == MXC_REFUSED);
  expect("with fields that this library does not support");
  wished.options.structSize = offsetof(mxcCompileOptions, ptxas);
  assert(!mxcCompile(&compiled, module, &wished.options));
  mxcCompiledDestroy(compiled);
  mxcModuleDestroy(module);
}

/* Destroyed handles are refused, even after their memory is reused. */
static void test_dead_handles(void) {
  messages.count = messages.text[0] = 0;
  mxcContext context = mxcContextCreate(tell, &messages);
  mxcModule dead = parse(context, quantize), other;
  mxcModuleDestroy(dead);
  other = parse(context, quantize);
  assert(other != dead && !mxcModuleClone(dead));
  mxcModuleDestroy(dead);
  assert(!mxcModuleClone((mxcModule)context));
  /* A module outlives its context. */
  mxcContextDestroy(context);
  assert(!parse(context, quantize));
  Text printed = {"", 0};
  assert(!mxcModulePrint(other, append, &printed) && printed.count);
  assert(mxcModuleRunPasses(other, "none") == MXC_REFUSED);
  assert(!messages.count);
  mxcModuleDestroy(other);
}

static void test_host(mxcContext context) {
  mxcModule module = mxcModuleParse(context, host, strlen(host), "host.mlir");
  Text names = {"", 0};
  assert(!mxcModuleListEntries(module, append, &names));
  assert(!strcmp(names.text, "atzerosum"));
  mxcHostProgram at = create(module, "at"), zero = create(module, "zero");
  mxcHostProgram sum = create(module, "sum"), none;
  assert(mxcHostProgramCreate(&none, module, "no") == MXC_REFUSED && !none);
  expect("0 expected the entry to be one of [add, at, zero, sum], found 'no'");
  mxcModuleDestroy(module);
  test_host_values(at);
  test_host_calls(at);
  test_sizes(context, at);

  /* Memrefs are returned as results; the argument is unchanged. */
  int32_t given[] = {1, 2, 3}, zeros[3] = {0};
  int64_t shape[] = {3}, other[] = {4};
  enum { SIZE = sizeof(mxcHostArray) };
  mxcHostArray argument = {SIZE, given, shape}, result = {SIZE, NULL, NULL};
  assert(!mxcHostProgramCall(zero, &argument, 1, &result, 1));
  assert(!memcmp(result.data, zeros, sizeof zeros) && given[2] == 3);

  /* Shape constraints of operations. */
  float values[4] = {1, 2, 3, 4};
  mxcHostArray three[] = {
      {SIZE, values, shape}, {SIZE, values, shape}, {SIZE, values, shape}};
  assert(!mxcHostProgramCall(sum, three, 3, &result, 1));
  assert(((const float *)result.data)[2] == 6.0f);
  three[1].shape = other;
  assert(mxcHostProgramCall(sum, three, 3, &result, 1) == MXC_REFUSED);
  expect("0 host.mlir:21:8: ");

  mxcHostProgramDestroy(sum);
  mxcHostProgramDestroy(zero);
  mxcHostProgramDestroy(at);

  /* A call of an undefined function, and a module without an entry. */
  module = parse(context, "func.func private @missing(f32) -> f32\n"
                          "func.func @f(%x: f32) -> f32 {\n"
                          "  %y = call @missing(%x) : (f32) -> f32\n"
                          "  return %y : f32\n}\n");
  assert(mxcHostProgramCreate(&none, module, "f") == MXC_REFUSED && !none);
  expect("0 it.mlir:1:");
  mxcModuleDestroy(module);
  module = parse(context, "func.func private @f(f32)");
  assert(mxcModuleListEntries(module, append, &names) == MXC_REFUSED);
  expect("0 expected a public func.func with a body, found none");
  mxcModuleDestroy(module);
}

/* Collectives of rank 0: data of rank 1 is 10 times that of rank 0. */
static int64_t get_rank(int64_t group, void *user) {
  assert(group == 0 && user == &messages);
  return 0;
}

static const char *all_gather(int64_t group, void *window, int64_t bytes,
                              void *user) {
  assert(group == 0 && bytes == 16 && user == &messages);
  float *parts = window;
  for (int i = 0; i < 4; ++i)
    parts[4 + i] = 10 * parts[i];
  return parts[0] < 0 ? "rank 1 has left" : NULL;
}

static const char *all_to_all(int64_t group, const void *from, void *to,
                              int64_t bytes, void *user) {
  (void)group, (void)from, (void)to, (void)bytes, (void)user;
  return "unexpected";
}

static void test_host_groups(mxcContext context) {
  mxcModule module = parse(
      context, "mx.group @ep size = 2 tokens = 4\n"
               "func.func @gather(%x: tensor<?x1xf32>) -> tensor<8x1xf32> {\n"
               "  %w = mx.window @ep : tensor<8x1xf32>\n"
               "  %y = mx.all_gather @ep ins(%x : tensor<?x1xf32>)\n"
               "      outs(%w : tensor<8x1xf32>) -> tensor<8x1xf32>\n"
               "  return %y : tensor<8x1xf32>\n}\n");
  mxcHostProgram program = create(module, "gather");
  mxcModuleDestroy(module);
  mxcHostGroupInfo info = {.structSize = sizeof info};
  assert(mxcHostProgramGroupCount(program) == 1);
  assert(!mxcHostProgramGetGroup(program, 0, &info));
  assert(!strcmp(info.name, "ep") && info.size == 2 && info.tokens == 4);
  assert(mxcHostProgramGetGroup(program, 1, &info) == MXC_REFUSED);
  expect("expected a number below 1, found 1");

  float values[] = {1, 2, 3, 4}, all[] = {1, 2, 3, 4, 10, 20, 30, 40};
  int64_t shape[] = {4, 1};
  enum { SIZE = sizeof(mxcHostArray) };
  mxcHostArray argument = {SIZE, values, shape}, result = {SIZE, NULL, NULL};
  assert(mxcHostProgramCall(program, &argument, 1, &result, 1) == MXC_REFUSED);
  expect("expected a bound group");
  mxcHostCollectives collectives = {.structSize = sizeof collectives,
                                    .getRank = get_rank,
                                    .allGather = all_gather,
                                    .user = &messages};
  assert(mxcHostProgramSetCollectives(program, &collectives) == MXC_REFUSED);
  expect("expected a function allToAll, found a null pointer");
  collectives.allToAll = all_to_all;
  assert(!mxcHostProgramSetCollectives(program, &collectives));
  assert(!mxcHostProgramCall(program, &argument, 1, &result, 1));
  assert(!memcmp(result.data, all, sizeof all));
  values[0] = -1;
  assert(mxcHostProgramCall(program, &argument, 1, &result, 1) == MXC_FAULT);
  expect("all_gather, collective 1 of @gather: rank 1 has left");
  mxcHostProgramDestroy(program);
}

/* Compiles in a separate context, and returns the PTX. */
static void *compile_alone(void *unused) {
  (void)unused;
  mxcCompileOptions options = {.structSize = sizeof options, .ptxas = "none"};
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
  /* Must run first: contexts are created concurrently. */
  test_threads();
  mxcContext context = mxcContextCreate(tell, &messages);
  mxcContext other = mxcContextCreate(tell, &messages);
  assert(context && other);
  test_attributes_and_types(context);
  test_modules(context);
  test_compile(other, argv[1]);
  test_host(context);
  test_host_groups(context);
  test_dead_handles();
  if (messages.count)
    printf("unexpected messages: %s\n", messages.text);
  mxcContextDestroy(other);
  mxcContextDestroy(context);
  printf("done\n");
  return 0;
}
