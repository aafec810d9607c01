# Run at build time: writes OUTPUT only when the commit has changed, so that nothing is rebuilt otherwise.
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
set(text "#include \"base/version.h\"

namespace inference {

std::string_view version() { return \"${VERSION}\"; }
std::string_view git_commit() { return \"${commit}\"; }

}  // namespace inference
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
