# Language, warnings, hardening and sanitizers for the whole project.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

include(TestBigEndian)
test_big_endian(CUZK_BIG_ENDIAN)
if(CUZK_BIG_ENDIAN)
  message(FATAL_ERROR "cuzk supports little-endian 64-bit hosts only")
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
  $<$<COMPILE_LANGUAGE:C>:-Wall> $<$<COMPILE_LANGUAGE:C>:-Wextra> $<$<COMPILE_LANGUAGE:C>:-Wshadow>
  $<$<COMPILE_LANGUAGE:C>:-Wconversion> $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wundef>
  $<$<COMPILE_LANGUAGE:C>:-Wvla> $<$<COMPILE_LANGUAGE:C>:-Wcast-qual>
  $<$<COMPILE_LANGUAGE:C>:-Wpointer-arith> $<$<COMPILE_LANGUAGE:C>:-Wwrite-strings>
  $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-format-truncation>
  $<$<COMPILE_LANGUAGE:C>:-fno-omit-frame-pointer> $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>
  $<$<COMPILE_LANGUAGE:C>:-fstack-clash-protection>)
if(CUZK_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CUZK_SANITIZE)
  add_compile_definitions(_FORTIFY_SOURCE=2)
endif()
add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)
if(CUZK_SANITIZE)
  add_compile_options(-fsanitize=${CUZK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CUZK_SANITIZE})
endif()
# Coverage counters in the library, for libFuzzer's guidance.
if(CUZK_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
