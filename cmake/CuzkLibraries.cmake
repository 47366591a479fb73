# The libraries that are installed: libcuzk (include/cuzk) and librapidsnark (include/rapidsnark),
# each shared and static, from the objects of cuzk_internal. A .sym file lists what a library
# exports, one name a line; nothing else is visible, in the static ones neither, so that a program
# may hold another blst or jansson beside them. Included by src/CMakeLists.txt.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

find_library(CUZK_JANSSON_A libjansson.a)
find_library(CUZK_XXHASH_A libxxhash.a)
mark_as_advanced(CUZK_JANSSON_A CUZK_XXHASH_A)

# src/api/no_stdin.c says why jansson is renamed a symbol.
if(CUZK_JANSSON_A)
  set(CUZK_JANSSON_PIC_A ${CMAKE_CURRENT_BINARY_DIR}/libjansson_pic.a)
  add_custom_command(OUTPUT ${CUZK_JANSSON_PIC_A}
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdin=cuzk__no_stdin ${CUZK_JANSSON_A}
            ${CUZK_JANSSON_PIC_A}
    DEPENDS ${CUZK_JANSSON_A} VERBATIM)
  add_custom_target(cuzk_jansson_pic DEPENDS ${CUZK_JANSSON_PIC_A})
endif()

# With CUDA its runtime, which is static, goes into the static libraries too; what it needs of the
# system is left to whoever links them. Groups of C++ sections are dissolved: their names become
# local, so that nobody else's copy may stand in for them; those that are unique in a process stay
# as they are unless they were made weak before.
if(CUZK_CUDA)
  set(CUZK_CUDART_A $<TARGET_FILE:CUDA::cudart_static>)
  set(CUZK_STATIC_LD -Wl,--force-group-allocation)
endif()
list(JOIN CUZK_STATIC_NEEDS " " CUZK_PC_NEEDS)

# cuzk_exported_library(NAME MODULE SYMS): targets NAME_shared and, unless sanitizers are on,
# NAME_static. MODULE's objects and whatever they need make the library.
function(cuzk_exported_library name module syms)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${syms})
  file(STRINGS ${syms} names)
  list(JOIN names ";\n    " globals)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.map)
  file(WRITE ${script} "{\n  global:\n    ${globals};\n  local: *;\n};\n")

  # Worker threads may outlive the last call, so the library is never unmapped (nodelete).
  add_library(${name}_shared SHARED $<TARGET_OBJECTS:cuzk_${module}>)
  target_link_libraries(${name}_shared PRIVATE cuzk_internal)
  target_link_options(${name}_shared PRIVATE -Wl,--version-script=${script} -Wl,--as-needed
    -Wl,-z,nodelete)
  if(NOT CUZK_SANITIZE)
    target_link_options(${name}_shared PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name}_shared PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name}
    LINK_DEPENDS ${script})

  # One object of everything that is reached from the exported names, the third-party archives
  # too, with all other names made local.
  if(CUZK_SANITIZE OR NOT CUZK_JANSSON_A OR NOT CUZK_XXHASH_A)
    message(STATUS "lib${name}.a is left out (sanitizers, or no static jansson and xxhash)")
    return()
  endif()
  set(object ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.o)
  set(archive ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/lib${name}.a)
  list(TRANSFORM names PREPEND "-Wl,--undefined=" OUTPUT_VARIABLE roots)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib ${roots} ${CUZK_STATIC_LD} -o ${object} -Wl,--start-group
            $<TARGET_FILE:cuzk_internal> ${CUZK_JANSSON_PIC_A} ${CUZK_XXHASH_A} ${CUZK_CUDART_A}
            -Wl,--end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken-symbol=_Z* ${object}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${syms} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} rcs ${archive} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${object}
    DEPENDS cuzk_internal cuzk_jansson_pic ${CUZK_JANSSON_PIC_A} ${syms}
    VERBATIM)
  add_custom_target(${name}_static ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

if(TARGET cuzk_api)
  cuzk_exported_library(cuzk api ${CMAKE_CURRENT_SOURCE_DIR}/api/libcuzk.sym)
  set_target_properties(cuzk_shared PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(cuzk_shared INTERFACE $<INSTALL_INTERFACE:include>)
  install(TARGETS cuzk_shared EXPORT cuzkTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cuzk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cuzk)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cuzkConfig.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/cuzkConfig.cmake INSTALL_DESTINATION ${package}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/cuzkConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(EXPORT cuzkTargets NAMESPACE cuzk:: DESTINATION ${package})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cuzkConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/cuzkConfigVersion.cmake DESTINATION ${package})
  file(RELATIVE_PATH CUZK_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/libcuzk.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/libcuzk.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libcuzk.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Without a version in its name, like the library it stands for.
if(TARGET cuzk_compat)
  cuzk_exported_library(rapidsnark compat ${CMAKE_CURRENT_SOURCE_DIR}/compat/librapidsnark.sym)
  install(TARGETS rapidsnark_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rapidsnark
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(name fr fq)
    add_library(${name} STATIC ${CMAKE_CURRENT_SOURCE_DIR}/compat/empty.c)
    install(TARGETS ${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endif()
