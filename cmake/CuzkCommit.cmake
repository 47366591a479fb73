# Run at every build (cmake -DSOURCE_DIR=… -DOUT=… -P): writes a C file with the commit of the
# source tree, "-dirty" added when files differ from it, and touches it only when that changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
set(text "extern const char cuzk_cli_commit[];\nconst char cuzk_cli_commit[] = \"${commit}\";\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
