# cuzk_module(NAME [SOURCES …] [DEPS module…] [LIBS third-party…])
#
# One directory under src/ is one module: an object library `cuzk_NAME` whose only include root
# holds that directory, so that `#include "other/x.h"` compiles only when `other` is among DEPS
# (or theirs). The modules' objects make libcuzk; see src/CMakeLists.txt. A directory with
# slashes (backend/cpu) becomes cuzk_backend_cpu.
#
# cuzk_test(NAME SOURCES … DEPS module… [LABELS …, unit when none is given]) makes a cmocka test program and its ctest.

function(cuzk_module name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  string(REPLACE "/" "_" id ${name})
  set(root ${CMAKE_BINARY_DIR}/inc/${id})
  get_filename_component(parent ${root}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  if(NOT EXISTS ${root}/${name})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  endif()
  set(target cuzk_${id})
  if(A_SOURCES)
    add_library(${target} OBJECT ${A_SOURCES})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY CUZK_OBJECT_MODULES ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${root})
  foreach(dep ${A_DEPS})
    string(REPLACE "/" "_" dep_id ${dep})
    if(dep STREQUAL "backend/cuda" AND NOT CUZK_CUDA)
      continue() # the one module that a build may be without: CUZK_HAVE_CUDA tells the code
    endif()
    target_link_libraries(${target} ${scope} cuzk_${dep_id})
  endforeach()
  if(A_LIBS)
    target_link_libraries(${target} ${scope} ${A_LIBS})
    set_property(GLOBAL APPEND PROPERTY CUZK_THIRD_PARTY ${A_LIBS})
  endif()
  if(CUZK_HAVE_ASM AND NOT CUZK_PORTABLE)
    target_compile_definitions(${target} ${scope} CUZK_FIELD_ASM=1)
  endif()
endfunction()

# cuzk_portable_twin(NAME SOURCES…): compiles the module's sources once more with
# CUZK_FIELD_PORTABLE, so that one binary holds the fast path and the C-only one.
function(cuzk_portable_twin name)
  string(REPLACE "/" "_" id ${name})
  set(target cuzk_${id}_portable)
  add_library(${target} OBJECT ${ARGN})
  target_compile_definitions(${target} PRIVATE CUZK_FIELD_PORTABLE=1)
  target_include_directories(${target} PRIVATE
    $<TARGET_PROPERTY:cuzk_${id},INTERFACE_INCLUDE_DIRECTORIES>)
  set_property(GLOBAL APPEND PROPERTY CUZK_OBJECT_MODULES ${target})
endfunction()

# cuzk_ifma_sources(FILES…): compiles files of this directory for AVX-512 IFMA, optimised in every
# build type: without unrolling they take several times as long. What they define may run only
# where cuzk_cpu_has_avx512_ifma() says so. Sanitizers leave these files alone: instrumented, their
# long unrolled functions take a quarter of an hour to compile, and they touch no memory but what
# the callers, which are instrumented, hand them.
function(cuzk_ifma_sources)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
    set(options -O3 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512ifma -mbmi2
      -mtune=icelake-server)
    if(CUZK_SANITIZE) # may hold a comma, so not a generator expression
      list(APPEND options -fno-sanitize=all)
    endif()
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
  endif()
endfunction()

# The target test_programs builds the programs of tests and fuzzers, and no other.
function(cuzk_test_program name)
  if(NOT TARGET test_programs)
    add_custom_target(test_programs)
  endif()
  add_dependencies(test_programs ${name})
endfunction()

# Object files do not travel through more than one level of OBJECT libraries, so tests link the
# whole internal archive; the include roots still come only from DEPS.
function(cuzk_test name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;LIBS;LABELS;DEFS" ${ARGN})
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  foreach(dep ${A_DEPS})
    string(REPLACE "/" "_" dep_id ${dep})
    if(NOT TARGET cuzk_${dep_id})
      return() # its module is not part of this build (CUZK_MODULES)
    endif()
  endforeach()
  add_executable(${name} ${A_SOURCES})
  cuzk_test_program(${name})
  foreach(dep ${A_DEPS})
    string(REPLACE "/" "_" dep_id ${dep})
    target_include_directories(${name} PRIVATE
      $<TARGET_PROPERTY:cuzk_${dep_id},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${name} PRIVATE
      $<TARGET_PROPERTY:cuzk_${dep_id},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    CUZK_TEST_VECTORS="${CMAKE_SOURCE_DIR}/tests/vectors" ${A_DEFS})
  if(CUZK_SANITIZE)
    target_compile_definitions(${name} PRIVATE CUZK_TEST_SANITIZED)
  endif()
  target_link_libraries(${name} PRIVATE cuzk_internal cmocka ${A_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}"
    TIMEOUT ${CUZK_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
