# mx-doc: writes the reference into docs/reference of the build, and into pages the
# output of commands that they show. The latter is committed; a test fails when it
# is stale.

find_program(MX_DOC_PYTHON NAMES python3
  HINTS $ENV{MX_VENV}/bin ${CMAKE_SOURCE_DIR}/.venv/bin REQUIRED)
mark_as_advanced(MX_DOC_PYTHON)
set(_mx_doc_command ${MX_DOC_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/gen_docs.py
  --out ${CMAKE_BINARY_DIR}/docs/reference
  --tblgen ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen
  --tools ${CMAKE_BINARY_DIR}/bin)
foreach(_dir ${MLIR_INCLUDE_DIRS})
  list(APPEND _mx_doc_command --include ${_dir})
endforeach()
get_property(_mx_doc_tools GLOBAL PROPERTY MX_TOOLS)
add_custom_target(mx-doc
  COMMAND ${_mx_doc_command}
  DEPENDS ${_mx_doc_tools}
  COMMENT "Writing the reference, and outputs into pages")
