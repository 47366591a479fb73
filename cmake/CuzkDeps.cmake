# Third-party code: Debian packages by name and minimum version, npm packages pinned in
# third_party/package-lock.json. docs/dependencies.md says why each is here.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL) # libssl-dev
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.14)   # libjansson-dev
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8.1) # libxxhash-dev
# What only the daemon needs. A cross build without them leaves the daemon out.
set(required REQUIRED)
if(CMAKE_CROSSCOMPILING)
  set(required)
endif()
pkg_check_modules(NGHTTP2 ${required} IMPORTED_TARGET libnghttp2>=1.52)          # libnghttp2-dev
pkg_check_modules(MICROHTTPD ${required} IMPORTED_TARGET libmicrohttpd>=0.9.75)  # libmicrohttpd-dev
pkg_check_modules(SQLITE3 ${required} IMPORTED_TARGET sqlite3>=3.38)               # libsqlite3-dev
pkg_check_modules(PROTOBUF_C ${required} IMPORTED_TARGET libprotobuf-c>=1.4)     # libprotobuf-c-dev
pkg_check_modules(GNUTLS ${required} IMPORTED_TARGET gnutls>=3.7)                # libgnutls28-dev
find_program(CUZK_PROTOC protoc ${required})     # protobuf-compiler
find_program(CUZK_PROTOC_C protoc-c ${required}) # protobuf-c-compiler

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
