# Refusals by their text and line. Those of the language link the language only, so that they build without LLVM.
file(GLOB lang_error_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/errors/lang_*_test.cpp)
tessera_test(lang_errors errors SOURCES ${lang_error_tests} DEPENDS tessera_lang)

file(GLOB error_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/errors/*_test.cpp)
list(REMOVE_ITEM error_tests ${lang_error_tests})
if(error_tests)
  tessera_test(errors errors SOURCES ${error_tests} DEPENDS tessera_library)
endif()
