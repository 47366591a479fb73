# Third-party code: Debian packages by name and minimum version, npm packages pinned in
# third_party/package-lock.json. docs/dependencies.md says why each is here.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)     # libssl-dev
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.14)   # libjansson-dev
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8.1) # libxxhash-dev

if(NOT EXISTS ${BLST_DIR}/src/server.c)
  message(FATAL_ERROR "blst is missing at ${BLST_DIR}: run `npm ci --ignore-scripts --prefix third_party`")
endif()
# blst: BLS12-381 pairing and encodings, and the Montgomery assembly of both curves.
# __BLST_PORTABLE__ makes the choice of ADX code a run-time one.
add_library(blst OBJECT ${BLST_DIR}/src/server.c ${BLST_DIR}/build/assembly.S)
target_compile_definitions(blst PRIVATE __BLST_PORTABLE__)
target_compile_options(blst PRIVATE -O2 -fno-builtin -w)
if(CUZK_SANITIZE)
  target_compile_options(blst PRIVATE -fno-sanitize=all)
endif()
target_include_directories(blst INTERFACE ${BLST_DIR}/bindings)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|aarch64|arm64")
  set(CUZK_HAVE_ASM ON)
endif()
