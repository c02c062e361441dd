file(GLOB lang_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/dsl/lang/*_test.cpp)
tessera_test(lang_test unit SOURCES ${lang_tests} DEPENDS tessera_lang)
