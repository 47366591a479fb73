# packaging/cuzkd.toml and the table in docs/configuration.md are what cuzkd prints.
function(printed option out)
  execute_process(COMMAND ${CUZKD} ${option} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

printed(--print-example example)
file(READ ${ROOT}/packaging/cuzkd.toml committed)
if(NOT example STREQUAL committed)
  message(FATAL_ERROR "packaging/cuzkd.toml is not what `cuzkd --print-example` prints")
endif()
printed(--print-reference reference)
file(READ ${ROOT}/docs/configuration.md committed)
string(FIND "${committed}" "<!-- settings: cuzkd --print-reference -->\n${reference}<!-- end -->\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR
    "the table in docs/configuration.md is not what `cuzkd --print-reference` prints")
endif()
execute_process(COMMAND ${CUZKD} --config ${ROOT}/packaging/cuzkd.toml --check-config
  COMMAND_ERROR_IS_FATAL ANY)
